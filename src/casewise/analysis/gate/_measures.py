"""The one table of what a gate can ask of: range, direction, and what a measure needs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from casewise.analysis._acting import ACT_METRICS, ACT_QUADRANTS
from casewise.analysis._measures import METRICS, PAIR_METRICS, QUADRANTS
from casewise.protocols import Delivery


class Kind(StrEnum):
    """Where a measure comes from."""

    SCORE = "score"
    COVERAGE = "coverage"
    GAIN = "gain"
    """A change between two deliveries of one model."""


class Better(StrEnum):
    """Which way a measure improves."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    """Which way is worse depends on what is wanted, so there is no margin to be worse by."""


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
    kind: Kind = Kind.SCORE
    numbers: bool = False
    """Whether it needs probabilities, which verdicts alone don't give."""
    pairs: bool = False
    """Whether it needs both contexts of a query."""
    deliveries: tuple[Delivery, ...] = ()
    """Of gains: the deliveries that are compared."""
    sides: frozenset[Side] = frozenset()
    """What it is a measure of: whatever the cases, a model that only ever makes this kind of
    mistake (says safe to everything, or unsafe) has its worst value."""

    @property
    def judges(self) -> bool:
        """Whether models that judge have it."""
        return self.name in _JUDGED or self.kind is Kind.COVERAGE

    @property
    def acts(self) -> bool:
        """Whether models that reply have it."""
        return self.name in _ACTED or self.kind is not Kind.SCORE


_JUDGED = {*METRICS, *QUADRANTS}
_ACTED = {*ACT_METRICS, *ACT_QUADRANTS}

_LOWER = {"bce", "brier", "ece", "over_refusal", "under_refusal", "inverted", "spoofing_gap"}
_NEITHER = {
    "flip_rate",
    "always_safe",
    "always_unsafe",
    "partial_rate",
    "always_answers",
    "always_refuses",
    "mixed",
    "claim_gain",
}
_CORRELATIONS = {"pcc", "spearman", "within_pcc_safe", "within_pcc_unsafe", "shift_pcc"}
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
_NUMBERS = {*_CORRELATIONS, "bce", "brier", "ece", "rank_accuracy"}
_PAIRS = {*PAIR_METRICS, *QUADRANTS, *ACT_QUADRANTS}


def _better(name: str) -> Better:
    if name in _NEITHER:
        return Better.NEITHER
    return Better.LOWER if name in _LOWER else Better.HIGHER


def _of_score(name: str) -> Measure:
    return Measure(
        name,
        _better(name),
        low=-1.0 if name in _CORRELATIONS else 0.0,
        high=math.inf if name == "bce" else 1.0,
        numbers=name in _NUMBERS,
        pairs=name in _PAIRS,
        sides=frozenset(side for side, names in _SIDES.items() if name in names),
    )


def _gain(name: str, moved: Delivery) -> Measure:
    deliveries = (Delivery.NONE, moved)
    return Measure(name, _better(name), -1.0, 1.0, Kind.GAIN, deliveries=deliveries)


GATE_MEASURES: Mapping[str, Measure] = {
    **{name: _of_score(name) for name in (*METRICS, *QUADRANTS, *ACT_METRICS, *ACT_QUADRANTS)},
    "coverage": Measure("coverage", Better.HIGHER, kind=Kind.COVERAGE),
    "context_gain": _gain("context_gain", Delivery.SYSTEM),
    "claim_gain": _gain("claim_gain", Delivery.CLAIMED),
    "spoofing_gap": _gain("spoofing_gap", Delivery.CLAIMED),
}
"""Every measure by name."""
