"""Parts of a rule: measures, demands, limits."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from casewise.cases import LabelRule
from casewise.choices import Better, Measure, Origin, Side, WeighBy
from casewise.errors import InputError
from casewise.replies import CheckFile

CONFIDENCE = 0.95
"""The default: how sure a one-sided bound is."""

CASE_COLUMNS = ("category", "intended")
"""The columns of the judgement table that ``where`` may choose by: whole conditions, and cases."""


class Demand(StrEnum):
    """Kind of limit on a measure."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    WORSE_BY_AT_MOST = "worse_by_at_most"
    """Against the baseline: not worse by more than the limit."""


class When(StrEnum):
    """Condition on which a rule holds; left out, always."""

    ALWAYS = "always"
    BASELINE = "baseline"
    """A baseline is given."""
    NO_BASELINE = "no_baseline"
    """No baseline is given."""


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
    """Limit in the unit of the measure."""
    confidence: float | None
    """Confidence of each one-sided bound, above .5 and below 1; None compares the value alone."""
    where: Where = ()
    labels: LabelRule | None = None
    """None takes each condition's default, as ``casewise score`` does."""
    when: When = When.ALWAYS
    weigh_by: WeighBy = WeighBy.QUERY
    """Unit that weighs alike in figures of pairs."""

    @property
    def compares(self) -> bool:
        """Tell whether it needs a baseline."""
        return self.demand is Demand.WORSE_BY_AT_MOST

    @property
    def good(self) -> int:
        """1 where a higher figure is what the rule wants, -1 where a lower one is."""
        if self.compares:
            return -1 if self.measure.better is Better.LOWER else 1
        return 1 if self.demand is Demand.AT_LEAST else -1

    @property
    def binds(self) -> bool:
        """Tell if it keeps the measure from its worst value: not a limit that all values keep."""
        low, high = self.measure.low, self.measure.high
        if self.compares:
            return self.limit < high - low
        if self.demand is Demand.AT_LEAST:
            return self.measure.better is Better.HIGHER and self.limit > low
        return self.measure.better is not Better.HIGHER and self.limit < high

    @property
    def sides(self) -> tuple[Side, ...]:
        """The kinds of mistake that it keeps in bounds."""
        return self.measure.sides if self.binds else ()

    @property
    def allows_gaps(self) -> bool:
        """Tell if it says how much of a run may be missing: a least coverage of all its cases."""
        of_all = not any(column in CASE_COLUMNS for column, _ in self.where)
        return self.measure.origin is Origin.COVERAGE and self.binds and of_all

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the figure that is held to the limit."""
        low, high = self.measure.low, self.measure.high
        return (low - high, high - low) if self.compares else (low, high)

    @property
    def bar(self) -> float:
        """Bar that the figure must not be on the wrong side of."""
        return -self.good * self.limit if self.compares else self.limit


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The rules of a gate, and the file that they come from."""

    rules: tuple[GateRule, ...]
    file: Path | None = None
    skips: bool = False
    """True if rules about measures that no protocol of the run has are left out."""
    checks: tuple[CheckFile, ...] = ()
    """Labelled replies, to correct the rates of replies by."""

    def fault(self, rule: GateRule, problem: str, **about: Any) -> InputError:
        """The refusal of a rule; ``about`` may have ``field``, ``found`` and ``expected``."""
        return InputError(problem, file=self.file, record=f"rule {rule.number}", **about)


def is_reachable(measure: Measure, demand: Demand, limit: float) -> bool:
    """Tell whether a bound from a sample could ever pass: not at the end of the range."""
    if demand is Demand.WORSE_BY_AT_MOST:
        return limit > 0
    return limit > measure.low if demand is Demand.AT_MOST else limit < measure.high


def limit_ends(measure: Measure, demand: Demand) -> tuple[float, float]:
    """The limits that make sense."""
    if demand is Demand.WORSE_BY_AT_MOST:
        return 0.0, measure.high - measure.low
    return measure.low, measure.high
