"""Charts of two axes: panels of dots, lines and intervals, laid out in per cent of their panel.

Shapes stretch with the page and texts don't, so that every word has its size at any width. Nothing
is drawn by a script: a page shows its charts on paper, and where scripts are off.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

MOST_PANELS = 12
"""Panels that one chart shows; its table holds the rest."""

Ends = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with its ticks, whose first and last are its ends."""

    title: str
    ticks: Sequence[tuple[float, str]]

    def place(self, value: float) -> float:
        """Place of a value, in per cent of the axis; what lies beyond an end stands at it."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        return round(100 * (min(max(value, low), high) - low) / (high - low), 2)


def share_axis(title: str, most: float = 1.0) -> Axis:
    """Axis of a share from 0 to ``most`` or a little further, in round steps of per cent."""
    return Axis(title, [(end, f"{100 * end:g} %") for end in round_ticks(0.0, most)])


def round_ticks(low: float, high: float, parts: int = 5) -> list[float]:
    """Ticks from ``low`` or less to ``high`` or more, in few equal steps of round size."""
    power = 10.0 ** math.floor(math.log10((high - low) / parts))
    steps = (size * power for size in (1, 2, 5, 10, 20))
    spans = ((step, math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)) for step in steps)
    step, first, last = next(one for one in spans if one[2] - one[1] <= parts)
    return [round(place * step, 10) for place in range(first, max(last, first + 1) + 1)]


def axis_of(title: str, names: Sequence[str]) -> Axis:
    """Axis of few values at equal distances, whose places are 0, 1, 2..."""
    ticks = [(float(at), name) for at, name in enumerate(names)]
    return Axis(title, ticks if len(ticks) > 1 else [*ticks, (1.0, "")])


_MOST_TICKS = 12


def count_axis(title: str, most: int) -> Axis:
    """Axis of counts from 0 to ``most`` or a little further, in equal whole steps."""
    step = -(-max(most, 1) // _MOST_TICKS)
    return Axis(title, [(float(at), str(at)) for at in range(0, max(most, 1) + step, step)])


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot, with the ends of its intervals."""

    x: float
    y: float
    words: str
    """Its values, which stand beside the pointer."""
    x_ends: Ends = (None, None)
    y_ends: Ends = (None, None)
    label: str = ""
    """Its name, which stands beside it where there is room."""
    above: str = ""
    """A text over the panel, at its place."""
    tone: str = "blue"
    hollow: bool = False
    row: Mapping[str, Any] | None = None
    """Row that it shows."""
    link: str = ""
    """Address of its row's cases, within the page."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Dots on one pair of axes, under a title."""

    title: str
    dots: Sequence[Dot]
    note: str = ""
    joined: bool = False
    """True if a line joins the dots, in their order."""
    stepped: bool = False
    """True if the line keeps its height up to the next dot."""
    fine: bool = False
    """True of many dots, which are small and let others through."""
    row: Mapping[str, Any] | None = None
    """Row of all its cases, to which its note leads."""


@dataclass(frozen=True, slots=True)
class Plots:
    """Panels with the same axes: small multiples."""

    x: Axis
    y: Axis
    panels: Sequence[Panel]
    diagonal: bool = False
    """True if a dashed line joins the corners."""
    wide: bool = False
    """True of a single panel over the page's width."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A straight line; places are in per cent, from the upper left corner."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: str
    """Class in the style sheet."""
    tone: str = "muted"


@dataclass(frozen=True, slots=True)
class Word:
    """A text at a place in per cent, moved by pixels."""

    x: float
    y: float
    text: str
    kind: str
    anchor: str = "middle"
    dx: int = 0
    dy: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A panel as it is drawn."""

    title: str
    note: str
    link: str
    """Address of its cases, within the page."""
    strokes: Sequence[Stroke]
    dots: Sequence[Dot]
    """With their places in per cent."""
    words: Sequence[Word]
    fine: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """Panels as they are drawn, and how many only the table has."""

    across: str
    up: str
    panels: Sequence[Drawn]
    left_out: int
    wide: bool


def _nowhere(_: Mapping[str, Any]) -> str:
    return ""


def draw(plots: Plots, address: Callable[[Mapping[str, Any]], str] = _nowhere) -> Drawing:
    """Lay out a chart; ``address`` gives that of a row's cases."""
    return Drawing(
        across=plots.x.title,
        up=plots.y.title,
        panels=[_drawn(plots, panel, address) for panel in plots.panels[:MOST_PANELS]],
        left_out=max(0, len(plots.panels) - MOST_PANELS),
        wide=plots.wide,
    )


def _drawn(plots: Plots, panel: Panel, address: Callable[[Mapping[str, Any]], str]) -> Drawn:
    x, y = plots.x, plots.y
    dots = [
        replace(
            dot,
            x=x.place(dot.x),
            y=100 - y.place(dot.y),
            link=_link(dot.row, address),
        )
        for dot in panel.dots
    ]
    strokes = [
        *(Stroke(at, 0, at, 100, "grid") for value, _ in x.ticks for at in [x.place(value)]),
        *(Stroke(0, at, 100, at, "grid") for value, _ in y.ticks for at in [100 - y.place(value)]),
        *([Stroke(0, 100, 100, 0, "held")] if plots.diagonal else []),
        *(_line(dots, stepped=panel.stepped) if panel.joined else []),
        *(stroke for dot in panel.dots for stroke in _intervals(dot, x, y)),
    ]
    words = [
        *_ticks(x),
        *(Word(0, 100 - y.place(value), name, "tick", "end", -6, 4) for value, name in y.ticks),
        *_above(dots),
        *_labels(dots),
    ]
    link = _link(panel.row, address)
    return Drawn(panel.title, panel.note, link, strokes, dots, words, panel.fine)


def _link(row: Mapping[str, Any] | None, address: Callable[[Mapping[str, Any]], str]) -> str:
    return "" if row is None else address(row)


_SHORT = 5
"""Letters of a tick that may reach beyond its panel's corner, as ``100 %`` does."""


def _ticks(axis: Axis) -> Iterator[Word]:
    """Ticks under their lines; at the ends of the axis those with long names stay within."""
    for at, (value, name) in enumerate(axis.ticks):
        end = "start" if not at else "end" if at == len(axis.ticks) - 1 else "middle"
        anchor = "middle" if len(name) <= _SHORT else end
        yield Word(axis.place(value), 100, name, "tick", anchor, 0, 16)


def _intervals(dot: Dot, x: Axis, y: Axis) -> Iterator[Stroke]:
    at, up = x.place(dot.x), 100 - y.place(dot.y)
    low, high = dot.x_ends
    if low is not None and high is not None:
        yield Stroke(x.place(low), up, x.place(high), up, "span", dot.tone)
    low, high = dot.y_ends
    if low is not None and high is not None:
        yield Stroke(at, 100 - y.place(low), at, 100 - y.place(high), "span", dot.tone)


def _line(dots: Sequence[Dot], *, stepped: bool) -> Iterator[Stroke]:
    for one, two in pairwise(dots):
        level = one.y if stepped else two.y
        yield Stroke(one.x, one.y, two.x, level, "curve", one.tone)
        if stepped:
            yield Stroke(two.x, one.y, two.x, two.y, "curve", one.tone)


_APART = 12.0
"""Per cent of a panel that a count above it takes."""


def _above(dots: Sequence[Dot]) -> Iterator[Word]:
    """Counts above the panel; one that would lie on its neighbour stands a line higher."""
    last, raised = -100.0, False
    for dot in sorted((one for one in dots if one.above), key=lambda one: one.x):
        raised = dot.x - last < _APART and not raised
        last = dot.x
        yield Word(dot.x, 0, dot.above, "tick", "middle", 0, -23 if raised else -10)


_ROOMS = {"wide": 560.0, "narrow": 260.0}
"""Class of a label, and the narrowest panel in pixels that shows it."""

_HEIGHT = 350.0
"""Pixels of a wide panel's height."""

_LETTER, _LINE = 7.2, 15.0
"""Pixels of a letter and of a line, a little more than most are."""

_SIDES = (("start", 8, -6), ("end", -8, -6), ("start", 8, 16), ("end", -8, 16))
"""Places of a label beside its dot: the anchor, and how it is moved."""

_Box = tuple[float, float, float, float]


def _labels(dots: Sequence[Dot]) -> Iterator[Word]:
    """Names beside their dots, where they lie on no dot and no other name.

    Names that stand apart in a narrow panel stand apart in a wider one: dots move away from each
    other, and names keep their width.
    """
    for kind, width in _ROOMS.items():
        taken = [_box(dot, width, 10, -5, 5, "middle") for dot in dots]
        for at, dot in enumerate(dots):
            for anchor, dx, dy in _SIDES if dot.label else ():
                box = _box(dot, width, len(dot.label) * _LETTER, dy - 12, dy + 3, anchor, dx)
                others = [one for place, one in enumerate(taken) if place != at]
                inside = box[0] >= 0 and box[2] <= width and box[1] >= -_LINE and box[3] <= _HEIGHT
                if inside and not any(_meet(box, one) for one in others):
                    taken.append(box)
                    yield Word(dot.x, dot.y, dot.label, kind, anchor, dx, dy)
                    break


def _box(
    dot: Dot, width: float, length: float, top: float, bottom: float, anchor: str, dx: float = 0
) -> _Box:
    x, y = dot.x * width / 100 + dx, dot.y * _HEIGHT / 100
    left = x - length * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
    return left, y + top, left + length, y + bottom


def _meet(one: _Box, two: _Box) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]
