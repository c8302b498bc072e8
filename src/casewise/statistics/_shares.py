"""Shares: bounds on one side with a stated confidence, and power.

Power is that to show non-inferiority by such bounds, and that to tell two shares of safe votes
apart: by arcsine, pooled z, and Fisher's exact test.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from casewise.choices import ProportionMethod
from casewise.statistics._clusters import FloatArray
from casewise.statistics._power import LEAST_SIZE, Level, normal_power, smallest_size, whole

if TYPE_CHECKING:
    from casewise.statistics._clustered import Estimate


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two one-sided bounds; each alone has the confidence. NaN is undefined."""

    low: float
    high: float


NO_BOUNDS = Bounds(math.nan, math.nan)


def student_bounds(one: "Estimate", confidence: float) -> Bounds:
    """Bounds of any figure by Student's t, on the scale of its interval and by the same error.

    At most a degree of freedom fewer than clusters. NaN without a spread (use ``alike_bounds``
    there), and where the interval is withheld.
    """
    if not one.se > 0 or one.reason:
        return NO_BOUNDS
    degrees = min(one.degrees, one.clusters - 1)
    return Bounds(*one.ends(student_quantile(degrees, confidence)))


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
        return NO_BOUNDS
    unlike = 1 - (1 - confidence) ** (1 / clusters)
    return Bounds(value - unlike * (value - ends[0]), value + unlike * (ends[1] - value))


def share_bounds(one: "Estimate", confidence: float) -> Bounds:
    """Exact bounds of a proportion (Clopper & Pearson 1934) on its effective size.

    Korn & Graubard (1998), Survey Methodology 24: the rows that, if independent, would have the
    clustered error, fewer by Student's t for few clusters. Wilson's interval is on average right
    and too short near 0 and 1, where one bound of it misses more often than it says.
    """
    size = one.effective_size
    if not size > 0 or not math.isfinite(one.value) or one.reason:
        return NO_BOUNDS
    from scipy.special import ndtri

    if one.se > 0:
        size *= (float(ndtri(confidence)) / student_quantile(one.clusters - 1, confidence)) ** 2
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
    """Distance that a cluster moves if it moves, above 0; 1 is from all wrong to all right."""
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
    if difference.reason:
        return NO_BOUNDS
    steps = find_steps(difference)
    if steps is None:
        return alike_bounds(difference.value, difference.clusters, confidence, (-1.0, 1.0))
    mirrored = replace(steps, down=steps.up, up=steps.down)
    critical = student_quantile(difference.clusters - 1, confidence)
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


def student_quantile(degrees: float, confidence: float = 0.975) -> float:
    """Quantile of Student's t; the usual one gives a two-sided 95 % interval."""
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, confidence))


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


MOST_EXACT = 1000
"""Largest group whose tables are enumerated; beyond it the pooled z-test is as good."""

_TIE = 1e-9
"""Tables whose P value exceeds alpha by this share only, which is round-off, still reject."""


@dataclass(frozen=True, slots=True)
class ExactSize:
    """The group size that Fisher's test needs; both infinite if above ``MOST_EXACT``."""

    n: float
    """The smallest size from which on every size looked at has the power."""
    holds_to: float
    """The largest size looked at. Power rises in saw teeth, so one size alone says little."""


def proportions_power(
    p1: float, p2: float, n: float, level: Level, method: ProportionMethod
) -> float:
    """Power to tell two shares apart, with groups of equal size.

    - ``arcsine``: Cohen (1988), chapter 6, ``h = 2 asin sqrt(p1) - 2 asin sqrt(p2)``.
    - ``pooled``: the z-test with the pooled variance if there is no difference, and the two
      separate variances if there is; Fleiss, Levin & Paik (2003), Statistical Methods for Rates
      and Proportions, chapter 4, without continuity correction. As R's ``power.prop.test``.
    - ``exact``: Fisher's test, over all outcomes of both groups (see ``fisher_power``).

    Args:
        p1: Share in the one group, 0..1.
        p2: Share in the other, 0..1.
        n: Size of each group; whole for ``exact``.
        level: The test's level; a one-sided test looks in the direction of the difference.
        method: How.

    Returns:
        In 0..1; alpha where the shares are equal (less for Fisher's test).
    """
    if method is ProportionMethod.EXACT:
        return fisher_power(p1, p2, whole(n), level)
    if method is ProportionMethod.ARCSINE:
        h = 2 * abs(math.asin(math.sqrt(p1)) - math.asin(math.sqrt(p2)))
        return normal_power(h * math.sqrt(n / 2), level)
    return _pooled_power(p1, p2, n, level)


def fisher_power(p1: float, p2: float, n: int, level: Level) -> float:
    """Power of Fisher's exact test over all ``(n + 1)^2`` outcomes of two groups of ``n``.

    With equal groups the hypergeometric is symmetric, so the two-sided P value is twice the
    one-sided one by every usual definition.

    Args:
        p1: Share in the one group, 0..1.
        p2: Share in the other, 0..1.
        n: Size of each group, up to ``MOST_EXACT``.
        level: The test's level; a one-sided test looks in the direction of the difference.
    """
    high, low = max(p1, p2), min(p1, p2)
    first, second = _binomial(n, high), _binomial(n, low)
    rejected = _fisher_tails(n) <= level.tail * (1 + _TIE)
    upper = first @ rejected @ second
    lower = second @ rejected @ first if level.two_sided else 0.0
    return min(1.0, float(upper + lower))


def fisher_size(p1: float, p2: float, wanted: float, level: Level) -> ExactSize:
    """The group size from which on Fisher's test has the wanted power.

    Looked at from above: a size with the power well beyond the approximate answer, and down from
    there until the power is missed for the first time.

    Args:
        p1: Share in the one group, 0..1.
        p2: Share in the other, 0..1, not equal to ``p1``.
        wanted: Power in 0..1.
        level: The test's level.
    """
    pooled = smallest_size(lambda n: _pooled_power(p1, p2, n, level), wanted)
    # Fleiss' continuity correction comes close to Fisher's test from below or above.
    corrected = pooled / 4 * (1 + math.sqrt(1 + 4 / (pooled * abs(p1 - p2)))) ** 2
    if corrected > MOST_EXACT:
        return ExactSize(math.inf, math.inf)
    top = whole(1.2 * corrected) + 20
    while fisher_power(p1, p2, top, level) < wanted:
        top = whole(1.5 * top)
        if top > 2 * MOST_EXACT:
            return ExactSize(math.inf, math.inf)
    n = top
    while n > LEAST_SIZE and fisher_power(p1, p2, n - 1, level) >= wanted:
        n -= 1
    return ExactSize(float(n), float(top))


def _pooled_power(p1: float, p2: float, n: float, level: Level) -> float:
    difference, mean = abs(p1 - p2), (p1 + p2) / 2
    if not difference:
        return level.alpha
    without = math.sqrt(2 * mean * (1 - mean))
    separate = math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    if not separate:
        # All against none: there is but one outcome.
        return float(math.sqrt(n) >= level.critical * without)
    cdf = NormalDist().cdf
    margin, shift = level.critical * without, difference * math.sqrt(n)
    far = cdf((-shift - margin) / separate) if level.two_sided else 0.0
    return cdf((shift - margin) / separate) + far


def _binomial(n: int, p: float) -> FloatArray:
    """Chances of 0 to ``n`` successes. Shape ``(n + 1,)``."""
    # Imported late: scipy takes longer to load than most commands take to run. By logarithms,
    # because scipy's own fails near 0.
    from scipy.special import xlog1py, xlogy

    counts = np.arange(n + 1)
    return np.asarray(np.exp(_log_choose(n) + xlogy(counts, p) + xlog1py(n - counts, -p)))


def _log_choose(n: int) -> FloatArray:
    """Logarithms of ``n`` over 0 to ``n``. Shape ``(n + 1,)``."""
    from scipy.special import gammaln

    counts = np.arange(n + 1)
    return np.asarray(gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1))


@lru_cache(maxsize=8)
def _fisher_tails(n: int) -> FloatArray:
    """One-sided P values of all tables. Shape ``(n + 1, n + 1)``: successes of either group."""
    one = _log_choose(n)
    together = np.add.outer(np.arange(n + 1), np.arange(n + 1))
    chances = np.exp(one[:, None] + one[None, :] - _log_choose(2 * n)[together])
    # A tail runs along an antidiagonal: one more success here, one fewer there.
    tails = np.zeros((n + 2, n + 2))
    for x in range(n, -1, -1):
        tails[x, 1:] = chances[x] + tails[x + 1, :-1]
    return tails[:-1, 1:]
