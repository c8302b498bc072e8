"""What ``casewise annotate export`` prints: tables that fit 80 columns."""

import math

from rich.console import RenderableType

from casewise.annotation.study import Arm
from casewise.annotation.votes import Results
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    estimate,
    figures,
    p_value,
    terminal,
)

_SMALL = 0.01
"""Below such a p, panels are said to judge otherwise."""


def results_renderable(results: Results) -> RenderableType:
    """The summary of a study."""
    contrasts = _contrasts(results)
    return terminal(
        *_opening(results),
        _arms(results),
        contrasts if contrasts.rows else "No query was judged under two arms.",
        _sensitivity(results),
        "flips: queries whose majorities differ; cells whose majority turns",
        *_remarks(results),
    )


def _opening(results: Results) -> list[str]:
    funnel, study = results.funnel, results.study
    met = sum(cell.quota_met for cell in results.cells)
    flagged = ", ".join(
        f"{rule.value.replace('_', ' ')} {count}" for rule, count in funnel.flagged.items()
    )
    return [
        f"{study.title}: {funnel.votes} counted votes of {funnel.people} people "
        f"({funnel.came} came)",
        f"{met} of {len(results.cells)} cells have their {study.votes} votes",
        f"flagged: {funnel.flagged_any} people ({flagged})",
        "",
    ]


def _arms(results: Results) -> Table:
    return Table(
        [
            Column(""),
            *figures(Kind.COUNT, "cells", "safe", "unsafe", "ties"),
            Column("mean share safe", Kind.ESTIMATE),
            *figures(Kind.NUMBER, "alpha", "AC1"),
        ],
        [
            Row(
                [
                    _name(one.arm),
                    one.cells,
                    one.majority_safe,
                    one.majority_unsafe,
                    one.ties,
                    one.share_safe,
                    one.agreement.krippendorff_alpha.value,
                    one.agreement.gwet_ac1.value,
                ]
            )
            for one in results.arms
        ],
        "What people said (95 %)",
    )


def _contrasts(results: Results) -> Table:
    return Table(
        [
            Column(""),
            Column("queries", Kind.COUNT),
            Column("difference", Kind.ESTIMATE),
            Column("p", Kind.P_VALUE),
            *figures(Kind.NUMBER, "h", "odds\nratio", digits=2),
            Column("flips", Kind.COUNT),
        ],
        [
            Row(
                [
                    f"{_name(one.first)} less {_name(one.second)}",
                    one.queries,
                    one.difference,
                    one.difference.p,
                    one.cohen_h,
                    one.mantel_haenszel_or,
                    one.majority_flips,
                ]
            )
            for one in results.contrasts
        ],
        "What the context does to votes (95 %)",
    )


def _sensitivity(results: Results) -> Table:
    arms = [one.arm for one in results.arms]
    pairs = [(one.first, one.second) for one in results.contrasts[:1]]
    differences = [f"{_name(one)} less\n{_name(other)}" for one, other in pairs]
    rows = []
    for row in results.sensitivity:
        shares: list[Cell] = [row.share_safe[arm].value for arm in arms]
        for pair in pairs:
            found = row.differences.get(pair)
            shares.append(None if found is None else found.value)
        rows.append(Row([row.name, row.people, *shares, row.alpha, row.flipped]))
    return Table(
        [
            Column(""),
            Column("people", Kind.COUNT),
            *figures(Kind.SHARE, *map(_name, arms)),
            *figures(Kind.CHANGE, *differences),
            Column("alpha", Kind.NUMBER),
            Column("flips", Kind.COUNT),
        ],
        rows,
        "Mean share safe without those whom screening flags",
    )


def _remarks(results: Results) -> list[str]:
    panels, drift = results.panels, results.drift
    lines = []
    slope = drift.safe_by_page
    if math.isfinite(slope.value):
        lines.append(f"over ten pages of a person: share safe {estimate(slope, with_signs=True)}")
    if math.isfinite(panels.p):
        unlike = "judge the same cases otherwise" if panels.p < _SMALL else "don't clearly differ"
        lines.append(
            f"panels {unlike} (p {p_value(panels.p)}, over {panels.shared_cells} shared cells)"
        )
    elif len(panels.panels) > 1:
        lines.append("panels can't be compared: too few people on the same cells")
    short = sum(not cell.quota_met for cell in results.cells)
    if short:
        lines.append(f"{short} cells have fewer votes than planned")
    if not results.classes.converged:
        lines.append("Dawid and Skene's model did not settle: don't use its probabilities")
    return lines


def _name(arm: Arm) -> str:
    return "none" if arm is Arm.NONE else arm.value
