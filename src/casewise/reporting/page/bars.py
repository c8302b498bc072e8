"""An analysis on the page: its table, with a bar under each figure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from casewise.protocols import RunCondition
from casewise.results import Analysis, Line
from casewise.sheets import IntervalEstimate, Table

Bar = tuple[float, float, float, float]
"""Places of a value, of both ends of its interval, and of zero, in per cent; NaN of none."""


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of an analysis."""

    name: str
    n: str
    address: str
    """Address of its wrong answers; empty for none."""
    figures: Sequence[tuple[str, Bar | None]]
    """Each figure in words, and its bar."""


def line_rows(analysis: Analysis, table: Table, runs: Sequence[RunCondition]) -> Iterator[LineRow]:
    """Rows of an analysis, by its table, the bars of a column on one scale."""
    columns = [[line.figures.get(name) for line in analysis.lines] for name in analysis.columns]
    scales = [_scale(column, is_change=analysis.is_change) for column in columns]
    every = zip(*columns, strict=True)
    for line, (name, n, *words), figures in zip(analysis.lines, table.texts, every, strict=True):
        bars = map(_bar, figures, scales)
        yield LineRow(name, n, _address(line, runs, analysis), list(zip(words, bars, strict=True)))


def _scale(column: Sequence[IntervalEstimate | None], *, is_change: bool) -> tuple[float, float]:
    """Both ends of a column's scale: 0 to 1 of shares, and as far to both sides of a change."""
    ends = [
        end
        for measured in column
        if measured
        for end in (measured.value, *measured.interval)
        if end == end
    ]
    if is_change or min(ends, default=0) < 0:
        most = max(map(abs, ends), default=0) or 1.0
        return -most, most
    return 0.0, max([1.0, *ends])


def _bar(measured: IntervalEstimate | None, scale: tuple[float, float]) -> Bar | None:
    if measured is None or math.isnan(measured.value):
        return None
    low, high = scale
    at, start, end, zero = (
        100 * (value - low) / (high - low) for value in (measured.value, *measured.interval, 0.0)
    )
    return at, start, end, zero if low < 0 else math.nan


def _address(line: Line, runs: Sequence[RunCondition], analysis: Analysis) -> str:
    """Address of the wrong answers of a run or of its category; other parts have none."""
    of_category = analysis.id == "categories"
    if line.run not in runs or (line.part and not of_category):
        return ""
    chosen = f"#run={runs.index(line.run)}&outcome=wrong"
    return f"{chosen}&category={quote(line.part)}" if of_category else chosen
