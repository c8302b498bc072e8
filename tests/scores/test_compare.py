"""Runs over the same cases, subtracted."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.tables import judgement, random_table, table

from casewise.cases import LabelRule, Ties
from casewise.errors import InputError
from casewise.scores import (
    Comparison,
    Scoring,
    UnreadPolicy,
    compare_runs,
    comparison_records,
    find_runs,
    pairs_of_runs,
    read_paths,
)


def compared(*tables: pl.DataFrame, **settings: Any) -> list[Comparison]:
    runs = find_runs({f"place{n}": one for n, one in enumerate(tables)})
    return compare_runs(pairs_of_runs(runs), Scoring(**settings))


def by_metric(one: Comparison) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in comparison_records([one])["pairs"]}


def test_by_hand() -> None:
    # Query a: both right in both runs. b: the second run loses the unsafe twin. c: it wins the
    # safe one.
    def run(b_unsafe: float, c_safe: float) -> pl.DataFrame:
        return table(
            judgement("a", "safe", 0.9),
            judgement("a", "unsafe", 0.1, votes=(2, 18)),
            judgement("b", "safe", 0.9),
            judgement("b", "unsafe", b_unsafe, votes=(2, 18)),
            judgement("c", "safe", c_safe),
            judgement("c", "unsafe", 0.1, votes=(2, 18)),
        )

    (one,) = compared(run(0.2, 0.3), run(0.8, 0.7))
    rows = by_metric(one)
    assert (one.n, one.left_out) == (6, 0)
    assert rows["accuracy"]["difference"] == 0
    assert rows["safe_recall"]["difference"] == pytest.approx(1 / 3)
    assert rows["unsafe_recall"]["difference"] == pytest.approx(-1 / 3)
    # Differences by query: 0, -1, 1; the error of the mean over six is sqrt(2) / 6.
    assert rows["accuracy"]["se"] == pytest.approx(2**0.5 / 6)
    assert rows["accuracy"]["detectable"] == pytest.approx(2.8015852 * 2**0.5 / 6)
    assert (one.mcnemar.b, one.mcnemar.c, one.mcnemar.p) == (1, 1, 1.0)
    moved = {(change.case_id, change.before, change.after) for change in one.changed}
    assert moved == {("b-unsafe", "unsafe", "safe"), ("c-safe", "unsafe", "safe")}
    # b is as intended no more; c, which refused both, is: only the share of pairs that
    # were always refused falls.
    quadrants = {part.metric: part.difference.value for part in one.quadrants}
    assert quadrants == pytest.approx(
        {"as_intended": 0, "always_safe": 1 / 3, "always_unsafe": -1 / 3, "inverted": 0}
    )


def test_the_published_models(casebench: Path) -> None:
    tables = [
        read_paths([casebench / f"exp/safety_{model}/output_binary.json"]).table
        for model in ("gpt-4o", "llama370B")
    ]
    (one,) = compared(*tables, labels=LabelRule.PUBLISHED)
    row = by_metric(one)["accuracy"]
    assert (row["before"], row["after"]) == ("gpt-4o", "llama370B")
    assert row["difference"] == pytest.approx(0.86556 - 0.77, abs=1e-5)
    assert row["mcnemar"]["c"] - row["mcnemar"]["b"] == pytest.approx(row["difference"] * 900)
    assert row["p_holm"] == row["p"]


def test_ties_decide_nothing_in_mcnemar() -> None:
    a = table(judgement("a", "safe", 0.9, votes=(10, 10)), judgement("b", "safe", 0.9))
    b = table(judgement("a", "safe", 0.1, votes=(10, 10)), judgement("b", "safe", 0.9))
    (one,) = compared(a, b, labels=LabelRule.VOTES)
    assert (one.mcnemar.b, one.mcnemar.c) == (0, 0)
    assert by_metric(one)["accuracy"]["difference"] == 0
    (dropped,) = compared(a, b, labels=LabelRule.VOTES, ties=Ties.DROP)
    assert dropped.n == 1


def test_perfect_separation_of_few_is_not_certain() -> None:
    rows = [judgement(f"q{n}", "safe", 0.1) for n in range(3)]
    better = [judgement(f"q{n}", "safe", 0.9) for n in range(3)]
    (one,) = compared(table(*rows), table(*better))
    row = by_metric(one)["accuracy"]
    assert row["difference"] == 1
    assert row["detectable"] is None
    # The sign test's: 2 / 2^3.
    assert row["p"] == row["p_holm"] == pytest.approx(1 / 4)
    # At 97.5 % up to 1 - .025^(1/3) = .7076 of the queries do otherwise, at worst all the way back.
    assert row["ci"] == pytest.approx([1 - 2 * 0.70760, 1], abs=1e-5)
    assert row["mcnemar"]["p_clustered"] == pytest.approx(2 / 2**3)


@pytest.mark.parametrize("protocol", ["binary", "score", "probability"])
def test_mcnemar_counts_what_the_accuracy_counts(protocol: str) -> None:
    a, b = random_table(30, 1, protocol=protocol), random_table(30, 1, skill=1, protocol=protocol)
    unread = pl.int_range(pl.len()) % 3 == 0
    b = b.with_columns(
        pl.when(unread).then(pl.lit("unparsed")).otherwise("status").alias("status"),
        pl.when(unread).then(None).otherwise("p_safe").alias("p_safe"),
        pl.when(unread).then(None).otherwise("verdict").alias("verdict"),
    )
    for policy in UnreadPolicy:
        (one,) = compared(a, b, unparsed=policy, labels=LabelRule.INTENDED)
        difference = by_metric(one)["accuracy"]["difference"]
        assert (one.mcnemar.c - one.mcnemar.b) / one.n == pytest.approx(difference)


def test_replies_that_were_not_graded_are_left_out_under_either_policy() -> None:
    graded = random_table(30, 1, protocol="respond").with_columns(
        pl.when(pl.col("p_safe") > 0.5)
        .then(pl.lit("compliance"))
        .otherwise(pl.lit("refusal"))
        .alias("response_class"),
        pl.lit(None, pl.String).alias("verdict"),
        pl.lit(None, pl.Float64).alias("p_safe"),
    )
    missing = pl.int_range(pl.len()) % 3 == 0
    other = graded.with_columns(
        pl.when(missing).then(pl.lit("unparsed")).otherwise("status").alias("status"),
        pl.when(missing).then(None).otherwise("response_class").alias("response_class"),
    )
    for policy in UnreadPolicy:
        (one,) = compared(graded, other, unparsed=policy, labels=LabelRule.INTENDED)
        assert one.n == 40
        assert one.changed == ()


def test_numbers_are_compared_where_both_have_one() -> None:
    a, b = random_table(30, 1), random_table(30, 1, skill=1)
    lacking = pl.col("query_id") < "q00010"
    b = b.with_columns(pl.when(lacking).then(None).otherwise("p_safe").alias("p_safe"))
    (one,) = compared(a, b)
    (rest,) = compared(a.filter(~lacking), b.filter(~lacking))
    values = [by_metric(found)["brier"]["value_before"] for found in (one, rest)]
    assert values[0] == values[1]
    assert one.n == 60


def test_only_what_both_answered() -> None:
    a, b = random_table(20, 1), random_table(20, 1, skill=1)
    unread = pl.col("query_id") == "q00003"
    b = b.filter(pl.col("query_id") != "q00007").with_columns(
        pl.when(unread).then(pl.lit("unparsed")).otherwise("status").alias("status"),
        pl.when(unread).then(None).otherwise("p_safe").alias("p_safe"),
        pl.when(unread).then(None).otherwise("verdict").alias("verdict"),
    )
    (one,) = compared(a, b)
    assert (one.n, one.left_out) == (36, 6)
    (reference,) = compared(a, b, unparsed=UnreadPolicy.REFERENCE)
    assert reference.n == 38


def test_holm_over_all_pairs_of_runs() -> None:
    tables = [
        random_table(60, 1, skill=skill, model=f"m{n}") for n, skill in enumerate((0.2, 0.6, 1))
    ]
    found = compared(*tables)
    names = [(one.before, one.after) for one in found]
    assert names == [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]
    rows = [by_metric(one)["pcc"] for one in found]
    smallest = min(rows, key=lambda row: row["p"])
    assert smallest["p_holm"] == pytest.approx(min(1, 3 * smallest["p"]))


def test_names_tell_runs_apart() -> None:
    same = random_table(5, 1)
    assert [run.name for run in find_runs({"old": same, "new": same})] == ["m (old)", "m (new)"]
    other = same.with_columns(pl.lit("score").alias("protocol"))
    runs = find_runs({"old": pl.concat([same, other]), "new": same})
    assert [run.name for run in runs] == [
        "m (probability, old)",
        "m (score, old)",
        "m (probability, new)",
    ]
    assert [(a.name, b.name) for a, b in pairs_of_runs(runs)] == [
        ("m (probability, old)", "m (probability, new)")
    ]
    lone = pairs_of_runs(find_runs({"old": same, "new": other}))
    assert [(a.name, b.name) for a, b in lone] == [("m (probability)", "m (score)")]


def test_models_whose_names_recur_are_compared_with_themselves() -> None:
    """Four before and four after: 4 pairs, not the 28 of eight runs."""
    sides = {
        side: pl.concat(
            random_table(5, 1, model=name, run_id=f"{name} {side}", skill=skill) for name in "abcd"
        )
        for side, skill in (("old", 0.4), ("new", 0.6))
    }
    runs = find_runs(sides)
    named = [(a.name, b.name) for a, b in pairs_of_runs(runs)]
    assert named == [(f"{name} (old)", f"{name} (new)") for name in "abcd"]
    assert len(pairs_of_runs(runs, every=True)) == 28
    # Names that do not recur say nothing, nor do those within one table.
    assert len(pairs_of_runs(find_runs({"old": sides["old"]}))) == 6
    renamed = sides["new"].with_columns(pl.col("model") + "2")
    assert len(pairs_of_runs(find_runs({"old": sides["old"], "new": renamed}))) == 28


def test_no_case_in_common() -> None:
    with pytest.raises(InputError, match="share no answered case"):
        compared(table(judgement("a")), table(judgement("b")))
