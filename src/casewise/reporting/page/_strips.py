"""Layout of charts of lines with dots, drawn in HTML, where no name is cut."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from casewise.reporting.page._parts import (
    ASIDE,
    BLUE,
    CASES,
    COLOURS,
    GREY,
    Section,
    Strips,
)
from casewise.reporting.page._plots import round_ticks
from casewise.results import whole_percent
from casewise.sheets import Column, Kind, interval, number

MOST_LINES = 150
"""Lines that one chart can show; its table holds them all."""


@dataclass(frozen=True, slots=True)
class StripLine:
    """A line; places are in per cent of the axis."""

    name: str
    words: str
    """Its numbers."""
    at: float | None
    low: float | None
    high: float | None
    colour: str
    dim: bool
    """True if it is a baseline."""
    beside: float | None = None
    """A second value, as a ring."""
    pieces: Sequence[tuple[float, float, str, str, str]] = ()
    """Pieces of a stacked bar: from, width, colour, words and the address of its cases."""
    aside: str = ""
    """Words under its numbers."""
    cases: str = ""
    """Address of its cases; empty of a baseline."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of lines under headings; places are in per cent of the axis."""

    axis: str
    ticks: Sequence[tuple[float, str]]
    marks: Sequence[float]
    """Places of dashed lines across the chart: 0, and the baselines."""
    groups: Sequence[tuple[str, Sequence[StripLine]]]
    left_out: int
    """Lines that only the table has."""


def lay_lines(section: Section) -> Chart | None:
    """The lines of a section; None where its chart is of another kind."""
    spec = section.chart
    if not isinstance(spec, Strips):
        return None
    drawn = [
        row for row in section.rows if row[spec.value] is not None and row.get("kind") != ASIDE
    ]
    rows = _grouped(drawn, spec)
    # A stacked bar is one line of several rows: it is drawn with all its parts, or not at all.
    lines = [row["run"] if spec.stacked else place for place, row in enumerate(rows)]
    kept = list(dict.fromkeys(lines))[:MOST_LINES]
    known = set(kept)
    shown = [row for row, line in zip(rows, lines, strict=True) if line in known]
    alone = _alone(shown, spec)
    ticks = round_ticks(0.0, 1.0) if spec.stacked else _ticks(shown, spec)
    low, high = ticks[0], ticks[-1]

    def place(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / (high - low), 2)

    held = [place(row[spec.value]) or 0.0 for row in shown if _is_held(row)]
    return Chart(
        axis=spec.axis,
        ticks=[(place(tick) or 0.0, number(tick, _digits(ticks))) for tick in ticks],
        marks=[*([place(0.0) or 0.0] if spec.zero else []), *held],
        groups=[
            (heading, list(_lines(list(rows), spec, place, alone=alone)))
            for heading, rows in groupby(shown, lambda row: "" if alone else str(row[spec.group]))
        ],
        left_out=len(set(lines)) - len(kept),
    )


def _is_held(row: Mapping[str, Any]) -> bool:
    return row.get("kind") == "baseline"


def _grouped(rows: Sequence[Mapping[str, Any]], spec: Strips) -> list[Mapping[str, Any]]:
    """Rows of one group together, in the order in which the groups begin."""
    order = list(dict.fromkeys(row[spec.group] for row in rows))
    return sorted(rows, key=lambda row: order.index(row[spec.group]))


def _alone(rows: Sequence[Mapping[str, Any]], spec: Strips) -> bool:
    """Tell whether each model has one line, named for the model, so that headings are left out."""
    groups = [row[spec.group] for row in rows if not _is_held(row)]
    return spec.stacked or (spec.group == "model" and len(set(groups)) == len(groups))


_LEAST = 0.1
"""Shortest axis: a shorter one would make much of nothing."""


def _ticks(rows: Sequence[Mapping[str, Any]], spec: Strips) -> list[float]:
    """Ticks in round steps, as far as the lines reach."""
    fields = (spec.value, f"{spec.value}_low", f"{spec.value}_high", spec.beside)
    ends = [row[one] for row in rows for one in fields if row.get(one) is not None]
    ends += [0.0] if spec.zero or not ends else []
    low, high = min(ends), max(ends)
    if high - low < _LEAST:
        low = high - _LEAST if low < 0 or high >= _LEAST else low
        high = max(high, low + _LEAST)
    return round_ticks(low, high)


def _digits(ticks: Sequence[float]) -> int:
    step = ticks[1] - ticks[0]
    return next((n for n in range(5) if abs(step * 10**n - round(step * 10**n)) < 1e-6), 5)


_Place = Callable[[float | None], float | None]
"""From a value to its place on the axis, in per cent."""


def _lines(
    rows: list[Mapping[str, Any]], spec: Strips, place: _Place, *, alone: bool
) -> Iterator[StripLine]:
    if spec.stacked:
        for name, parts in groupby(rows, lambda row: row["run"]):
            yield _stack(str(name), list(parts), spec)
        return
    write = Column("", spec.kind)
    for row in rows:
        low, high = row.get(f"{spec.value}_low"), row.get(f"{spec.value}_high")
        beside = row.get(spec.beside)
        words = f"{write.write(beside)} → " if beside is not None else ""
        words += write.write(row[spec.value])
        if low is not None and high is not None:
            words += f" ({interval((low, high), with_signs=spec.kind is Kind.CHANGE)})"
        colour = spec.palette.get(str(row.get(spec.tone)), BLUE)
        yield StripLine(
            name=str(row["run"] if alone and not _is_held(row) else row[spec.label]),
            words=words,
            at=place(row[spec.value]),
            low=place(low),
            high=place(high),
            colour=COLOURS[GREY if _is_held(row) else colour],
            dim=_is_held(row),
            beside=place(beside),
            aside="" if _is_held(row) or not spec.aside else str(row[spec.aside]),
            cases=row.get(CASES, ""),
        )


def _stack(name: str, rows: Sequence[Mapping[str, Any]], spec: Strips) -> StripLine:
    """A stacked bar of shares, each in words; a share of nothing has no piece."""
    pieces, start = [], 0.0
    for row in (one for one in rows if one[spec.value] > 0):
        width = 100 * row[spec.value]
        tone = row[spec.tone]
        words = f"{whole_percent(row[spec.value])} {tone}"
        colour = COLOURS[spec.palette[row[spec.tone]]]
        pieces.append((round(start, 2), round(width, 2), colour, words, row.get(CASES, "")))
        start += width
    told = str(rows[0][spec.aside]) if spec.aside else ""
    return StripLine(name, told, None, None, None, "blue", dim=False, pieces=pieces)
