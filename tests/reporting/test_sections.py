"""What the page says: every number is the score's."""

import re
from pathlib import Path
from typing import Any

import polars as pl
from support.reported import Parsed
from support.tables import judgement, random_table, table

import casewise as cw

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
    records = [one for row in cw.score(judged).record() for one in row.get("analyses", ())]
    assert set(found) == {one["analysis"] for one in records} >= {"ablation"}
    for name, rows in found.items():
        assert rows == [one for one in records if one["analysis"] == name]


def categories(wrong: int) -> Any:
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


def test_names_are_short_and_no_two_alike(tmp_path: Path) -> None:
    models = ("org/a", "org/b", "org/b")
    runs = [random_table(4, 1, model=name, run_id=str(n)) for n, name in enumerate(models)]
    page = cw.report(pl.concat(runs), tmp_path / "page.html").read_text("utf-8")
    packed = Parsed(page).packed("case-data")["runs"]
    assert [one["name"] for one in packed] == ["a", "b #1", "b #2"]
    page = cw.report(runs[0], tmp_path / "page.html").read_text("utf-8")
    assert [one["name"] for one in Parsed(page).packed("case-data")["runs"]] == ["org/a"]
