"""Bounds on one side with a stated confidence, and the power to show non-inferiority by them."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from casewise.statistics._power import Level, normal_power

if TYPE_CHECKING:
    from casewise.statistics._clustered import Estimate


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two one-sided bounds; each alone has the confidence. NaN is undefined."""

    low: float
    high: float


def student_bounds(one: "Estimate", confidence: float) -> Bounds:
    """Bounds of any figure by Student's t, on the scale of its interval and by the same error.

    At most a degree of freedom fewer than clusters. NaN without a spread (use ``alike_bounds``
    there), and where the interval is withheld.
    """
    if not one.se > 0 or one.reason:
        return Bounds(math.nan, math.nan)
    from scipy.special import stdtrit

    degrees = min(one.degrees, one.clusters - 1)
    return Bounds(*one.ends(float(stdtrit(degrees, confidence))))


def drawn_bounds(one: "Estimate", confidence: float) -> Bounds:
    """Bounds of a figure that was drawn: what so many of its draws lie above, and below."""
    low, high = np.quantile(one.replicates, [1 - confidence, confidence])
    return Bounds(float(low), float(high))


def alike_bounds(
    value: float, clusters: int, confidence: float, ends: tuple[float, float]
) -> Bounds:
    """Bounds where all clusters are alike, and so show no spread.

    With the confidence, at most ``1 - (1 - confidence)^(1 / clusters)`` of clusters are not like
    those seen (at 95 % some 3 in the number seen: the rule of three, Hanley & Lippman-Hand 1983,
    doi:10.1001/jama.1983.03330370053031). They may lie at either end of the range. Exact for
    means over clusters of one weight, a rule of thumb for correlations and F1.

    Args:
        value: What all show.
        clusters: How many, 0 and up.
        confidence: In 0..1.
        ends: The range of the figure.
    """
    if not clusters or not math.isfinite(value):
        return Bounds(math.nan, math.nan)
    unlike = 1 - (1 - confidence) ** (1 / clusters)
    return Bounds(value - unlike * (value - ends[0]), value + unlike * (ends[1] - value))


def share_bounds(one: "Estimate", confidence: float) -> Bounds:
    """Exact bounds of a proportion (Clopper & Pearson 1934) on its effective size.

    Korn & Graubard (1998), Survey Methodology 24: the rows that, if independent, would have the
    clustered error, fewer by Student's t for few clusters. Wilson's interval is on average right
    and too short near 0 and 1, where one bound of it misses more often than it says.
    """
    size = one.effective_size
    if not size > 0 or not math.isfinite(one.value):
        return Bounds(math.nan, math.nan)
    from scipy.special import ndtri

    if one.se > 0:
        size *= (float(ndtri(confidence)) / _student(one.clusters, confidence)) ** 2
    return beta_bounds(min(one.value, 1.0) * size, size, confidence)


def beta_bounds(hits: float, size: float, confidence: float) -> Bounds:
    """Exact bounds of a proportion (Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404).

    Args:
        hits: Events, 0 to ``size``; need not be whole.
        size: Independent units, above 0; need not be whole.
        confidence: Of each bound, in 0..1.
    """
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import betaincinv

    misses = size - hits
    low = float(betaincinv(hits, misses + 1, 1 - confidence)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, misses, confidence)) if misses > 0 else 1.0
    return Bounds(low, high)


@dataclass(frozen=True, slots=True)
class Steps:
    """A paired difference of proportions as clusters that go a step down, up, or none."""

    length: float
    """How far a cluster moves if it moves, above 0; 1 is from all wrong to all right."""
    down: float
    """Share of clusters that go down, 0..1."""
    up: float
    """Share that go up."""


def find_steps(difference: "Estimate") -> Steps | None:
    """Steps that have the mean and the variance of a difference; None without a spread.

    The length is the mean square over the mean size of what clusters moved by: 1 where queries
    have a case each, a half where one of two cases flips.
    """
    if not difference.se > 0:
        return None
    clusters, value = difference.clusters, difference.value
    influence = difference.influence
    # A cluster that did not move has the influence of the mean alone, one without rows has none.
    moved = np.where(influence == 0, 0.0, clusters * influence + value)
    length = float((moved**2).sum() / np.abs(moved).sum())
    square = clusters * difference.se**2 + value**2
    active = min(1.0, max(square / length**2, abs(value) / length))
    shift = value / length
    return Steps(length, (active - shift) / 2, (active + shift) / 2)


def paired_share_bounds(difference: "Estimate", confidence: float) -> Bounds:
    """Bounds of a paired difference of proportions, clustered.

    The score bound of Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>
    3.0.CO;2-B, with clusters in place of cases (``find_steps``): the variance is the one that the
    bound itself would have, so that a few lucky clusters don't make a small error. Against
    Student's t it is the wider of the two; where nothing moved, ``alike_bounds``.

    Args:
        difference: Of two proportions over one denominator; not settled.
        confidence: In 0..1.
    """
    steps = find_steps(difference)
    if steps is None:
        return alike_bounds(difference.value, difference.clusters, confidence, (-1.0, 1.0))
    mirrored = replace(steps, down=steps.up, up=steps.down)
    critical = _student(difference.clusters, confidence)
    low = _score_bound(steps, difference.clusters, critical)
    high = -_score_bound(mirrored, difference.clusters, critical)
    plain = student_bounds(difference, confidence)
    return Bounds(min(low, plain.low), max(high, plain.high))


def _score_bound(steps: Steps, clusters: int, critical: float) -> float:
    """The lowest difference that lies within ``critical`` errors of its own of the one seen."""
    from scipy.optimize import brentq

    shift = steps.up - steps.down

    def excess(other: float) -> float:
        variance = null_variance(steps.down, steps.up, other)
        return (shift - other) ** 2 * clusters - critical**2 * variance

    # Just below what was seen: there the two differ by nothing, which is no bound.
    seen = shift - 1e-9
    if seen <= -1 or excess(seen) >= 0:
        return shift * steps.length
    return float(brentq(excess, -1.0, seen, xtol=1e-12)) * steps.length


def _student(clusters: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, confidence))


def null_variance(down: float, up: float, shift: float) -> float:
    """Variance of a move (-1, 0 or 1) whose mean is ``shift``, most likely for the shares seen.

    Tango (1998), Statistics in Medicine 17, 891-908: the maximum of the likelihood under a given
    difference of paired proportions, in closed form. At least ``|shift| - shift^2``, which is the
    variance if all moves go one way.

    Args:
        down: Share of moves down that was seen, 0..1.
        up: Share of moves up; with ``down`` at most 1.
        shift: The difference, -1..1.
    """
    linear = down + up + shift * (2 - down + up)
    root = math.sqrt(max(0.0, linear * linear - 8 * up * shift * (1 + shift)))
    most_likely_up = (linear + root) / 4
    return max(0.0, 2 * most_likely_up - shift - shift * shift)


def noninferiority_power(
    margin: float, clusters: float, variance: float, step: float | None, level: Level
) -> float:
    """Chance that a model equal to the baseline is shown to be within the margin.

    The test is that of ``paired_share_bounds``, or with ``step`` None of ``student_bounds``, both
    with the normal in place of Student's t: it promises too much below some 30 clusters.

    Args:
        margin: What the model may be worse by, above 0.
        clusters: Number of queries; need not be whole.
        variance: Of a query's mean difference between equal models, above 0.
        step: How far a query's mean moves if it moves, above 0; None for figures that are no
            proportions.
        level: One-sided.

    Returns:
        In 0..1, rising with ``clusters``; 0 where even runs that are all alike would be too few.
    """
    error = math.sqrt(variance / clusters)
    if step is None:
        return normal_power(margin / error, level)
    # Where nothing moved, 1 - alpha^(1 / clusters) of the queries may still be worse.
    if margin < 1 and (1 - margin) ** clusters > level.tail:
        return 0.0
    half = min(1.0, variance / step**2) / 2
    null = step * math.sqrt(null_variance(half, half, -min(1.0, margin / step)) / clusters)
    return NormalDist().cdf((margin - level.critical * null) / error)
