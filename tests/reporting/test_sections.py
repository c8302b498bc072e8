"""What the page says: every number is the score's."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from support.reported import Parsed
from support.tables import judgement, random_table, table

import casewise as cw
from casewise.analyses import Analysis, Line, as_records
from casewise.protocols import RunCondition
from casewise.reporting.page.charts import draw
from casewise.reporting.page.names import run_names
from casewise.statistics import UNDEFINED

Rows = list[dict[str, Any]]


def sections(folder: Path, rows: pl.DataFrame, **options: Any) -> dict[str, Rows]:
    """The rows of each section of the page, by its id."""
    page = cw.report(rows, folder / "page.html", **options).read_text("utf-8")
    return {one["id"]: one["rows"] for one in Parsed(page).packed("chart-data")}


def test_every_analysis_is_in_the_download_as_in_the_records(tmp_path: Path) -> None:
    judged = pl.concat(
        [
            random_table(30, 1, skill=1, model="good", run_id="a"),
            random_table(30, 1, skill=1, model="good", run_id="c", ablation="recipient"),
        ]
    )
    found = sections(tmp_path, judged)
    analyses = [one for one in cw.score(judged).analyses if one.lines]
    assert set(found) == {one.id for one in analyses} >= {"ablation"}
    for one in analyses:
        assert found[one.id] == as_records(one)


def chart(analysis: Analysis) -> list[tuple[str, float, float | None, float | None]]:
    runs = list(dict.fromkeys(line.run for line in analysis.lines))
    drawn = draw(analysis, runs)
    return [(one.name, one.at, one.low, one.high) for _, lines in drawn.groups for one in lines]


def test_lines_stand_where_their_figures_are() -> None:
    """Shares from 0 to 1; changes on an axis that holds 0 and both ends."""
    run = RunCondition(model="m", protocol="binary")
    share = replace(UNDEFINED, value=0.25)
    shares = Analysis("a", "a", "a?", [Line(run, "x", 4, {"accuracy": share, "pcc": share})])
    assert chart(shares) == [
        ("x, accuracy", 25.0, None, None),
        ("x, PCC", 25.0, None, None),
    ]
    assert chart(replace(shares, shown=["accuracy"])) == [("x", 25.0, None, None)]
    moved = [
        Line(run, name, 4, {"accuracy": replace(UNDEFINED, value=value)})
        for name, value in (("x", -0.1), ("y", 0.3))
    ]
    changes = replace(shares, lines=moved, is_change=True)
    assert chart(changes) == [("x", 0.0, None, None), ("y", 100.0, None, None)]
    assert draw(changes, [run]).zero == 25.0


def categories(wrong: int) -> Analysis:
    """Twelve categories of four queries; in the last one so many answers are wrong."""
    rows = [
        judgement(f"q{at:02}", side, p if at < 48 - wrong else 1 - p, category=f"c{at // 4:02}")
        for at in range(48)
        for side, p in (("safe", 0.9), ("unsafe", 0.1))
    ]
    (found,) = (
        one for one in cw.score(table(*rows), "intended").analyses if one.id == "categories"
    )
    return found


def test_categories_are_shown_where_they_differ_by_a_joint_test() -> None:
    found = categories(4)
    assert [line.figures["accuracy"].value for line in found.lines] == [*[1.0] * 11, 0.0]
    assert {line.n for line in found.lines} == {8}
    alike = categories(0)
    assert not alike.lines
    few = categories(1)
    assert not few.lines
    assert re.search(r"no difference between categories shown \(p \.\d+\)", few.missing)


def test_names_are_short_and_no_two_alike() -> None:
    runs = [RunCondition(model=f"org/{name}", protocol="binary") for name in ("a", "b", "b")]
    assert run_names(runs) == ["a", "b #1", "b #2"]
    assert run_names(runs[:1]) == ["org/a"]
    paths = [replace(runs[0], place=place) for place in ("x.parquet", "y.parquet")]
    assert run_names(paths) == ["org/a (from x.parquet)", "org/a (from y.parquet)"]
