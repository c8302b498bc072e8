"""Analyses: one function each, which every view shows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tables import judgement, table

import casewise as cw
from casewise.results import ANALYSES, Analysis, Line, analysis


def shortened() -> Any:
    """Two runs: four queries with whole contexts, and without the recipient."""
    return cw.score(
        table(
            *(
                judgement(f"q{query}", side, p, votes=votes, run_id=name, ablation=name or None)
                for name, right in (("", 0.9), ("recipient", 0.4))
                for query in range(4)
                for side, p, votes in (("safe", right, (15, 5)), ("unsafe", 0.1, (2, 18)))
            )
        )
    )


@pytest.fixture
def toy() -> Iterator[None]:
    """An analysis that is one function."""

    @analysis
    def toy(scores: cw.Scores) -> Analysis:
        lines = [
            Line(score.condition, "a part", score.n, {"accuracy": score.measures["accuracy"]})
            for score in scores
        ]
        return Analysis("toy", "A toy", "Does it show?", lines)

    yield
    del ANALYSES["toy"]


@pytest.mark.usefixtures("toy")
def test_a_function_is_an_analysis_of_every_view(tmp_path: Path) -> None:
    scores = shortened()
    for name in ("page.html", "card.md"):
        written = cw.report(scores.table, tmp_path / name).read_text("utf-8")
        assert "Does it show?" in written
    assert ": a part | 8 | .500" in scores.to_markdown(whole=True)
    (first, _) = (
        [one for one in row["analyses"] if one["analysis"] == "toy"]
        for row in scores.records()
        if "analyses" in row
    )
    assert [(one["measure"], one["value"]) for one in first] == [("accuracy", 1.0)]


def test_what_a_removed_part_changes_by_hand() -> None:
    (found,) = (one for one in shortened().analyses if one.id == "ablation")
    (line,) = found.lines
    # Each safe case is called unsafe without the recipient; unsafe ones stay right.
    assert (line.part, line.n, line.figures["accuracy"].value) == ("recipient", 8, -0.5)
