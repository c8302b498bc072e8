"""Analyses: one function each, which every view shows."""

from typing import Any

from support.tables import judgement, table

import casewise as cw
from casewise.analyses import (
    ANALYSES,
    Analysis,
    Line,
    analyse,
    analysis,
    as_markdown,
    as_records,
    as_table,
)


def shortened() -> Any:
    """Two runs: four queries with whole contexts, and without the recipient."""
    rows = [
        judgement(f"q{query}", side, p, run_id=ablation, ablation=ablation or None)
        for ablation, right in (("", 0.9), ("recipient", 0.4))
        for query in range(4)
        for side, p in (("safe", right), ("unsafe", 0.1))
    ]
    return cw.score(table(*rows)).report


def test_a_function_is_an_analysis_of_every_view() -> None:
    @analysis
    def toy(report: Any) -> Analysis:
        lines = [
            Line(row.score.condition, "a part", 8, {"accuracy": row.score.measures["accuracy"]})
            for row in report.rows
        ]
        return Analysis("toy", "A toy", "Does it show?", lines)

    try:
        (found,) = (one for one in analyse(shortened()) if one.id == "toy")
    finally:
        ANALYSES.remove(toy)
    assert [row.cells[0] for row in as_table(found).rows] == ["a part", "a part"]
    assert "| a part | 8 |" in as_markdown(found)
    assert {one["measure"] for one in as_records(found)} == {"accuracy"}


def test_what_a_removed_part_changes_by_hand() -> None:
    (found,) = (one for one in analyse(shortened()) if one.id == "ablation")
    (record,) = (one for one in as_records(found) if one["measure"] == "accuracy")
    # Each safe case is called unsafe without the recipient; unsafe ones stay right.
    assert (record["part"], record["n"], record["value"]) == ("without recipient", 8, -0.5)
