"""The shape of every analysis, their records, and the list of what makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from casewise.protocols import RunCondition
from casewise.sheets import IntervalEstimate

if TYPE_CHECKING:
    from casewise.results.score import Scores


class Figure(IntervalEstimate, Protocol):
    """A value, its 95 % interval, and why that is withheld: an ``Estimate``, or a curve's point."""

    @property
    def p(self) -> float:
        """The p-value of the value being 0; NaN of what is no difference."""

    @property
    def reason(self) -> str:
        """Why there is no interval; empty where there is."""


@dataclass(frozen=True, slots=True)
class Line:
    """Figures of a run, or of one part of it."""

    run: RunCondition
    part: str
    """What the figures are of, within the run: a removed parameter, a rung, a turn; else empty."""
    n: int | None
    """Answers under the figures; None where their number differs."""
    figures: Mapping[str, Figure]
    """By the name of a measure, or in words."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question, and the figures that answer it."""

    id: str
    """Name for programs and in addresses."""
    title: str
    """A few words."""
    question: str
    lines: Sequence[Line]
    """In the order of the runs; those of one run stand together."""
    text: str = ""
    """How to read the figures, in a sentence or two."""
    shown: Sequence[str] = ()
    """Figures that a reader is shown, in this order; empty is all."""
    is_change: bool = False
    """True if figures are differences, with a sign."""
    notes: Sequence[str] = ()
    """Sentences on single runs."""

    @property
    def columns(self) -> list[str]:
        """Names of the figures that a reader is shown."""
        names = dict.fromkeys(name for line in self.lines for name in line.figures)
        return [name for name in self.shown if name in names] or list(names)


ANALYSES: dict[str, Callable[[Scores], Analysis]] = {}
"""Functions that make an analysis each, by the id of what they make; ``casewise.analyses`` holds
them, and lists them when it is imported."""


def analysis(make: Callable[[Scores], Analysis]) -> Callable[[Scores], Analysis]:
    """Register a function that makes an analysis, under its name with hyphens."""
    ANALYSES[make.__name__.replace("_", "-")] = make
    return make


def line_records(analysis: Analysis, line: Line) -> list[dict[str, Any]]:
    """JSON objects of one line, a figure each; those that no reader is shown are among them."""
    return [
        {
            "analysis": analysis.id,
            "run": line.run.title,
            "part": line.part,
            "measure": name,
            "n": line.n,
            "value": figure.value,
            "ci": figure.interval,
            "p": figure.p,
            "withheld": figure.reason,
        }
        for name, figure in line.figures.items()
    ]
