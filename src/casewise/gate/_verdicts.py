"""Verdicts of figures by their bounds, and the number of cases that would decide a rule."""

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from casewise.gate._gate_rules import GateRule
from casewise.gate._rule_figures import Figures
from casewise.statistics import (
    BY_DESIGN,
    MOST_SIZE,
    Bounds,
    Estimate,
    Level,
    alike_bounds,
    drawn_bounds,
    find_steps,
    noninferiority_power,
    paired_share_bounds,
    share_bounds,
    smallest_size,
    student_bounds,
    whole,
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
    fails_beyond: float = math.nan
    """The bound that a fail rests on; NaN where there is none."""


def judge(rule: GateRule, figures: Figures, sure: float = 0.0) -> GateFinding:
    """Hold figures to a rule's limit.

    Args:
        rule: The rule.
        figures: What the run and its baseline show.
        sure: Confidence that a fail needs at least; below it, the verdict is undecided.
    """
    figure = figures.judged
    if not math.isfinite(figure.value):
        return GateFinding(GateVerdict.UNDECIDED, _NONE)
    if rule.confidence is None or figure.reason == BY_DESIGN:
        kept = rule.good * (figure.value - rule.bar) >= -_ROUND_OFF
        return GateFinding(GateVerdict.PASS if kept else GateVerdict.FAIL, _NONE)
    bounds = bounds_of(rule, figures, figure, rule.confidence)
    wide = bounds if sure <= rule.confidence else bounds_of(rule, figures, figure, sure)
    # Turned so that higher is what the rule wants.
    low, high = (bounds.low, wide.high) if rule.good == 1 else (-bounds.high, -wide.low)
    bar = rule.good * rule.bar
    # Against a baseline, any worsening that is shown fails unless it is shown to be small.
    contrary = high < (0.0 if rule.compares else bar)
    verdict = GateVerdict.FAIL if contrary else GateVerdict.UNDECIDED
    if low >= bar - _ROUND_OFF:
        verdict = GateVerdict.PASS
    return GateFinding(verdict, bounds, rule.good * high)


def bounds_of(rule: GateRule, figures: Figures, figure: Estimate, confidence: float) -> Bounds:
    """One-sided bounds by the method that fits the figure; NaN where its interval is withheld."""
    if figure.reason:
        return _NONE
    if figure.scale == "drawn":
        return drawn_bounds(figure, confidence)
    if figures.baseline is not None and figure.is_share_change:
        return paired_share_bounds(figure, confidence)
    if figures.baseline is None and not math.isnan(figure.size):
        return share_bounds(figure, confidence)
    if figure.se > 0:
        return student_bounds(figure, confidence)
    return alike_bounds(figure.value, figure.clusters, confidence, rule.ends)


_NONE = Bounds(math.nan, math.nan)

POWER = 0.8
"""Chance that the named number of cases decides."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Cases with which ``POWER`` of runs would be decided."""

    queries: int
    """Queries that count in the measure."""
    cases: int
    """Judgements of a run, at its number of judgements a query."""
    equal: bool
    """True if the model is assumed equal to its baseline, False if as it was seen."""
    passes: bool
    """True if the rule would pass, False if it would fail."""
    power: float = POWER


def cases_needed(rule: GateRule, figures: Figures) -> Needed | None:
    """Cases that would decide an undecided rule; None where no number does, or none can be told.

    Against a baseline, as many as pass an equal model, as ``casewise power`` names them. If the
    run has these already, and for limits: as many as decide if the figure is the true one. For
    rates corrected for the grader's errors, which mostly lack labels, None.
    """
    figure = figures.judged
    is_drawn = figure.scale == "drawn"
    if is_drawn or figure.reason or rule.confidence is None or not figure.clusters:
        return None
    if not math.isfinite(figure.value):
        return None
    level = Level(1 - rule.confidence, two_sided=False)
    if not rule.compares:
        distance = rule.good * (figure.value - rule.bar)
        size = _for_limit(rule, figures, abs(distance), level)
        return _needed(figures, figure, size, equal=False, passes=distance > 0)
    size = _for_margin(rule, figure, rule.limit, level)
    if not size <= figure.clusters:
        return _needed(figures, figure, size, equal=True, passes=True)
    room = rule.limit + rule.good * figure.value
    if room > 0:
        size = _for_margin(rule, figure, room, level)
    elif figure.se > 0:
        size = _plain(figure, abs(figure.value), level)
    else:
        size = _alike(abs(figure.value) / (rule.ends[1] + abs(figure.value)), level)
    return _needed(figures, figure, size, equal=False, passes=room > 0)


def _needed(
    figures: Figures, figure: Estimate, size: float, *, equal: bool, passes: bool
) -> Needed | None:
    if not size <= MOST_SIZE:
        return None
    # What was seen leaves the rule open, so it takes at least one query more.
    queries = max(whole(size), figure.clusters + 1)
    cases = math.ceil(queries * figures.n / figure.clusters)
    return Needed(queries, cases, equal, passes)


def _for_margin(rule: GateRule, figure: Estimate, margin: float, level: Level) -> float:
    """Queries that show an equal model to be within a margin."""
    steps = find_steps(figure)
    if steps is None:
        return _alike(margin / rule.ends[1], level)
    if not figure.is_share_change:
        return _plain(figure, margin, level)
    variance = steps.length**2 * (steps.down + steps.up)
    return smallest_size(
        lambda n: noninferiority_power(margin, n, variance, steps.length, level), POWER
    )


def _for_limit(rule: GateRule, figures: Figures, distance: float, level: Level) -> float:
    """Queries that show a value to be on its side of a limit, at a distance from it."""
    figure = figures.value
    if not distance:
        return math.inf
    if math.isnan(figure.size):
        if figure.se > 0:
            return _plain(figure, distance, level)
        low, high = rule.ends
        room = high - figure.value if figure.value < rule.bar else figure.value - low
        return _alike(distance / room, level)
    rows = limit_size(figure.value, rule.bar, level)
    return rows * figure.clusters / figure.effective_size


def _plain(figure: Estimate, distance: float, level: Level) -> float:
    """Queries that show a distance from 0, by the normal distribution and the error seen."""
    shift = level.critical + NormalDist().inv_cdf(POWER)
    return figure.clusters * (shift * figure.se / distance) ** 2


def _alike(share: float, level: Level) -> float:
    """Number of queries, all alike, that shows the share of other ones to be below a given one."""
    if not 0 < share < 1:
        return math.inf if share <= 0 else 2.0
    return math.log(level.alpha) / math.log(1 - share)


def limit_size(value: float, limit: float, level: Level) -> float:
    """Independent rows that tell a proportion from a limit.

    By the normal distribution with the errors at the limit and at the value, corrected for
    counting in whole numbers (Fleiss, Levin & Paik 2003, Statistical Methods for Rates and
    Proportions, chapter 2); exact where all rows are alike.
    """
    distance = abs(value - limit)
    if value in (0, 1):
        return _alike(distance, level)
    at_limit, at_value = limit * (1 - limit), value * (1 - value)
    errors = level.critical * math.sqrt(at_limit)
    errors += NormalDist().inv_cdf(POWER) * math.sqrt(at_value)
    rows = (errors / distance) ** 2
    return rows / 4 * (1 + math.sqrt(1 + 2 / (rows * distance))) ** 2
