"""Verdicts of figures by their bounds."""

import math
from dataclasses import dataclass
from enum import StrEnum

from casewise.gate._gate_rules import GateRule
from casewise.gate._rule_figures import Figures
from casewise.statistics import (
    BY_DESIGN,
    Bounds,
    Estimate,
    alike_bounds,
    paired_share_bounds,
    share_bounds,
)

_ROUND_OFF = 1e-12


class GateVerdict(StrEnum):
    """Verdict of a rule."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    """The cases are too few to tell."""


@dataclass(frozen=True, slots=True)
class GateFinding:
    """A verdict and the bounds that it rests on."""

    verdict: GateVerdict
    bounds: Bounds
    """Bounds of the figure: the value, or the change against the baseline; NaN where there are
    none."""


def judge(rule: GateRule, figures: Figures) -> GateFinding:
    """Hold the figures of a run, and of its baseline, to a rule's limit."""
    figure = figures.judged
    if not math.isfinite(figure.value):
        return GateFinding(GateVerdict.UNDECIDED, _NONE)
    if rule.confidence is None or figure.reason == BY_DESIGN:
        kept = rule.good * (figure.value - rule.bar) >= -_ROUND_OFF
        return GateFinding(GateVerdict.PASS if kept else GateVerdict.FAIL, _NONE)
    bounds = bounds_of(rule, figure, rule.confidence)
    # Turned so that higher is what the rule wants.
    low, high = (bounds.low, bounds.high) if rule.good == 1 else (-bounds.high, -bounds.low)
    bar = rule.good * rule.bar
    # Against a baseline, any worsening that is shown fails unless it is shown to be small.
    contrary = high < (0.0 if rule.compares else bar)
    verdict = GateVerdict.FAIL if contrary else GateVerdict.UNDECIDED
    if low >= bar - _ROUND_OFF:
        verdict = GateVerdict.PASS
    return GateFinding(verdict, bounds)


def bounds_of(rule: GateRule, figure: Estimate, confidence: float) -> Bounds:
    """One-sided bounds by the method that fits the figure; NaN where its interval is withheld.

    Where nothing varied, or moved, they are those of queries that are all alike.
    """
    if figure.unavailable:
        return _NONE
    if figure.kind == "share":
        return share_bounds(figure, confidence)
    if figure.kind == "change":
        return paired_share_bounds(figure, confidence)
    if figure.kind == "jackknife" and not figure.se > 0:
        return alike_bounds(figure.value, figure.clusters, confidence, rule.ends)
    return Bounds(*figure.limits(confidence))


_NONE = Bounds(math.nan, math.nan)
