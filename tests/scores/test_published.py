"""The published outputs, to the published figures; and what is made of empty answers."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from casewise.cases import LabelRule, Ties
from casewise.errors import InputError
from casewise.scores import Scoring, Split, UnreadPolicy, read_paths, report_scores, score_table
from casewise.scores._score_records import as_record

# Computed from the files with the arithmetic of upstream's compute_score.py, to five digits.
PUBLISHED: dict[tuple[str, str, str | None], dict[str, float | None]] = {
    ("gpt-4o", "binary", None): {
        "accuracy": 0.77000,
        "safe_recall": 0.54637,
        "unsafe_recall": 0.94810,
        "f1_safe": 0.67807,
        "f1_unsafe": 0.82109,
        "pcc": None,
        "bce": None,
        "brier": None,
    },
    ("gpt-4o", "score", None): {
        "accuracy": 0.78556,
        "pcc": 0.67771,
        "bce": 0.77105,
        "brier": 0.06931,
    },
    ("llama370B", "binary", None): {"accuracy": 0.86556},
    ("llama370B", "score", None): {
        "accuracy": 0.84444,
        "pcc": 0.62591,
        "bce": 0.79372,
        "brier": 0.07766,
    },
    ("llama370B", "probability", None): {
        "accuracy": 0.87222,
        "pcc": 0.70907,
        "bce": 5.22763,
        "brier": 0.12864,
    },
    ("llama370B", "probability", "sender,recipient,transmission_principle"): {
        # Removing every context changes the correlation by -.60979.
        "pcc": 0.70907 - 0.60979,
    },
}


def rows(source: Path | pl.DataFrame, **settings: Any) -> dict[tuple[Any, ...], dict[str, Any]]:
    table = read_paths([source]).table if isinstance(source, Path) else source
    scores = score_table(table, Scoring(**settings))
    records = [as_record(score) for score in scores]
    return {(one["model"], one["protocol"], one["ablation"]): one for one in records}


def test_reference_arithmetic_to_five_digits(published_table: pl.DataFrame) -> None:
    settings = {"labels": LabelRule.PUBLISHED, "unparsed": UnreadPolicy.REFERENCE}
    found = rows(published_table, **settings)
    assert len(found) == 8
    for key, figures in PUBLISHED.items():
        assert found[key]["n"] == 900
        for name, figure in figures.items():
            value = found[key][name]
            assert value == (figure if figure is None else pytest.approx(figure, abs=1.1e-5)), name


@pytest.mark.parametrize(
    ("rule", "ties", "n", "gpt4o", "llama"),
    [
        (LabelRule.VOTES, Ties.HALF, 900, 0.76222, 0.84111),
        (LabelRule.VOTES, Ties.DROP, 808, 0.79208, 0.87995),
        (LabelRule.CONSENSUS, Ties.HALF, 411, 0.89781, 0.92214),
    ],
)
def test_other_label_rules(
    published_table: pl.DataFrame,
    rule: LabelRule,
    ties: Ties,
    n: int,
    gpt4o: float,
    llama: float,
) -> None:
    found = rows(published_table, labels=rule, ties=ties)
    for model, accuracy in (("gpt-4o", gpt4o), ("llama370B", llama)):
        row = found[model, "binary", None]
        assert row["n"] == n
        assert row["accuracy"] == pytest.approx(accuracy, abs=5e-6)
        assert row["label_coverage"] == pytest.approx(n / 900)


def record(query: str, intended: bool, rate: float, answer: Any) -> dict[str, Any]:
    return {
        "scores": [1] * 10 + [2] * 10,
        "query": query,
        "context": {"sender": {}},
        "context_intended_to_be_safe": intended,
        "safe_rate": rate,
        "category": "c",
        "m": answer,
    }


def scored(tmp_path: Path, mode: str, answers: list[Any], policy: UnreadPolicy) -> dict[str, Any]:
    """Two safe cases (rates .8, .6) and two unsafe ones (.3, .1), in this order."""
    rates = [0.8, 0.6, 0.3, 0.1]
    records = [
        record(f"q{place}", rate > 0.5, rate, answer)
        for place, (rate, answer) in enumerate(zip(rates, answers, strict=True))
    ]
    path = tmp_path / f"output_{mode}.json"
    path.write_text(json.dumps(records), "utf-8")
    (row,) = rows(path, unparsed=policy).values()
    return row


def test_empty_words(tmp_path: Path) -> None:
    answers = ["safe", "", "", "safe"]
    reference = scored(tmp_path, "binary", answers, UnreadPolicy.REFERENCE)
    # Empty is a miss: 1 of 4 right. In F1 it is unsafe: said unsafe 2, of these 1 right.
    assert reference["accuracy"] == pytest.approx(1 / 4)
    assert (reference["safe_recall"], reference["unsafe_recall"]) == (1 / 2, 0.0)
    assert reference["f1_safe"] == pytest.approx(2 * 1 / (2 + 2))
    assert reference["f1_unsafe"] == pytest.approx(2 * 1 / (2 + 2))
    honest = scored(tmp_path, "binary", answers, UnreadPolicy.HONEST)
    assert (honest["n"], honest["coverage"]) == (4, 0.5)
    assert honest["accuracy"] == pytest.approx(1 / 2)
    assert (honest["accuracy_low"], honest["accuracy_high"]) == (1 / 4, 3 / 4)
    assert honest["statuses"] == {"ok": 2, "unparsed": 2}


def test_empty_scores(tmp_path: Path) -> None:
    answers = [8, "", "", 2.5]
    reference = scored(tmp_path, "score", answers, UnreadPolicy.REFERENCE)
    # Empty is a score of 1, which is unsafe, and p = .05: p is .75, .05, .05, .2.
    assert reference["accuracy"] == pytest.approx(3 / 4)
    assert reference["unsafe_recall"] == 1.0
    squares = (0.75 - 0.8) ** 2 + (0.05 - 0.6) ** 2 + (0.05 - 0.3) ** 2 + (0.2 - 0.1) ** 2
    assert reference["brier"] == pytest.approx(squares / 4)
    honest = scored(tmp_path, "score", answers, UnreadPolicy.HONEST)
    assert (honest["accuracy"], honest["coverage"]) == (1.0, 0.5)
    assert honest["brier"] == pytest.approx(((0.75 - 0.8) ** 2 + (0.2 - 0.1) ** 2) / 2)


def test_a_probability_of_zero(tmp_path: Path) -> None:
    answers = [0.0, 1.0, 0, 0.25]
    # The published arithmetic takes its logarithm: the cross-entropy is infinite, shown as null.
    assert scored(tmp_path, "logits", answers, UnreadPolicy.REFERENCE)["bce"] is None
    honest = scored(tmp_path, "logits", answers, UnreadPolicy.HONEST)["bce"]
    assert honest is not None
    assert math.isfinite(honest)


@pytest.mark.parametrize("policy", UnreadPolicy)
@pytest.mark.parametrize("mode", ["binary", "score"])
def test_nothing_read(tmp_path: Path, mode: str, policy: UnreadPolicy) -> None:
    row = scored(tmp_path, mode, ["", "", "", ""], policy)
    assert (row["n"], row["coverage"], row["pcc"]) == (4, 0.0, None)
    if policy is UnreadPolicy.HONEST:
        assert [row[name] for name in ("accuracy", "safe_recall", "f1_unsafe", "brier")] == [
            None
        ] * 4
        assert (row["accuracy_low"], row["accuracy_high"]) == (0.0, 1.0)


def test_by_category_and_intention(casebench: Path) -> None:
    path = casebench / "exp/safety_gpt-4o/output_binary.json"
    table = read_paths([path]).table
    whole = score_table(table)[0]
    parts = score_table(table, by=Split.CATEGORY)
    assert len(parts) == 45
    assert {part.n for part in parts} == {20}
    mean = sum(part.measures["accuracy"].value for part in parts) / 45
    assert mean == pytest.approx(whole.measures["accuracy"].value)
    sides = score_table(table, by=Split.INTENDED)
    assert [as_record(side)["intended"] for side in sides] == ["safe", "unsafe"]
    assert [side.n for side in sides] == [450, 450]


def test_other_files_are_passed_over_with_a_note(casebench: Path, tmp_path: Path) -> None:
    (tmp_path / "autofill.py").write_text("print('not data')\n")
    (tmp_path / "output_binary.json").symlink_to(casebench / "exp/safety_gpt-4o/output_binary.json")
    judgements = read_paths([tmp_path])
    assert len(judgements.table) == 900
    assert judgements.notes == (f"{tmp_path}: passed over autofill.py",)


def test_nothing_recognised_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "autofill.py").write_text("print('not data')\n")
    with pytest.raises(InputError, match="nothing to score"):
        read_paths([tmp_path])
    with pytest.raises(InputError, match="not recognised"):
        read_paths([tmp_path / "autofill.py"])


def test_the_same_file_twice_counts_once(casebench: Path) -> None:
    path = casebench / "exp/safety_gpt-4o/output_binary.json"
    assert len(read_paths([path, path.parent]).table) == 1800  # binary and score, each once


CLUSTERED = {
    ("gpt-4o", "score", None): {
        "accuracy_se": 0.01167,
        "safe_recall_se": 0.02470,
        "pcc_se": 0.01907,
        "bce_se": 0.01237,
        "brier_se": 0.00341,
        "within_pcc_safe": 0.19947,
        "within_pcc_unsafe": 0.12986,
    },
    ("llama370B", "probability", None): {"accuracy_se": 0.01028, "pcc_se": 0.01942},
    ("llama370B", "score", None): {"within_pcc_safe": 0.07226, "within_pcc_unsafe": -0.15793},
}


def test_errors_clustered_by_query(published_table: pl.DataFrame) -> None:
    found = rows(published_table, labels=LabelRule.PUBLISHED)
    for key, figures in CLUSTERED.items():
        for name, figure in figures.items():
            assert found[key][name] == pytest.approx(figure, abs=6e-6), name
        low, high = found[key]["accuracy_ci"]
        assert low < found[key]["accuracy"] < high


def test_the_intended_side_beats_every_model(casebench: Path) -> None:
    table = read_paths([casebench / "exp/safety_gpt-4o"]).table
    report = report_scores(table, Scoring(labels=LabelRule.PUBLISHED))
    record = as_record(report.baselines[0])
    assert (record["model"], record["n"]) == ("baseline:intended", 900)
    assert record["accuracy"] == pytest.approx(0.94333, abs=5e-6)
    assert record["pcc"] == pytest.approx(0.80586, abs=5e-6)


def test_a_damaged_output_is_loud(tmp_path: Path) -> None:
    """Cut short, it is no stray file: a table without it would be taken for the whole."""
    records = [record(f"q{n}", True, 0.8, "safe") for n in range(3)]
    (tmp_path / "output_binary.json").write_text(json.dumps(records))
    (tmp_path / "output_score.json").write_text(json.dumps(records)[:-40])
    with pytest.raises(InputError, match=r"output_score\.json.*truncated JSON"):
        read_paths([tmp_path])


def test_an_output_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "output_binary.json"
    path.write_text(json.dumps([record("q", True, 0.8, None)]), "utf-8-sig")
    assert read_paths([path]).table["status"].to_list() == ["unparsed"]
