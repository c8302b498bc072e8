"""Inputs with next to nothing in them: defined results, null where undefined, never a false 0."""

import json
from typing import Any

import polars as pl
import pytest
from support.tables import judgement, random_table, table

from casewise.cases import LabelRule
from casewise.choices import Family, MeasureKind
from casewise.measures import scored
from casewise.scores import (
    Scoring,
    UnreadPolicy,
    as_report_records,
    compare_runs,
    comparison_records,
    find_runs,
    pairs_of_runs,
    report_scores,
)

METRICS = {
    row.name
    for row in scored()
    if Family.JUDGEMENTS in row.of and not row.is_optional and row.kind is not MeasureKind.OUTCOME
}
"""Measures of every judge, the outcomes of pairs apart."""


def record(rows: pl.DataFrame, **settings: Any) -> dict[str, Any]:
    scoring = Scoring(**settings)
    report = report_scores(rows, scoring, calibrate=True)
    found = as_report_records(report)
    json.dumps(found, allow_nan=False)
    return found[0]


def undefined(row: dict[str, Any]) -> set[str]:
    return {name for name in METRICS if row[name] is None}


def test_one_case() -> None:
    row = record(table(judgement()))
    assert (row["n"], row["coverage"], row["accuracy"], row["safe_recall"]) == (1, 1.0, 1.0, 1.0)
    assert row["brier"] == pytest.approx(0.15**2)
    assert undefined(row) == {
        "unsafe_recall",
        "f1_unsafe",
        "pcc",
        "within_pcc_safe",
        "within_pcc_unsafe",
        "follows",
        "false_changes",
        "shift_pcc",
    }
    # One query has no spread: no error; Wilson still bounds the share.
    assert row["accuracy_se"] is None
    assert row["brier_ci"] is None
    assert row["accuracy_ci"] == pytest.approx([0.2065, 1.0], abs=1e-4)
    assert row["quadrants"] == dict.fromkeys(row["quadrants"])
    assert "calibration" not in row


def test_one_class_only() -> None:
    rows = table(*(judgement(f"q{n}", "safe", 0.4 + n / 10) for n in range(5)))
    row = record(rows)
    assert row["accuracy"] == pytest.approx(3 / 5)
    assert row["unsafe_recall"] is None
    assert row["pcc"] is None  # all shares are alike
    assert row["pairs"] == 0


def test_constant_predictions() -> None:
    rows = random_table(30, 1).with_columns(
        pl.lit(0.7).alias("p_safe"), pl.lit("safe").alias("verdict")
    )
    row = record(rows)
    assert (row["safe_recall"], row["unsafe_recall"]) == (1.0, 0.0)
    assert {"pcc", "within_pcc_safe", "shift_pcc"} <= undefined(row)
    assert row["quadrants"]["always_safe"] == 1.0
    assert row["calibration"]["isotonic"]["bce"] is not None


def test_no_votes() -> None:
    rows = table(judgement("q", "safe", 0.9, votes=None), judgement("q", "unsafe", 0.2, votes=None))
    row = record(rows)
    assert (row["labels"], row["accuracy"]) == ("intended", 1.0)
    unlabelled = record(rows, labels=LabelRule.VOTES)
    assert (unlabelled["n"], unlabelled["label_coverage"], unlabelled["coverage"]) == (0, 0.0, None)
    assert undefined(unlabelled) == METRICS


def test_votes_of_none() -> None:
    row = record(table(judgement(votes=(0, 0))), labels=LabelRule.VOTES)
    assert (row["n"], row["label_coverage"]) == (0, 0.0)


def test_a_pair_with_a_missing_twin() -> None:
    rows = table(
        judgement("a", "safe", 0.9),
        judgement("a", "unsafe", 0.1, votes=(2, 18)),
        judgement("b", "safe", 0.2),
    )
    row = record(rows)
    assert (row["n"], row["pairs"]) == (3, 1)
    assert (row["accuracy"], row["follows"]) == (pytest.approx(2 / 3), 1.0)


@pytest.mark.parametrize("policy", UnreadPolicy)
def test_nothing_parsed(policy: UnreadPolicy) -> None:
    rows = random_table(10, 1).with_columns(
        pl.lit("unparsed").alias("status"),
        pl.lit(None, pl.String).alias("verdict"),
        pl.lit(None, pl.Float64).alias("p_safe"),
    )
    row = record(rows, unparsed=policy, labels=LabelRule.INTENDED)
    assert (row["n"], row["coverage"]) == (20, 0.0)
    if policy is UnreadPolicy.HONEST:
        assert undefined(row) == METRICS
        assert (row["accuracy_low"], row["accuracy_high"]) == (0.0, 1.0)
        assert row["pairs"] == 0


def test_one_answer_of_a_pair_is_unread() -> None:
    rows = table(
        judgement("a", "safe", 0.9),
        judgement("a", "unsafe", None, votes=(2, 18)),
        judgement("b", "safe", 0.8),
        judgement("b", "unsafe", 0.7, votes=(2, 18)),
    )
    row = record(rows)
    assert (row["pairs"], row["follows"], row["coverage"]) == (1, 0.0, 0.75)


def test_an_unread_tie_is_half_right_either_way() -> None:
    rows = table(judgement("a", "safe", None, votes=(10, 10)), judgement("b", "safe", 0.9))
    row = record(rows, labels=LabelRule.VOTES)
    assert (row["accuracy_low"], row["accuracy_high"]) == (0.75, 0.75)


def test_no_intended_side() -> None:
    rows = table(*(judgement(f"q{n}", None, n / 10, votes=(2 * n, 20 - 2 * n)) for n in range(10)))
    row = record(rows)
    assert row["pcc"] == pytest.approx(1.0)
    assert row["pairs"] == 0
    assert row["within_pcc_safe"] is None


def comparison(a: pl.DataFrame, b: pl.DataFrame) -> dict[str, Any]:
    runs = find_runs({"a": a, "b": b})
    found = compare_runs(pairs_of_runs(runs), Scoring())
    record = comparison_records(found)
    json.dumps(record, allow_nan=False)
    return record


def test_comparing_one_case() -> None:
    found = comparison(table(judgement(p_safe=0.9)), table(judgement(p_safe=0.2)))
    pairs = {one["metric"]: one for one in found["pairs"]}
    assert pairs["accuracy"]["difference"] == -1
    assert pairs["accuracy"]["se"] is None
    # Of one query that changed, the sign test's 2 / 2^1.
    assert pairs["accuracy"]["p"] == 1.0
    assert pairs["accuracy"]["mcnemar"] == {
        "b": 1,
        "c": 0,
        "p": 1.0,
        "p_holm": 1.0,
        "p_clustered": 1.0,
        "p_clustered_holm": 1.0,
    }
    assert pairs["pcc"]["difference"] is None


def test_comparing_a_run_with_itself() -> None:
    rows = random_table(20, 1)
    found = comparison(rows, rows)
    for one in found["pairs"]:
        assert (one["difference"], one["se"]) in ((0.0, 0.0), (None, None))
        assert one["p"] == (None if one["ci"] is None else 1.0)
        # Of shares 1 - .025^(1/n) of the n queries may still move; what is no share is unknown.
        if one["metric"] == "accuracy":
            assert one["ci"] == pytest.approx([-0.16843, 0.16843], abs=1e-5)
        elif one["metric"] in ("pcc", "bce", "brier", "ece"):
            assert one["ci"] is None
    assert found["comparisons"][0]["changed"] == []


def test_a_variation_of_which_no_reply_was_graded() -> None:
    """Nothing is shared with the plain run, and its change still has the measures of replies."""
    replies = [
        judgement(
            "q",
            side,
            None,
            protocol="respond",
            delivery="system",
            variant=variant,
            run_id=variant,
        )
        for variant in ("greedy", "greedy;vary=urgency")
        for side in ("safe", "unsafe")
    ]
    report = report_scores(table(*replies), Scoring())
    (change,) = [row.change for row in report.rows if row.change is not None]
    assert {"over_refusal", "under_refusal", "follows", "false_changes"} <= set(change.change)
    assert as_report_records(report)[1]["change"]["over_refusal"]["difference"] is None
