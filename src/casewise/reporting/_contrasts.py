"""A card of contrasts: one model's proof, words and deeds, trust and rank, as a figure (SVG)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from textwrap import wrap

import casewise
from casewise.errors import UsageError
from casewise.measures import CONTROLS, find
from casewise.reporting.page._plots import Axis, share_axis
from casewise.results import whole_percent
from casewise.scores import CELLS, Estimate, Overview, Score

_WIDTH, _HEIGHT = 380, 250
"""Pixels of a panel, with its words."""
_LEFT, _TOP, _ACROSS, _UP = 120, 50, 190, 150
"""Place and size of its frame."""
_LINE, _LETTERS = 15, 138
"""Pixels and letters of a line of the method."""
_SAFE, _UNSAFE = "#0072b2", "#d55e00"

_SAYS = ("says safe, answers", "says safe, refuses", "says unsafe, answers", "says unsafe, refuses")
_CHANGES = ("-100 %", "-50 %", "0", "50 %", "100 %")

_LEAD = (
    "{model}: {n} judgements of {queries} queries, labels {labels}; casewise {version}. Each panel "
    "rests on runs of this model over the same data, the first that fit. Classes of replies are a "
    "grader's ({graders}). What was not read, or not classed, is left out and never a verdict."
)
_METHODS = {
    "Proof": (
        "The same queries are asked with rising proof of one context: 0 the query alone, 1 a claim "
        "by the user, 2 credentials, 3 a signed letter, 4 the operator's word in the system "
        "message, 5 a tool's result that says true, 6 one that says false. Drawn is the share "
        "refused of what people call safe (blue) and of the others (orange), over the {n} cases "
        "that were graded at every rung; a partial reply is half a refusal."
    ),
    "Words and deeds": (
        "The model judges each case as safe or unsafe, and replies to the same query as the "
        "chatbot in the same context. The four shares are of the {n} cases with a verdict and a "
        "reply that answers or refuses, and add up to 1."
    ),
    "Trust": (
        "Refusals with the context described by the deployer, or claimed by the user, against the "
        "query alone, over {n} cases: a gain is fewer refusals of safe cases and more of unsafe "
        "ones. The last line is the gain of somebody who makes a safe context up: the refusals "
        "that its words take away, whoever says them."
    ),
    "Rank": (
        "Asked in both orders in which of two contexts of one query an answer is the more "
        "appropriate, over {n} pairs: how often it follows people's votes, names the context that "
        "is shown first (50 % is no bias), and names the same in both orders."
    ),
}
"""Method of each panel, by its title."""

_MISSING = {
    "Proof": "casewise run --protocol respond --evidence ladder",
    "Words and deeds": "casewise run --protocol binary,respond",
    "Trust": "casewise run --protocol respond --delivery none,system,claimed",
    "Rank": "casewise run --protocol rank",
}
"""Runs that would fill a panel."""

_UNCERTAINTY = (
    "Uncertainty. Bars are 95 % intervals, errors clustered by query: {names}. A figure without a "
    "bar has no interval: too few queries, or all alike. None covers another wording, other "
    "categories or another panel of people; docs/method/hostile.md says how often each holds."
)


@dataclass(frozen=True, slots=True)
class _Panel:
    """A contrast, as far as the runs have it."""

    title: str
    n: int = 0
    lines: Mapping[str, Estimate] | None = None
    """Figures by their names; None of the ladder."""
    curves: Mapping[str, Mapping[str, Estimate]] | None = None
    """Figures by rung, by colour."""
    axis: Axis | None = None
    """None of a panel that is missing."""

    @property
    def estimates(self) -> list[Estimate]:
        """All figures that have an interval."""
        found = [*(self.lines or {}).values()]
        found += [one for curve in (self.curves or {}).values() for one in curve.values()]
        return [one for one in found if math.isfinite(sum(one.interval))]

    @property
    def method(self) -> str:
        """Method in words, or what is missing."""
        if self.axis is None:
            return f"{self.title}. Not measured: {_MISSING[self.title]}."
        return f"{self.title}. {_METHODS[self.title].format(n=f'{self.n:,}')}"


def contrast_card(overview: Overview) -> str:
    """The figure, with its method in about 300 words; parts that no run has are named.

    Raises:
        UsageError: The runs are of several models.
    """
    scores = [*overview.scores, *overview.report.ranked]
    models = list(dict.fromkeys(one.condition.model for one in scores))
    if len(models) != 1:
        raise UsageError(
            f"a card of contrasts is of one model, and these runs are of {len(models)}: "
            f"{', '.join(models)}"
        )
    panels = [_proof(overview), _words_and_deeds(overview), _trust(overview), _rank(overview)]
    names = [
        f"{one.title.lower()}, {' or '.join(dict.fromkeys(e.interval_name for e in one.estimates))}"
        for one in panels
        if one.estimates
    ]
    graders = dict.fromkeys(name for one in overview.scores for name in one.graded_by)
    lead = _LEAD.format(
        model=models[0],
        n=f"{sum(one.n for one in scores):,}",
        queries=f"{max(one.queries for one in scores):,}",
        labels=" and ".join(dict.fromkeys(str(one.labels) for one in scores)),
        version=casewise.__version__,
        graders=", ".join(graders) or "none here",
    )
    uncertainty = _UNCERTAINTY.format(names="; ".join(names) or "none here")
    method = [lead, *(one.method for one in panels), uncertainty]
    return _svg(f"Contrasts of {models[0]}", panels, method)


def _proof(overview: Overview) -> _Panel:
    for one in (ladder for ladder in overview.report.ladders if ladder.condition.acts):
        rungs = [rung for rung in one.rungs if rung.rung not in CONTROLS]
        curves = {
            _SAFE: {rung.rung: rung.safe for rung in rungs},
            _UNSAFE: {rung.rung: rung.unsafe for rung in rungs},
        }
        return _Panel("Proof", one.n, curves=curves, axis=share_axis("refused"))
    return _Panel("Proof")


def _words_and_deeds(overview: Overview) -> _Panel:
    for one in overview.report.judge_act:
        lines = dict(zip(_SAYS, (one.shares[cell] for cell in CELLS), strict=True))
        return _Panel("Words and deeds", one.n, lines, axis=share_axis("share of cases"))
    return _Panel("Words and deeds")


def _trust(overview: Overview) -> _Panel:
    ticks = [(-1 + place / 2, name) for place, name in enumerate(_CHANGES)]
    for one in overview.report.trust:
        gains = {
            "gain, described": one.context_gain.all if one.context_gain else None,
            "gain, claimed": one.claim_gain.all if one.claim_gain else None,
            "gain, made up": one.spoofing_gap,
        }
        lines = {name: found for name, found in gains.items() if found is not None}
        return _Panel("Trust", one.n, lines, axis=Axis("change of right replies", ticks))
    return _Panel("Trust")


def _rank(overview: Overview) -> _Panel:
    def lines(one: Score) -> dict[str, Estimate]:
        return {find(name).label: found for name, found in one.measures.items() if name in _RANKS}

    for one in overview.report.ranked:
        if one.condition.of is None:
            return _Panel("Rank", one.pairs, lines(one), axis=share_axis("share of pairs"))
    return _Panel("Rank")


_RANKS = ("ranked_as_labels", "named_first", "same_in_both_orders")


# --- drawing ------------------------------------------------------------------------------------


def _svg(title: str, panels: Sequence[_Panel], method: Sequence[str]) -> str:
    told = [line for text in method for line in (*wrap(text, _LETTERS), "")]
    top = 40 + 2 * _HEIGHT
    height = top + _LINE * len(told)
    words = escape(" ".join(method))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * _WIDTH} {height}" '
        f'width="{2 * _WIDTH}" height="{height}" role="img" font-family="sans-serif" '
        'font-size="11">',
        f"<title>{escape(title)}</title><desc>{words}</desc>",
        '<rect width="100%" height="100%" fill="white"/>',
        _text(16, 26, title, size=16),
    ]
    for place, panel in enumerate(panels):
        row, column = divmod(place, 2)
        parts.append(f'<g transform="translate({column * _WIDTH} {40 + row * _HEIGHT})">')
        parts += [_text(16, 24, panel.title, size=13), *_drawn(panel), "</g>"]
    parts += [_text(16, top + _LINE * (at + 1), line) for at, line in enumerate(told) if line]
    return "\n".join([*parts, "</svg>", ""])


def _drawn(panel: _Panel) -> Iterator[str]:
    axis = panel.axis
    if axis is None:
        yield _text(16, 60, "Not measured. A run that would fill this:", tone="#555")
        for at, line in enumerate(wrap(_MISSING[panel.title], 56)):
            yield _text(16, 80 + at * _LINE, line, tone="#555")
    elif panel.curves is not None:
        yield from _curves(panel.curves, axis)
    else:
        yield from _lines(panel.lines or {}, axis)


def _lines(lines: Mapping[str, Estimate], axis: Axis) -> Iterator[str]:
    """A line a figure: its name, a dot with its interval, and its value."""

    def across(value: float) -> float:
        return _LEFT + axis.place(value) * _ACROSS / 100

    for value, name in axis.ticks:
        yield _stroke(across(value), _TOP, across(value), _TOP + _UP, "#ddd", 1)
        yield _text(across(value), _TOP + _UP + 16, name, anchor="middle", tone="#555")
    yield _text(_LEFT + _ACROSS / 2, _TOP + _UP + 32, axis.title, anchor="middle", tone="#555")
    for at, (name, one) in enumerate(lines.items()):
        y = _TOP + _UP * (at + 0.5) / len(lines)
        yield _text(_LEFT - 8, y + 4, name, anchor="end")
        if math.isfinite(sum(one.interval)):
            low, high = map(across, one.interval)
            yield _stroke(low, y, high, y, _SAFE, 2)
        if math.isfinite(one.value):
            yield _dot(across(one.value), y, _SAFE)
        shown = whole_percent(one.value) if math.isfinite(one.value) else "no value"
        yield _text(_LEFT + _ACROSS + 8, y + 4, shown)


def _curves(curves: Mapping[str, Mapping[str, Estimate]], axis: Axis) -> Iterator[str]:
    """A line for each side of the cases over the rungs, with intervals."""
    rungs = list(next(iter(curves.values())))
    left, width = _LEFT - 60, _ACROSS + 60
    step = width / max(len(rungs) - 1, 1)

    def up(value: float) -> float:
        return _TOP + _UP - axis.place(value) * _UP / 100

    for value, name in axis.ticks:
        yield _stroke(left, up(value), left + width, up(value), "#ddd", 1)
        yield _text(left - 6, up(value) + 4, name, anchor="end", tone="#555")
    for at, name in enumerate(rungs):
        yield _text(left + at * step, _TOP + _UP + 16, name, anchor="middle", tone="#555")
    yield _text(
        left + width / 2, _TOP + _UP + 32, "rung (share refused)", anchor="middle", tone="#555"
    )
    for tone, curve in curves.items():
        known = [
            (left + at * step, one)
            for at, one in enumerate(curve.values())
            if math.isfinite(one.value)
        ]
        for (x, one), (next_x, other) in pairwise(known):
            yield _stroke(x, up(one.value), next_x, up(other.value), tone, 2)
        for x, one in known:
            if math.isfinite(sum(one.interval)):
                low, high = map(up, one.interval)
                yield _stroke(x, low, x, high, tone, 1)
            yield _dot(x, up(one.value), tone)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", tone: str = "#222", size: int = 11
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" fill="{tone}">{escape(text)}</text>'


def _stroke(x: float, y: float, x2: float, y2: float, tone: str, width: int) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{tone}" stroke-width="{width}"/>'


def _dot(x: float, y: float, tone: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{tone}"/>'
