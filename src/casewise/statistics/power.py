"""Power: the level of a test, solving for a size, and the tests of pairs and shares."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from casewise.statistics.bounds import null_variance

LEAST_SIZE = 2.0
"""The fewest votes, cases or pairs that are counted with: one alone has no spread."""

MOST_SIZE = 1e7
"""End of a search for a size; no study of people or cases is larger."""

LEAST_EFFECT = 1e-9
"""Start of a search for an effect."""

_ROUND_OFF = 1e-9
"""A size that is above a whole number by no more than this is that number."""


@dataclass(frozen=True, slots=True)
class Level:
    """Significance level of a test, and its sides."""

    alpha: float
    """Chance of finding a difference where there is none, above 0 and below 1."""
    two_sided: bool = True
    """True if a difference in either direction would be reported."""

    @property
    def tail(self) -> float:
        """The part of alpha in one tail."""
        return self.alpha / 2 if self.two_sided else self.alpha

    @property
    def critical(self) -> float:
        """The normal quantile that a standardised difference must pass."""
        return NormalDist().inv_cdf(1 - self.tail)


def normal_power(shift: float, level: Level) -> float:
    """Power of a normal test whose statistic lies ``shift`` standard errors from 0.

    Both tails count if the test is two-sided, so that a shift of 0 gives alpha.
    In 0..1, rising with the shift.
    """
    cdf = NormalDist().cdf
    far = cdf(-shift - level.critical) if level.two_sided else 0.0
    return cdf(shift - level.critical) + far


def smallest_size(power_of: Callable[[float], float], wanted: float) -> float:
    """The smallest size, not rounded, that has the wanted power.

    Args:
        power_of: Power by size, rising.
        wanted: Power in 0..1.

    Returns:
        At least ``LEAST_SIZE``; infinite if ``MOST_SIZE`` has not the power.
    """
    return _smallest(power_of, wanted, LEAST_SIZE, MOST_SIZE)


def smallest_effect(power_of: Callable[[float], float], wanted: float, most: float) -> float:
    """The smallest effect above 0 that is found with the wanted power; infinite if above ``most``.

    Args:
        power_of: Power by effect, rising.
        wanted: Power in 0..1.
        most: The largest effect there is.
    """
    return _smallest(power_of, wanted, LEAST_EFFECT, most)


def whole(size: float) -> int:
    """A size rounded up, forgiving the solver's last digits."""
    return math.ceil(size - _ROUND_OFF * max(1.0, size))


def _smallest(
    power_of: Callable[[float], float], wanted: float, least: float, most: float
) -> float:
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.optimize import brentq

    below, above = least, least
    while power_of(above) < wanted:
        if above >= most:
            return math.inf
        below, above = above, min(2 * above, most)
    if above == least:
        return least
    return float(brentq(lambda x: power_of(x) - wanted, below, above, xtol=1e-12, rtol=1e-12))


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """Spread of the difference of two models over cases and queries.

    Of one case, the difference is 1 (only the first model is right), -1 or 0.
    """

    variance: float
    """Variance of a case's difference, above 0."""
    rho: float = 0.0
    """Correlation of the differences of two cases of one query, at most 1."""
    cases: int = 2
    """Cases a query, 1 and up."""

    @property
    def possible(self) -> bool:
        """Tell whether such variances exist: that of a query is not below 0."""
        return 1 + (self.cases - 1) * self.rho >= 0

    @property
    def query_variance(self) -> float:
        """Variance of a query's mean difference, by the design effect of Kish (1965).

        ``variance / m (1 + (m - 1) rho)`` for ``m`` cases.
        """
        return max(0.0, self.variance / self.cases * (1 + (self.cases - 1) * self.rho))


def discordance_variance(discordance: float, difference: float) -> float:
    """Variance of a case's difference, from how often the models differ in being right.

    The difference is 1 or -1 with chance ``discordance`` in all, so its square has that mean, and
    ``discordance - difference^2`` is its variance.
    """
    return discordance - difference**2


def paired_power(difference: float, queries: float, design: PairedDesign, level: Level) -> float:
    """Power of the normal test of a mean difference, clustered by query.

    Miller (2024), arXiv 2411.00640, section 5. It trusts the normal distribution of the mean, so
    it promises too much below some 30 queries.

    Args:
        difference: The difference of the accuracies, 0..1.
        queries: Number of queries; need not be whole.
        design: The spread.
        level: The test's level.
    """
    error = math.sqrt(design.query_variance / queries)
    if not error:
        return 1.0 if difference else level.alpha
    return normal_power(difference / error, level)


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


def proportions_power(p1: float, p2: float, n: float, level: Level) -> float:
    """Power of the pooled z-test to tell two shares apart, with groups of equal size.

    With the pooled variance if there is no difference, and the two separate variances if there
    is; Fleiss, Levin & Paik (2003), Statistical Methods for Rates and Proportions, chapter 4,
    without continuity correction. As R's ``power.prop.test``.

    Args:
        p1: Share in the one group, 0..1.
        p2: Share in the other, 0..1.
        n: Size of each group; need not be whole.
        level: The test's level; a one-sided test looks in the direction of the difference.

    Returns:
        In 0..1; alpha where the shares are equal.
    """
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
