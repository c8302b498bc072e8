"""What the page says: every number is the score's."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.climbers import rung_table
from support.reported import Parsed
from support.scores import analysed
from support.tables import judgement, random_table, table

import casewise as cw

Rows = list[dict[str, Any]]


def sections(folder: Path, rows: pl.DataFrame, **options: Any) -> dict[str, Rows]:
    """The rows of each section of the page, by its id."""
    page = cw.report(rows, folder / "page.html", **options).read_text("utf-8")
    return {one["id"]: one["rows"] for one in Parsed(page).packed("chart-data")}


def acted(model: str, delivery: str, skill: float = 1.0) -> pl.DataFrame:
    said = pl.when(pl.col("p_safe") > 0.5).then(pl.lit("compliance")).otherwise(pl.lit("refusal"))
    about: dict[str, Any] = {"protocol": "respond", "delivery": delivery, "model": model}
    rows = random_table(30, 3, skill=skill, run_id=f"{model}-{delivery}", **about)
    return rows.with_columns(
        response_class=said,
        verdict=pl.lit(None, pl.String),
        p_safe=pl.lit(None, pl.Float64),
    )


def test_the_numbers_are_those_of_the_scores(tmp_path: Path) -> None:
    judged = pl.concat(
        [
            random_table(30, 1, skill=1, model="good", run_id="a"),
            random_table(30, 1, skill=0, model="bad", run_id="b"),
            random_table(30, 1, skill=1, model="good", run_id="c", ablation="recipient"),
            acted("good", "system"),
            acted("good", "none", skill=0.0),
            acted("good", "claimed"),
        ]
    )
    found = sections(tmp_path, judged)
    records = {record["run_id"]: record for record in cw.score(judged).record()}
    rows = {row["run"]: row for row in found["judging"]}
    good, record = rows["good"], records["a"]
    assert good["accuracy"] == record["accuracy"]
    assert [good["accuracy_low"], good["accuracy_high"]] == record["accuracy_ci"]
    assert good["over_refusal"] == 1 - record["safe_recall"]
    assert good["within_pcc_safe"] == record["within_pcc_safe"]
    # A figure without an interval says why.
    assert good["within_pcc_safe_low"] is None
    assert good["within_pcc_safe_why"] == record["withheld"]["within_pcc_safe"]
    assert rows["baseline: intended"]["accuracy"] == records["baseline:intended"]["accuracy"]
    replies = {row["run"]: row for row in found["acting"]}
    assert replies["good (system)"]["under_refusal"] == records["good-system"]["under_refusal"]
    shares = [row["share"] for row in found["quadrants"] if row["run"].startswith("bad")]
    assert sum(shares) == pytest.approx(1)
    (change,) = (row for row in found["ablations"] if row["measure"] == "accuracy")
    (changes,) = analysed([records["a"]], "ablation")
    assert change["change"] == changes["recipient", "accuracy"]["value"]
    gaps = {row["spoofing_gap"] for row in found["deliveries"]} - {None}
    (gains,) = analysed([records["good-system"]], "claims")
    assert gaps == {gains["", "spoofing gap"]["value"]}


def test_what_changed_is_that_of_the_comparison(tmp_path: Path) -> None:
    before, after = (random_table(40, 1, skill=skill, run_id=str(skill)) for skill in (0.0, 1.0))
    found = sections(tmp_path, after, before=before)
    record = cw.compare(before, after).record()
    changed = record["comparisons"][0]["changed"]
    assert [row["case_id"] for row in found["changed"]] == [one["case_id"] for one in changed]
    accuracy = next(row for row in found["comparisons"] if row["measure"] == "accuracy")
    assert accuracy["difference"] == record["pairs"][0]["difference"]


def test_categories_are_differences_the_furthest_below_first(tmp_path: Path) -> None:
    """Twelve categories of two queries; in the last one every answer is wrong."""
    rows = [
        judgement(f"q{at}", side, p if at < 22 else 1 - p, category=f"category {at // 2:02}")
        for at in range(24)
        for side, p in (("safe", 0.9), ("unsafe", 0.1))
    ]
    first, *others = sections(tmp_path, table(*rows), labels="intended")["categories"]
    # 44 of 48 are right in all, none of the four in the last category.
    assert (first["category"], first["n"], first["right"]) == ("category 11", 4, 0)
    assert first["difference"] == pytest.approx(-44 / 48)
    assert first["wrong"] == "2 of 2 safe, 2 of 2 unsafe"
    assert first["difference_high"] < 0
    assert all(row["difference"] == pytest.approx(4 / 48) for row in others)


def test_a_ladder_has_all_its_rungs(tmp_path: Path) -> None:
    rungs = {"0": [1.0] * 8, "1": [1.0] * 6 + [0.0] * 2, "5": [0.0] * 8, "1b": [1.0] * 8}
    rows = sections(tmp_path, rung_table(rungs))["ladder"]
    safe = {row["rung"]: row["refused"] for row in rows if row["cases"].endswith(" safe")}
    assert safe == {"0": 1.0, "1": 0.75, "5": 0.0, "1b": 1.0}
