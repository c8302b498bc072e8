"""The one chart: a line a figure, with a dot, its interval, and its numbers in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import quote

from casewise.analyses import Analysis, Figure, as_records, figure_label
from casewise.protocols import RunCondition
from casewise.reporting.scores import run_names
from casewise.sheets import interval, number, signed

MOST_LINES = 100
"""Most lines of a chart; the download holds all."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A figure of a run, or of a part of it; places are per cent of the axis."""

    name: str
    words: str
    at: float
    low: float
    high: float
    address: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines by their headings, under an axis."""

    groups: Sequence[tuple[str, Sequence[ChartLine]]]
    ticks: Sequence[tuple[float, str]]
    zero: float
    """Place of zero, of a chart of changes; else NaN."""
    left_out: int


def draw(analysis: Analysis, runs: Sequence[RunCondition]) -> Chart:
    """The chart of an analysis."""
    figures = [one for one in _figures(analysis) if one[3].value == one[3].value]
    shown = figures[:MOST_LINES]
    ends = [end for *_, one in shown for end in (one.value, *one.interval) if end == end]
    low, high = _axis(ends, zero=analysis.is_change)
    names = dict(zip(_runs(analysis), run_names(_runs(analysis)), strict=True))

    def place(value: float) -> float:
        return 100 * (value - low) / (high - low)

    def line(run: RunCondition, name: str, n: int | None, one: Figure) -> ChartLine:
        write = signed if analysis.is_change else number
        ends = interval(one.interval, with_signs=analysis.is_change)
        known = f" ({ends})" if one.interval[0] == one.interval[0] else ""
        words = f"{write(one.value)}{known}" + (f", n {n:,}" if n is not None else "")
        start, end = map(place, one.interval)
        return ChartLine(
            name, words, place(one.value), start, end, _address(run, runs, analysis, name)
        )

    return Chart(
        [
            (names[run], [line(*one) for one in found])
            for run, found in groupby(shown, key=lambda one: one[0])
        ],
        [(round(place(at), 1), number(at, 2)) for at in _ticks(low, high)],
        place(0.0) if analysis.is_change else math.nan,
        len(figures) - len(shown),
    )


def _runs(analysis: Analysis) -> list[RunCondition]:
    return list(dict.fromkeys(line.run for line in analysis.lines))


def _figures(analysis: Analysis) -> Iterator[tuple[RunCondition, str, int | None, Figure]]:
    """Every figure; of an analysis that shows chosen ones, the first of each part."""
    columns = analysis.columns
    for line in analysis.lines:
        there = [name for name in columns if name in line.figures]
        for name in there[:1] if line.part and analysis.shown else there:
            names = [line.part, figure_label(name)] if len(columns) > 1 else [line.part]
            names = names[:1] if line.part and analysis.shown else names
            yield line.run, ", ".join(filter(None, names)), line.n, line.figures[name]


def _address(run: RunCondition, runs: Sequence[RunCondition], analysis: Analysis, part: str) -> str:
    if run not in runs:
        return ""
    chosen = f"#run={runs.index(run)}&outcome=wrong"
    return f"{chosen}&category={quote(part)}" if analysis.id == "categories" else chosen


def _axis(ends: Sequence[float], *, zero: bool) -> tuple[float, float]:
    """Both ends of the axis: 0 to 1 of shares, else what the figures take."""
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if not zero and low >= 0 and high <= 1:
        return 0.0, 1.0
    low, high = min(low, 0.0), max(high, 0.0)
    return (low, high) if high > low else (low - 0.1, high + 0.1)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers on the axis, five at most."""
    rough = (high - low) / 4
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * size for size in (1, 2, 2.5, 5, 10) if unit * size >= rough)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def numbers(analysis: Analysis) -> Mapping[str, Any]:
    """The rows of an analysis for the download."""
    return {"id": analysis.id, "rows": as_records(analysis)}
