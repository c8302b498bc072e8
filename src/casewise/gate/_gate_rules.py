"""Parts of a rule: measures, demands, limits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from casewise.cases import LabelRule
from casewise.choices import ACT_METRICS, METRICS, PAIR_METRICS, SEEN_METRICS, WITHIN_METRICS
from casewise.errors import InputError
from casewise.protocols import Delivery
from casewise.scores import ACT_QUADRANTS, QUADRANTS, CheckFile


class MeasureSource(StrEnum):
    """Source of a measure."""

    SCORE = "score"
    COVERAGE = "coverage"
    GAIN = "gain"
    """A change between two deliveries of one model."""
    MASS = "mass"
    """Mass of a first token's distribution on the two words."""


class Better(StrEnum):
    """Direction in which a measure improves."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    """Neither: the worse direction depends on what is wanted, so there is no margin to be worse
    by."""


class Side(StrEnum):
    """A kind of mistake that a gate must have judged before it passes a model."""

    SAFETY = "safety"
    """Calling safe, or answering, what is unsafe."""
    CAUTION = "over-caution"
    """Calling unsafe, or refusing, what is safe."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that a rule may hold to a limit."""

    name: str
    better: Better
    low: float = 0.0
    """The least value there is."""
    high: float = 1.0
    """The greatest; infinite where there is none."""
    kind: MeasureSource = MeasureSource.SCORE
    numbers: bool = False
    """True if it needs probabilities, which verdicts alone don't give."""
    pairs: str = ""
    """Pairs of cases of one query that it needs, as ``Answers`` names them: ``pairs``, ``contexts``
    or ``seen``; empty if none."""
    deliveries: tuple[Delivery, ...] = ()
    """Deliveries that a gain compares."""
    sides: frozenset[Side] = frozenset()
    """Sides that it measures: whatever the cases, a model that only ever makes this kind of mistake
    (says safe to everything, or unsafe) has its worst value."""

    @property
    def judges(self) -> bool:
        """Tell whether models that judge have it."""
        return self.name in _JUDGED or self.kind in (MeasureSource.COVERAGE, MeasureSource.MASS)

    @property
    def acts(self) -> bool:
        """Tell whether models that reply have it."""
        return self.name in _ACTED or self.kind in (MeasureSource.COVERAGE, MeasureSource.GAIN)


_LOWER = {
    *("bce", "brier", "ece", "over_refusal", "under_refusal", "inverted", "spoofing_gap"),
    *("missed_flips", "extra_flips", "seen_missed_flips", "seen_extra_flips"),
}
_NEITHER = {
    "flip_rate",
    "always_safe",
    "always_unsafe",
    "partial_rate",
    "always_answers",
    "always_refuses",
    "mixed",
    "claim_gain",
    "verdict_share",
    "model_flips",
    "seen_change",
    "seen_flips",
}
_CORRELATIONS = {
    *("pcc", "spearman", "within_pcc_safe", "within_pcc_unsafe", "shift_pcc"),
    *("pcc_within_query", "pcc_between_queries", "seen_shift_pcc"),
}
_SIDES = {
    Side.SAFETY: {
        *("unsafe_recall", "f1_unsafe", "flip_recall", "adapts", "always_safe"),
        *("under_refusal", "always_answers"),
    },
    Side.CAUTION: {
        *("safe_recall", "f1_safe", "flip_recall", "adapts", "always_unsafe"),
        *("over_refusal", "always_refuses"),
    },
}
_NUMBERS = {*_CORRELATIONS, "bce", "brier", "ece", "rank_accuracy", "rank_agreement"}
_PAIRS = {
    **dict.fromkeys((*PAIR_METRICS, *QUADRANTS, *ACT_QUADRANTS), "pairs"),
    **dict.fromkeys(WITHIN_METRICS, "contexts"),
    **dict.fromkeys(SEEN_METRICS, "seen"),
}
_OF_CONTEXTS = (*WITHIN_METRICS, *SEEN_METRICS)
_JUDGED = {*METRICS, *QUADRANTS, *_OF_CONTEXTS}
_ACTED = {*ACT_METRICS, *ACT_QUADRANTS, *_OF_CONTEXTS} - _NUMBERS


def _better(name: str) -> Better:
    if name in _NEITHER:
        return Better.NEITHER
    return Better.LOWER if name in _LOWER else Better.HIGHER


def _of_score(name: str) -> Measure:
    return Measure(
        name,
        _better(name),
        low=-1.0 if name in _CORRELATIONS or name == "seen_change" else 0.0,
        high=math.inf if name == "bce" else 1.0,
        numbers=name in _NUMBERS,
        pairs=_PAIRS.get(name, ""),
        sides=frozenset(side for side, names in _SIDES.items() if name in names),
    )


def _gain(name: str, moved: Delivery) -> Measure:
    deliveries = (Delivery.NONE, moved)
    return Measure(name, _better(name), -1.0, 1.0, MeasureSource.GAIN, deliveries=deliveries)


GATE_MEASURES: Mapping[str, Measure] = {
    **{
        name: _of_score(name)
        for name in (*METRICS, *QUADRANTS, *ACT_METRICS, *ACT_QUADRANTS, *_OF_CONTEXTS)
    },
    "coverage": Measure("coverage", Better.HIGHER, kind=MeasureSource.COVERAGE),
    "mass": Measure("mass", Better.HIGHER, kind=MeasureSource.MASS),
    "context_gain": _gain("context_gain", Delivery.SYSTEM),
    "claim_gain": _gain("claim_gain", Delivery.CLAIMED),
    "spoofing_gap": _gain("spoofing_gap", Delivery.CLAIMED),
}
"""Every measure by name."""

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
    def sides(self) -> frozenset[Side]:
        """The kinds of mistake that it keeps in bounds."""
        return self.measure.sides if self.binds else frozenset()

    @property
    def allows_gaps(self) -> bool:
        """Tell if it says how much of a run may be missing: a least coverage of all its cases."""
        of_all = not any(column in CASE_COLUMNS for column, _ in self.where)
        return self.measure.kind is MeasureSource.COVERAGE and self.binds and of_all

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
    return measure.low, measure.high if math.isfinite(measure.high) else math.inf
