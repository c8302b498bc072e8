"""What a gate asks for."""

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from casewise.analysis.gate._measures import Better, Kind, Measure, Side
from casewise.cases import LabelRule

CONFIDENCE = 0.95
"""The default: how sure a one-sided bound is."""

CONDITION_COLUMNS = ("model", "protocol", "delivery", "ablation", "variant", "prompt_version")
CASE_COLUMNS = ("category", "intended")
"""The columns of the judgement table that ``where`` may choose by: whole conditions, and cases."""


class Demand(StrEnum):
    """How a measure is held to a limit."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    WORSE_BY_AT_MOST = "worse_by_at_most"
    """Against the baseline: not worse by more than the limit."""


Where = tuple[tuple[str, tuple[str | None, ...]], ...]
"""Columns, and the values that each may have; a value may hold ``*``, and None is no value."""


@dataclass(frozen=True, slots=True)
class GateRule:
    """One rule of a gate."""

    number: int
    """Its place in the file, from 1."""
    measure: Measure
    demand: Demand
    limit: float
    """In the unit of the measure."""
    confidence: float | None
    """Of each one-sided bound, above .5 and below 1; None compares the value alone."""
    where: Where = ()
    labels: LabelRule | None = None
    """None takes each condition's default, as ``casewise score`` does."""

    @property
    def compares(self) -> bool:
        """Whether it needs a baseline."""
        return self.demand is Demand.WORSE_BY_AT_MOST

    @property
    def good(self) -> int:
        """1 where a higher figure is what the rule wants, -1 where a lower one is."""
        if self.compares:
            return -1 if self.measure.better is Better.LOWER else 1
        return 1 if self.demand is Demand.AT_LEAST else -1

    @property
    def binds(self) -> bool:
        """Whether it keeps the measure from its worst value: not a limit that all values keep."""
        low, high = self.measure.low, self.measure.high
        if self.compares:
            return self.limit < high - low
        if self.demand is Demand.AT_LEAST:
            return self.measure.better is Better.HIGHER and self.limit > low
        return self.measure.better is not Better.HIGHER and self.limit < high

    @property
    def sides(self) -> frozenset[Side]:
        """The kinds of mistake that it keeps in bounds."""
        return self.measure.sides if self.binds else frozenset()

    @property
    def allows_gaps(self) -> bool:
        """Whether it says how much of a run may be missing: a least coverage of all its cases."""
        of_all = not any(column in CASE_COLUMNS for column, _ in self.where)
        return self.measure.kind is Kind.COVERAGE and self.binds and of_all

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the figure that is held to the limit."""
        low, high = self.measure.low, self.measure.high
        return (low - high, high - low) if self.compares else (low, high)

    @property
    def bar(self) -> float:
        """What the figure must not be on the wrong side of."""
        return -self.good * self.limit if self.compares else self.limit


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The rules of a gate, and the file that they come from."""

    rules: tuple[GateRule, ...]
    file: Path | None = None
    skips: bool = False
    """Whether rules about measures that no protocol of the run has are left out."""
    shipped: bool = False
    """Whether it is the default: then rules that need a baseline are left out without one."""


def is_reachable(measure: Measure, demand: Demand, limit: float) -> bool:
    """Whether a bound from a sample could ever pass: not at the end of the range."""
    if demand is Demand.WORSE_BY_AT_MOST:
        return limit > 0
    return limit > measure.low if demand is Demand.AT_MOST else limit < measure.high


def limit_ends(measure: Measure, demand: Demand) -> tuple[float, float]:
    """The limits that make sense."""
    if demand is Demand.WORSE_BY_AT_MOST:
        return 0.0, measure.high - measure.low
    return measure.low, measure.high if math.isfinite(measure.high) else math.inf
