"""Verdicts: what a figure and its one-sided bounds say of a limit."""

import math
from dataclasses import dataclass
from enum import StrEnum

from casewise.analysis.gate._figures import Figures
from casewise.analysis.gate._rules import GateRule
from casewise.statistics import (
    Bounds,
    Estimate,
    alike_bounds,
    paired_share_bounds,
    share_bounds,
    student_bounds,
)

_ROUND_OFF = 1e-12


class GateVerdict(StrEnum):
    """What a rule comes to."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    """The cases are too few to tell."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict and the bounds that it rests on."""

    verdict: GateVerdict
    bounds: Bounds
    """Of the figure: the value, or the change against the baseline; NaN where there are none."""


def judge(rule: GateRule, figures: Figures) -> Finding:
    """Hold figures to a rule's limit."""
    figure = figures.value if figures.change is None else figures.change
    if not math.isfinite(figure.value):
        return Finding(GateVerdict.UNDECIDED, _NONE)
    if rule.confidence is None:
        kept = rule.good * (figure.value - rule.bar) >= -_ROUND_OFF
        return Finding(GateVerdict.PASS if kept else GateVerdict.FAIL, _NONE)
    bounds = bounds_of(rule, figures, figure, rule.confidence)
    # Turned so that higher is what the rule wants.
    low, high = (bounds.low, bounds.high) if rule.good == 1 else (-bounds.high, -bounds.low)
    bar = rule.good * rule.bar
    if low >= bar - _ROUND_OFF:
        return Finding(GateVerdict.PASS, bounds)
    # Against a baseline, any worsening that is shown fails unless it is shown to be small.
    contrary = high < (0.0 if rule.compares else bar)
    return Finding(GateVerdict.FAIL if contrary else GateVerdict.UNDECIDED, bounds)


def bounds_of(rule: GateRule, figures: Figures, figure: Estimate, confidence: float) -> Bounds:
    """One-sided bounds by the method that fits the figure."""
    if figures.baseline is not None and figure.is_share_change:
        return paired_share_bounds(figure, confidence)
    if figures.baseline is None and not math.isnan(figure.size):
        return share_bounds(figure, confidence)
    if figure.se > 0:
        return student_bounds(figure, confidence)
    return alike_bounds(figure.value, figure.clusters, confidence, rule.ends)


_NONE = Bounds(math.nan, math.nan)
