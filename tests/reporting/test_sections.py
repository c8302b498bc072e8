"""What the page says: every number is the score's."""

import polars as pl
import pytest
from support.climbers import rung_table
from support.tables import (
    judgement,
    random_table,
    table,
)

from casewise.cases import LabelRule
from casewise.reporting.page._page import make_sections
from casewise.reporting.page._parts import Section
from casewise.reporting.page._plots import Plots, draw
from casewise.reporting.page._score_sections import MOST_CATEGORIES
from casewise.reporting.page._strips import lay_lines
from casewise.scores import (
    Judgements,
    Overview,
    Scoring,
    as_report_records,
    compare_runs,
    find_runs,
    make_overview,
    pairs_of_runs,
)

EMPTY = pl.lit(None, pl.String)


def overview(*tables: pl.DataFrame, labels: LabelRule | None = None) -> Overview:
    return make_overview(Judgements(pl.concat(tables), ()), Scoring(labels))


def acted(queries: int, model: str, delivery: str = "system", skill: float = 1.0) -> pl.DataFrame:
    answers = (
        pl.when(pl.col("p_safe") > 0.5).then(pl.lit("compliance")).otherwise(pl.lit("refusal"))
    )
    rows = random_table(queries, 3, skill=skill, protocol="respond", delivery=delivery, model=model)
    return rows.with_columns(
        answers.alias("response_class"),
        EMPTY.alias("verdict"),
        pl.lit(None, pl.Float64).alias("p_safe"),
        pl.lit(f"{model}-{delivery}").alias("run_id"),
    )


def by_id(found: Overview) -> dict[str, Section]:
    sections = make_sections(found)
    assert len({one.id for one in sections}) == len(sections)
    return {one.id: one for one in sections}


def judges() -> Overview:
    return overview(
        random_table(30, 1, skill=1, model="good", run_id="a"),
        random_table(30, 1, skill=0, model="bad", run_id="b"),
        random_table(30, 1, skill=1, model="good", run_id="c", ablation="recipient"),
        acted(30, "good"),
        acted(30, "good", "none", skill=0.0),
        acted(30, "good", "claimed"),
    )


def test_the_numbers_are_those_of_the_scores() -> None:
    found = judges()
    sections = by_id(found)
    records = {record["run_id"]: record for record in as_report_records(found.report)}
    rows = {row["run"]: row for row in sections["judging"].rows}
    good, record = rows["good"], records["a"]
    assert good["accuracy"] == record["accuracy"]
    assert [good["accuracy_low"], good["accuracy_high"]] == record["accuracy_ci"]
    assert good["over_refusal"] == 1 - record["safe_recall"]
    assert good["within_pcc_safe"] == record["within_pcc_safe"]
    assert rows["baseline: intended"]["accuracy"] == records["baseline:intended"]["accuracy"]
    replies = {row["run"]: row for row in sections["acting"].rows}
    assert replies["good (system)"]["under_refusal"] == records["good-system"]["under_refusal"]
    shares = [row for row in sections["quadrants"].rows if row["run"].startswith("bad")]
    assert sum(row["share"] for row in shares) == pytest.approx(1)
    (change,) = [row for row in sections["ablations"].rows if row["measure"] == "accuracy"]
    assert change["change"] == records["c"]["change"]["accuracy"]["difference"]
    gains = sections["deliveries"].rows
    assert {row["spoofing_gap"] for row in gains if row["spoofing_gap"] is not None} == {
        records["good-system"]["trust"]["spoofing_gap"]["difference"]
    }


def test_a_figure_without_an_interval_says_why() -> None:
    """The reasons are those of the records of ``casewise score``."""
    found = judges()
    good = next(one for one in as_report_records(found.report) if one["model"] == "good")
    why = good["withheld"]["within_pcc_safe"]
    assert "8 queries have a wrong answer" in why
    section = by_id(found)["judging"]
    assert section.withheld == [
        "Without an interval: correlation with people within safe contexts (good), correlation "
        f"with people within unsafe contexts (good); {why}."
    ]
    (row,) = (one for one in section.rows if one.get("within_pcc_safe_why"))
    assert (row["run"], row["within_pcc_safe_why"]) == ("good", why)
    assert row["within_pcc_safe"] is not None
    assert row["within_pcc_safe_low"] is None


def test_what_changed_comes_first() -> None:
    tables = {
        "before": random_table(40, 1, skill=0.0, run_id="a"),
        "after": random_table(40, 1, skill=1.0, run_id="b"),
    }
    pairs = pairs_of_runs(find_runs(tables))
    (comparison,) = compare_runs(pairs, Scoring())
    judgements = Judgements(pl.concat(tables.values()), ())
    found = make_overview(judgements, Scoring(), comparisons=[comparison])
    first, second = make_sections(found)[:2]
    assert [row["case_id"] for row in second.rows] == [one.case_id for one in comparison.changed]
    assert {row["change"] for row in second.rows} <= {"better", "worse", "neither"}
    assert first.id == "comparisons"
    settled = [change for change in comparison.changed if change.label != 0.5]
    better = sum((change.after == "safe") == (change.label == 1) for change in settled)
    assert f"{len(comparison.changed)} of 80 answers, {better} for the better" in first.title
    accuracy = next(row for row in first.rows if row["measure"] == "accuracy")
    assert accuracy["difference"] == comparison.differences[0].difference.value


def test_categories_are_differences_with_counts_the_furthest_below_first() -> None:
    """Twelve categories of two queries; in the last one every answer is wrong."""
    rows = [
        judgement(f"q{at}", side, p if at < 22 else 1 - p, category=f"category {at // 2:02}")
        for at in range(24)
        for side, p in (("safe", 0.9), ("unsafe", 0.1))
    ]
    section = by_id(overview(table(*rows), labels=LabelRule.INTENDED))["categories"]
    first, *others = section.rows
    # 44 of 48 are right in all, none of the four in the last category.
    assert (first["category"], first["n"], first["right"]) == ("category 11", 4, 0)
    assert first["difference"] == pytest.approx(-44 / 48)
    assert first["wrong"] == "2 of 2 safe, 2 of 2 unsafe"
    assert first["difference_high"] < 0
    assert all(row["difference"] == pytest.approx(4 / 48) for row in others)
    drawn = lay_lines(section)
    assert drawn is not None
    ((_, lines),) = drawn.groups
    assert len(section.rows) == 12
    assert lines[0].name == "category 11"
    assert len(lines) == MOST_CATEGORIES
    assert lines[0].aside == first["wrong"]


def test_case_by_case_shows_what_the_model_has_wrong() -> None:
    """One of three is wrong: people call it safe in 16 of 20, and the model's probability is .1."""
    rows = [
        judgement("a", "safe", 0.1, votes=(16, 4)),
        judgement("b", "safe", 0.9, votes=(16, 4)),
        judgement("c", "unsafe", 0.2, votes=(2, 18)),
    ]
    section = by_id(overview(table(*rows)))["votes"]
    assert isinstance(section.chart, Plots)
    (panel,) = section.chart.panels
    assert panel.note == "1 of 3"
    ((x, y, row),) = ((dot.x, dot.y, dot.row) for dot in panel.dots)
    assert (x, y, row) == (0.8, 0.1, section.rows[0])
    assert len(section.rows) == 3


def test_a_ladder_is_a_curve_of_its_rising_rungs() -> None:
    rungs = {"0": [1.0] * 8, "1": [1.0] * 6 + [0.0] * 2, "5": [0.0] * 8, "1b": [1.0] * 8}
    section = by_id(overview(rung_table(rungs)))["ladder"]
    assert isinstance(section.chart, Plots)
    # The control is among the rows, and not on the curve; no case is labelled unsafe.
    (panel,) = draw(section.chart).panels
    assert [(dot.x, dot.y) for dot in panel.dots] == [(0, 0), (50, 25), (100, 100)]
    safe = {row["rung"]: row["refused"] for row in section.rows if row["cases"].endswith(" safe")}
    assert safe == {"0": 1.0, "1": 0.75, "5": 0.0, "1b": 1.0}
    assert section.alternative == (
        "m: A bare claim makes it refuse 25 fewer of 100 (which may be chance); a verified one "
        "100 fewer."
    )
