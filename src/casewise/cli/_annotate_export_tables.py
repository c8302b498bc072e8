"""What ``casewise annotate export`` prints: tables that fit 80 columns."""

import math

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.annotation.study import Arm
from casewise.annotation.votes import Results
from casewise.reporting import PlainTable, plain_table
from casewise.statistics import Estimate, TwoWay

_UNDEFINED = "–"
_SMALL = 0.01
"""Below such a p, panels are said to judge otherwise."""


def results_renderable(results: Results) -> RenderableType:
    """The summary of a study."""
    return Group(
        *(Text(line) for line in _opening(results)),
        _arms(results),
        _contrasts(results),
        _sensitivity(results),
        Text("flips: queries whose majorities differ; cells whose majority turns"),
        *(Text(line) for line in _remarks(results)),
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


def _arms(results: Results) -> PlainTable:
    table = plain_table(
        "What people said (95 %)",
        ["", "cells", "safe", "unsafe", "ties", "mean share safe", "alpha", "AC1"],
    )
    for one in results.arms:
        table.add_row(
            _name(one.arm),
            str(one.cells),
            str(one.majority_safe),
            str(one.majority_unsafe),
            str(one.ties),
            _with_interval(one.share_safe),
            _number(one.agreement.krippendorff_alpha.value),
            _number(one.agreement.gwet_ac1.value),
        )
    return table


def _contrasts(results: Results) -> RenderableType:
    if not results.contrasts:
        return Text("No query was judged under two arms.")
    table = plain_table(
        "What the context does to votes (95 %)",
        ["", "queries", "difference", "p", "h", "odds\nratio", "flips"],
    )
    for one in results.contrasts:
        table.add_row(
            f"{_name(one.first)} less {_name(one.second)}",
            str(one.queries),
            _with_interval(one.difference),
            _p(one.difference.p),
            _number(one.cohen_h, 2),
            _number(one.mantel_haenszel_or, 2),
            str(one.majority_flips),
        )
    return table


def _sensitivity(results: Results) -> PlainTable:
    arms = [one.arm for one in results.arms]
    first = results.contrasts[0] if results.contrasts else None
    heads = ["", "people", *(_name(arm) for arm in arms)]
    if first is not None:
        heads.append(f"{_name(first.first)} less\n{_name(first.second)}")
    title = "Mean share safe without those whom screening flags"
    table = plain_table(title, [*heads, "alpha", "flips"])
    for row in results.sensitivity:
        cells = [row.name, str(row.people)]
        cells += [_number(row.share_safe[arm].value) for arm in arms]
        if first is not None:
            found = row.differences.get((first.first, first.second))
            cells.append(_UNDEFINED if found is None else _number(found.value))
        table.add_row(*cells, _number(row.alpha), str(row.flipped))
    return table


def _remarks(results: Results) -> list[str]:
    panels, drift = results.panels, results.drift
    lines = []
    slope = drift.safe_by_page
    if math.isfinite(slope.value):
        lines.append(f"over ten pages of a person: share safe {_signed(slope)}")
    if math.isfinite(panels.p):
        unlike = "judge the same cases otherwise" if panels.p < _SMALL else "don't clearly differ"
        lines.append(f"panels {unlike} (p {_p(panels.p)}, over {panels.shared_cells} shared cells)")
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


def _number(value: float, digits: int = 3) -> str:
    return f"{value:z.{digits}f}" if math.isfinite(value) else _UNDEFINED


def _p(value: float) -> str:
    if not math.isfinite(value):
        return _UNDEFINED
    return "< .0005" if value < 0.0005 else f"{value:.3f}"


def _with_interval(one: TwoWay) -> str:
    low, high = (_number(end, 2) for end in one.interval)
    return f"{_number(one.value)} ({low}, {high})"


def _signed(one: Estimate) -> str:
    low, high = one.interval
    if not math.isfinite(low):
        return f"{one.value:+z.3f}"
    return f"{one.value:+z.3f} ({low:+z.3f}, {high:+z.3f})"
