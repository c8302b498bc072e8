"""The table of runs with what only the page has: short names, addresses, curves over time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from casewise.protocols import RunCondition
from casewise.reporting.names import run_names
from casewise.reporting.scores import all_verdicts
from casewise.results import DatedRun, Figure, Overview, Result, Trend, Verdict


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, or a run and the one before it."""

    name: str
    title: str
    """The whole name, and that of the run before."""
    state: str
    is_bad: bool
    figures: Sequence[Figure]
    address: str
    """Address of its cases; empty for none."""
    ended: str = ""
    """Time at which it ended, in a trend."""
    curves: Sequence[str] = ()
    """Points of each figure's curve over the runs of a trend, in a box of 100 by 20."""


def run_rows(overview: Overview, result: Result[Any] | Trend) -> list[RunRow]:
    """Rows in the order of the runs; those that were compared first, a trend's by time."""
    if not isinstance(result, Trend):
        return list(_rows(all_verdicts(overview, result), overview))
    first = [_trend_row(verdict, result, overview) for verdict in result.leading]
    rows = [Verdict("", row.score) for row in result.rows]
    return [*first, *_rows(rows, overview, result.rows)]


def _rows(
    verdicts: Sequence[Verdict], overview: Overview, dated: Sequence[DatedRun] = ()
) -> Iterator[RunRow]:
    names = run_names([verdict.conditions[-1] for verdict in verdicts])
    times = [f"{run.ended:%Y-%m-%d %H:%M}" for run in dated] or [""] * len(names)
    for name, verdict, ended in zip(names, verdicts, times, strict=True):
        title = ", before: ".join(condition.title for condition in reversed(verdict.conditions))
        to = address(verdict.conditions, [condition for condition, _ in overview.scores.runs])
        figures = verdict.figures
        yield RunRow(name, title, verdict.state, is_bad(verdict), figures, to, ended)


def _trend_row(verdict: Verdict, trend: Trend, overview: Overview) -> RunRow:
    """The latest run of a kind against the first like it, with a curve of all in each cell."""
    (row,) = _rows([verdict], overview)
    runs = [row.score for row in trend.rows if row.score.acts is verdict.score.acts]
    every = zip(*(Verdict("", run).figures for run in runs), strict=True)
    return replace(
        row, name=f"{len(runs)} runs", title=verdict.subject, curves=list(map(_points, every))
    )


def _points(figures: Sequence[Figure]) -> str:
    step = 100 / max(len(figures) - 1, 1)
    shares = [figure.share.value for figure in figures]
    return " ".join(
        f"{n * step:.4g},{20 - 20 * share:.4g}" for n, share in enumerate(shares) if share == share
    )


def is_bad(verdict: Verdict) -> bool:
    """Tell whether a run is too broken for a verdict, or ended early."""
    states = [score.state for score in verdict.scores if score.state]
    return any(state.is_broken or state.sentence for state in states)


def address(conditions: Sequence[RunCondition], runs: Sequence[RunCondition]) -> str:
    """Address of the wrong answers of a run, or of those that are newly wrong."""
    places = [runs.index(condition) for condition in conditions if condition in runs]
    if not places:
        return ""
    chosen = "view=new" if len(places) > 1 else "outcome=wrong"
    return f"#run={places[-1]}&{chosen}"
