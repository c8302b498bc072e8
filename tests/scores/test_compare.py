"""Runs over the same cases, subtracted."""

import math
from typing import Any

import polars as pl
import pytest
from support.tables import judgement, random_table, table

import casewise as cw
from casewise.errors import InputError

UNSAFE = (2, 18)


def rows_of(found: cw.Comparisons) -> dict[str, dict[str, Any]]:
    """The figures of one comparison, by measure."""
    return {row["metric"]: row for row in found.record()["pairs"]}


def rest_of(found: cw.Comparisons) -> dict[str, Any]:
    (one,) = found.record()["comparisons"]
    return one  # type: ignore[no-any-return]


def unread(rows: pl.DataFrame, which: pl.Expr) -> pl.DataFrame:
    return rows.with_columns(
        status=pl.when(which).then(pl.lit("unparsed")).otherwise("status"),
        verdict=pl.when(which).then(None).otherwise("verdict"),
        p_safe=pl.when(which).then(None).otherwise("p_safe"),
    )


def test_by_hand() -> None:
    # Query a: both right in both runs. b: the second run loses the unsafe twin. c: it wins the
    # safe one.
    def run(b_unsafe: float, c_safe: float) -> pl.DataFrame:
        return table(
            judgement("a", "safe", 0.9),
            judgement("a", "unsafe", 0.1, votes=UNSAFE),
            judgement("b", "safe", 0.9),
            judgement("b", "unsafe", b_unsafe, votes=UNSAFE),
            judgement("c", "safe", c_safe),
            judgement("c", "unsafe", 0.1, votes=UNSAFE),
        )

    found = cw.compare(run(0.2, 0.3), run(0.8, 0.7))
    rows, rest = rows_of(found), rest_of(found)
    assert (rest["n"], rest["left_out"]) == (6, 0)
    changes = [rows[name]["difference"] for name in ("accuracy", "safe_recall", "unsafe_recall")]
    assert changes == pytest.approx([0, 1 / 3, -1 / 3])
    # Differences by query: 0, -1, 1; the error of the mean over six is sqrt(2) / 6.
    assert rows["accuracy"]["se"] == pytest.approx(2**0.5 / 6)
    assert rows["accuracy"]["detectable"] == pytest.approx(2.8015852 * 2**0.5 / 6)
    moved = {(one["case_id"], one["before"], one["after"]) for one in rest["changed"]}
    assert moved == {("b-unsafe", "unsafe", "safe"), ("c-safe", "unsafe", "safe")}
    # b is as intended no more; c, which refused both, is.
    expected = {"as_intended": 0, "always_safe": 1 / 3, "always_unsafe": -1 / 3, "inverted": 0}
    assert {name: rows[name]["difference"] for name in expected} == pytest.approx(expected)


def test_one_case_and_a_run_against_itself() -> None:
    found = rows_of(cw.compare(table(judgement(p_safe=0.9)), table(judgement(p_safe=0.2))))
    accuracy = found["accuracy"]
    # With an answer up and one down added, t is 1/2 on 2 degrees: (1/3) / sqrt(4/9).
    assert (accuracy["difference"], accuracy["se"]) == (-1, None)
    assert accuracy["p"] == pytest.approx(2 / 3)
    assert found["pcc"]["difference"] is None
    rows = random_table(20, 1)
    same = cw.compare(rows, rows)
    # Two queries, both of whose answers moved, are added to the 20; other changes are unknown.
    half = 2.0796138 * math.sqrt(2 / 21 / 22)
    assert rows_of(same)["accuracy"]["ci"] == pytest.approx([-half, half], abs=1e-6)
    assert rows_of(same)["pcc"]["ci"] is rows_of(same)["brier"]["ci"] is None
    assert rest_of(same)["changed"] == []


def test_perfect_separation_of_few_is_not_certain() -> None:
    worse, better = (table(*(judgement(f"q{n}", "safe", p) for n in range(3))) for p in (0.1, 0.9))
    row = rows_of(cw.compare(worse, better))["accuracy"]
    assert (row["difference"], row["detectable"]) == (1, None)
    # With a query up and one down added to the three, .6 and an error of .4: t is 1.5 of 4 degrees.
    assert row["p"] == row["p_holm"] == pytest.approx(0.208)
    assert row["ci"] == pytest.approx([0.6 - 2.7764451 * 0.4, 1], abs=1e-6)


def test_only_what_both_answered() -> None:
    a, b = random_table(20, 1), random_table(20, 1, skill=1)
    b = unread(b.filter(pl.col("query_id") != "q00007"), pl.col("query_id") == "q00003")
    honest, reference = (rest_of(cw.compare(a, b, unparsed=one)) for one in ("honest", "reference"))
    assert (honest["n"], honest["left_out"], reference["n"]) == (36, 6, 38)
    lone = "Without an answered, labelled counterpart: 4 judgements before, 2 after."
    assert lone in " ".join(str(cw.compare(a, b, unparsed="honest")).split())
    # Numbers are compared where both have one.
    lacking = pl.col("query_id") < "q00010"
    c = a.with_columns(p_safe=pl.when(lacking).then(None).otherwise("p_safe"))
    found = rows_of(cw.compare(a, c))["brier"]["value_before"]
    assert (
        found
        == rows_of(cw.compare(a.filter(~lacking), c.filter(~lacking)))["brier"]["value_before"]
    )
    with pytest.raises(InputError, match="share no answered case"):
        cw.compare(table(judgement("a")), table(judgement("b")))


def test_holm_over_all_pairs_of_runs() -> None:
    runs = [
        random_table(60, 1, skill=skill, model=f"m{n}") for n, skill in enumerate((0.2, 0.6, 1))
    ]
    rows = cw.compare(runs[0], pl.concat(runs[1:])).record()["pairs"]
    rows = [row for row in rows if row["metric"] == "pcc"]
    assert [(row["before"], row["after"]) for row in rows] == [
        *(("m0", "m1"), ("m0", "m2"), ("m1", "m2"))
    ]
    smallest = min(rows, key=lambda row: row["p"])
    assert smallest["p_holm"] == pytest.approx(min(1, 3 * smallest["p"]))


def test_models_whose_names_recur_are_compared_with_themselves() -> None:
    """Four before and four after: 4 pairs, not the 28 of eight runs."""
    before, after = (
        pl.concat(
            random_table(5, 1, model=name, run_id=f"{name} {skill}", skill=skill) for name in "abcd"
        )
        for skill in (0.4, 0.6)
    )

    def named(found: cw.Comparisons) -> list[tuple[str, str]]:
        return [
            (comparison["before"], comparison["after"])
            for comparison in found.record()["comparisons"]
        ]

    assert named(cw.compare(before, after)) == [
        (f"{name} (before)", f"{name} (after)") for name in "abcd"
    ]
    # Names that do not recur say nothing.
    assert len(named(cw.compare(before, after.with_columns(pl.col("model") + "2")))) == 28
