"""What the page says: every number is the score's."""

import re
from pathlib import Path
from typing import Any

import polars as pl
from support.climbers import rung_table
from support.reported import Parsed
from support.tables import judgement, random_table, table

import casewise as cw


def test_every_figure_of_an_analysis_stands_in_its_table(tmp_path: Path) -> None:
    """The rungs of two ladders, and the shortened runs beside their whole ones."""
    rungs = {"0": [1, 1, 0, 1], "1": [0, 1, 0, 0], "1b": [1, 1, 1, 1]}
    judged = pl.concat(
        [
            *(random_table(30, 1, skill=1, model="org/good", ablation=gone) for gone in PARTS),
            *(rung_table(rungs, model=name) for name in ("org/a", "org/b")),
        ],
        how="diagonal",
    )
    page = Parsed(cw.report(judged, tmp_path / "page.html").read_text("utf-8"))
    texts = " ".join(" ".join(page.texts).replace("\xa0", " ").split())
    found = [analysis for analysis in cw.score(judged).analyses if analysis.lines]
    assert {analysis.id for analysis in found} >= {"ablation", "ladder"}
    for analysis in found:
        for line in analysis.lines:
            for name in analysis.columns:
                figure = line.figures.get(name)
                value = figure.value if figure else float("nan")
                shown = "–" if value != value else f"{abs(value):.3f}".removeprefix("0")
                assert shown in texts, (analysis.id, line.part, name)
    assert "a: 1b" in texts
    assert texts.count("no data for") == 1


PARTS = (None, "recipient")


def categories(wrong: int) -> Any:
    """Twelve categories of four queries; in the last one so many answers are wrong."""
    rows = [
        judgement(f"q{at:02}", side, p if at < 48 - wrong else 1 - p, category=f"c{at // 4:02}")
        for at in range(48)
        for side, p in (("safe", 0.9), ("unsafe", 0.1))
    ]
    (found,) = (
        analysis
        for analysis in cw.score(table(*rows), "intended").analyses
        if analysis.id == "categories"
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
    (note,) = few.notes
    assert re.search(r"no difference between categories shown \(p \.\d+\)", note)


def test_names_are_short_and_no_two_alike(tmp_path: Path) -> None:
    models = ("org/a", "org/b", "org/b")
    runs = [random_table(4, 1, model=name, run_id=str(n)) for n, name in enumerate(models)]
    page = cw.report(pl.concat(runs), tmp_path / "page.html").read_text("utf-8")
    packed = Parsed(page).packed("case-data")["runs"]
    assert [run["name"] for run in packed] == ["a", "b #1", "b #2"]
    page = cw.report(runs[0], tmp_path / "page.html").read_text("utf-8")
    assert [run["name"] for run in Parsed(page).packed("case-data")["runs"]] == ["org/a"]
