"""The shape of every analysis, what they are made from, and their records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from casewise.judgements import ANSWER_KEYS
from casewise.protocols import RunCondition
from casewise.results import Scores
from casewise.sheets import json_interval, json_number


class Figure(Protocol):
    """A value, its 95 % interval, and why that is withheld: an ``Estimate``, or a curve's point."""

    @property
    def value(self) -> float:
        """The value; NaN where it is undefined."""

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends; NaN where there are none."""

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
        there = dict.fromkeys(name for line in self.lines for name in line.figures)
        return [name for name in self.shown if name in there] or list(there)


Run = tuple[RunCondition, pl.DataFrame]


def beside(scores: Scores, field: str) -> Iterator[tuple[Run, list[Run]]]:
    """Yield each run beside those that differ from it in one field alone.

    A changed run stands beside the one with which it shares most judgements, if any.

    Args:
        scores: Scores of a table.
        field: Of the condition: ``ablation``, ``swap`` or ``variation``.
    """
    families: dict[RunCondition, list[Run]] = {}
    for run in scores.runs:
        families.setdefault(run[0].same_but(field), []).append(run)
    for family in families.values():
        whole = [run for run in family if not getattr(run[0], field)]
        found: list[list[Run]] = [[] for _ in whole]
        for run in family if whole else ():
            shared = [len(one[1].join(run[1], on=ANSWER_KEYS, how="semi")) for one in whole]
            if getattr(run[0], field) and any(shared):
                found[int(np.argmax(shared))].append(run)
        yield from (both for both in zip(whole, found, strict=True) if both[1])


Maker = Callable[[Scores], Analysis]
ANALYSES: dict[str, Maker] = {}
"""Functions that make an analysis each, by the id of what they make."""


def analysis(make: Maker) -> Maker:
    """Register a function that makes an analysis, under its name with hyphens."""
    ANALYSES[make.__name__.replace("_", "-")] = make
    return make


def as_records(one: Analysis) -> list[dict[str, Any]]:
    """A JSON object a figure, those that no reader is shown among them."""
    return [record for line in one.lines for record in line_records(one, line)]


def line_records(one: Analysis, line: Line) -> list[dict[str, Any]]:
    """The objects of one line."""
    return [
        {
            "analysis": one.id,
            "run": line.run.title,
            "part": line.part,
            "measure": name,
            "n": line.n,
            "value": json_number(figure.value),
            "ci": json_interval(figure.interval),
            "p": json_number(figure.p),
            "withheld": figure.reason,
        }
        for name, figure in line.figures.items()
    ]
