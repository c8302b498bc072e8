"""The table of runs: a row a run, the same for one run and for three hundred."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from casewise.protocols import RunCondition
from casewise.reporting.page.names import run_names
from casewise.results import (
    Comparisons,
    DatedRun,
    Figure,
    Overview,
    Result,
    Score,
    Share,
    Trend,
    Verdict,
    figure_titles,
    of_100,
    pinned_rows,
    wording,
)
from casewise.sheets import Column as SheetColumn
from casewise.sheets import Row, Table, Tone

Pinned = tuple[str, tuple[str, ...]]
"""Name of a row that the runs are held against, and its shares in words."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A share with its interval, and in a comparison its change."""

    figure: Figure
    spark: Sequence[float] = ()
    """The same share of every run of a trend, the earliest first."""

    @property
    def value(self) -> float | None:
        """The value to sort by; None where it is unknown."""
        value = self.figure.share.value
        return None if math.isnan(value) else value

    @property
    def arrow(self) -> str:
        """Arrow in the direction of the change; empty without one."""
        change = self.figure.change
        if change is None or not change.value:
            return ""
        return "▲" if change.value > 0 else "▼"

    @property
    def tone(self) -> str:
        """Class of the change: ``worse`` or ``better``, and ``noise`` where chance may make it."""
        names = {Tone.BAD: "worse", Tone.GOOD: "better"}
        tone = names[self.figure.tone] if self.figure.tone else ""
        return tone if self.figure.is_real else f"{tone} noise"

    @property
    def line(self) -> str:
        """Points of the curve of a trend, in a box of 100 by 20."""
        known = [(n, one) for n, one in enumerate(self.spark) if one == one]
        step = 100 / max(len(self.spark) - 1, 1)
        return " ".join(f"{n * step:.4g},{20 - 20 * one:.4g}" for n, one in known)


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, or a run and the one before it."""

    name: str
    title: str
    """The whole name, and the path if that tells it from another."""
    state: str
    is_bad: bool
    """True if it is too broken for a verdict, or ended early."""
    cells: tuple[Cell, ...]
    address: str = ""
    """Address of its cases."""
    ended: str = ""
    """Time at which it ended, in a trend."""


def run_rows(overview: Overview, result: Result[object]) -> list[RunRow]:
    """Rows in the order of the runs; those that were compared first, a trend's by time."""
    if isinstance(result, Trend):
        first = [_trend_row(one, result, overview) for one in result.verdicts]
        dated = [(Verdict("", one.score), one) for one in result]
        return [*first, *_rows(dated, overview)]
    compared = list(result.verdicts) if isinstance(result, Comparisons) else []
    known = {condition for one in compared for condition in one.conditions}
    others = [Verdict("", one) for one in overview.scores if one.condition not in known]
    return list(_rows([(one, None) for one in (*compared, *others)], overview))


def _rows(
    verdicts: Sequence[tuple[Verdict, DatedRun | None]], overview: Overview
) -> Iterator[RunRow]:
    names = run_names([one.conditions[-1] for one, _ in verdicts])
    for name, (verdict, run) in zip(names, verdicts, strict=True):
        before = f", before: {verdict.conditions[0].title}" if verdict.comparison else ""
        yield RunRow(
            name=name,
            title=verdict.conditions[-1].title + before,
            state=verdict.state,
            is_bad=is_bad(verdict),
            cells=(*map(Cell, verdict.figures), _right(verdict)),
            address=address(verdict.conditions, overview.browser.runs),
            ended=f"{run.ended:%Y-%m-%d %H:%M}" if run else "",
        )


def _trend_row(verdict: Verdict, trend: Trend, overview: Overview) -> RunRow:
    """The latest run of a kind against the first like it, with a curve of all in each cell."""
    (row,) = _rows([(verdict, None)], overview)
    runs = [one.score for one in trend if one.score.acts is verdict.score.acts]
    every = [(*Verdict("", one).figures, _right(Verdict("", one)).figure) for one in runs]
    cells = tuple(
        Cell(cell.figure, [one[place].share.value for one in every])
        for place, cell in enumerate(row.cells)
    )
    return RunRow(f"{len(runs)} runs", verdict.subject, row.state, row.is_bad, cells, row.address)


def _right(verdict: Verdict) -> Cell:
    score = verdict.score
    known = verdict.figures and verdict.figures[2].share.value == verdict.figures[2].share.value
    share = Share.of(score.right)
    share = share if known else Share(math.nan, math.nan, math.nan)
    figure = Figure("Right", share, score.n)
    found = verdict.comparison.differences if verdict.comparison else ()
    change = next((one for one in found if one.metric == score.headline), None)
    if change is None or not change.is_told:
        return Cell(figure)
    moved = Share.of(change.difference)
    tone = (Tone.GOOD if moved.value > 0 else Tone.BAD) if moved.value else None
    before = Share.of(change.before)
    is_real = change.is_more_than_chance
    return Cell(Figure("Right", share, score.n, math.nan, before, moved, tone, is_real))


def is_bad(verdict: Verdict) -> bool:
    """Tell whether a run is too broken for a verdict, or ended early."""
    states = [one.state for one in verdict.evidence.scores if one.state]
    return any(one.is_broken or one.sentence for one in states)


def address(conditions: Sequence[RunCondition], runs: Sequence[RunCondition]) -> str:
    """Address of the wrong answers of a run, or of those that are newly wrong."""
    places = [runs.index(one) for one in conditions if one in runs]
    if not places:
        return ""
    if len(places) > 1:
        return f"#run={places[-1]}&beside={places[0]}&view=new"
    return f"#run={places[0]}&outcome=wrong"


def titles(scores: Sequence[Score]) -> tuple[str, ...]:
    """Headings of the columns of shares."""
    people = wording(*scores).of_people
    return (*figure_titles([one.acts for one in scores] or [False], people), "Right")


def pinned(overview: Overview) -> list[Pinned]:
    """Rows that the runs are held against: names, and shares in words."""
    verdicts = [Verdict("", one) for one in overview.scores]
    return [
        (name, tuple("" if one.value != one.value else f"{of_100(one.value)} %" for one in shares))
        for name, shares in pinned_rows(verdicts, overview.scores.baselines).items()
    ]


def sheet(
    rows: Sequence[RunRow], heads: Sequence[str], held: Sequence[tuple[str, tuple[str, ...]]]
) -> Table:
    """The same table for Markdown."""
    columns = [SheetColumn(name) for name in ("run", "state", *heads)]
    found = [Row([one.title, one.state, *map(_text, one.cells)]) for one in rows]
    found += [Row([name, "", *texts]) for name, texts in held]
    return Table(columns, found)


def _text(cell: Cell) -> str:
    change = cell.figure.change_text
    return f"{cell.figure.text}; change {change}" if change else cell.figure.text
