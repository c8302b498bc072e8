"""Power: the level of a test, solving for a size, and the tests of means, pairs and shares."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from casewise.choices import Parent, ProportionMethod
from casewise.statistics._clustered import FloatArray, null_variance

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


def smallest_size(
    power_of: Callable[[float], float], wanted: float, least: float = LEAST_SIZE
) -> float:
    """The smallest size, not rounded, that has the wanted power.

    Args:
        power_of: Power by size, rising.
        wanted: Power in 0..1.
        least: Where the search starts.

    Returns:
        At least ``least``; infinite if ``MOST_SIZE`` has not the power.
    """
    return _smallest(power_of, wanted, least, MOST_SIZE)


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

    # Doubling stays near the answer: far beyond it the noncentral t underflows.
    below, above = least, least
    while power_of(above) < wanted:
        if above >= most:
            return math.inf
        below, above = above, min(2 * above, most)
    if above == least:
        return least
    return float(brentq(lambda x: power_of(x) - wanted, below, above, xtol=1e-12, rtol=1e-12))


EFFICIENCY = {
    Parent.NORMAL: 3 / math.pi,
    Parent.MINIMUM: 108 / 125,
    Parent.LOGISTIC: math.pi**2 / 9,
    Parent.LAPLACE: 3 / 2,
}
"""Asymptotic relative efficiency of Mann-Whitney's test against the t-test: .955, .864, 1.097, 1.5.

Hodges & Lehmann (1956), doi:10.1214/aoms/1177728261, who prove that .864 is the least; the same
four stand in G*Power (Faul et al. 2007, doi:10.3758/BF03193146).
"""


def t_power(effect: float, n: float, level: Level) -> float:
    """Power of Student's two-sample t-test with equal groups, by the noncentral t.

    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2; exact for
    normal grades of equal spread.

    Args:
        effect: Cohen's d, the difference of the means in standard deviations, 0 and up.
        n: Size of each group, above 1; need not be whole.
        level: The test's level; a one-sided test looks in the effect's direction.

    Returns:
        In 0..1; alpha where the effect is 0.
    """
    # Imported late: scipy takes longer to load than most commands take to run. Its own noncentral
    # t, because what statsmodels calls gives NaN for some large effects.
    from scipy.stats import nct, t

    freedom, shift = 2 * n - 2, effect * math.sqrt(n / 2)
    critical = t.isf(level.tail, freedom)
    # Beyond 40 the far tail is 0 to the last digit, and scipy's series for it fails.
    far = float(nct.sf(critical, freedom, -shift)) if level.two_sided and shift < 40 else 0.0
    return min(1.0, float(nct.sf(critical, freedom, shift)) + far)


def mann_whitney_power(effect: float, n: float, level: Level, parent: Parent) -> float:
    """Power of Mann-Whitney's test, as that of a t-test with ``EFFICIENCY`` times the people.

    The approximation of G*Power. Against simulated studies of 20 people a group it is within .02
    for all parents but Laplace, of whose peak so few people see little: .06 too high at 20 a
    group, .03 at 40.

    Args:
        effect: Shift of one group against the other in standard deviations, 0 and up.
        n: Size of each group; need not be whole.
        level: The test's level.
        parent: The spread of the grades.

    Returns:
        In 0..1; 0 where the efficiency leaves one person a group or fewer.
    """
    counted = n * EFFICIENCY[parent]
    return t_power(effect, counted, level) if counted > 1 else 0.0


def noether_power(superiority: float, n: float, level: Level) -> float:
    """Power of Mann-Whitney's test by the chance that one grade exceeds another.

    Noether (1987), doi:10.1080/01621459.1987.10478478, for equal groups: the statistic lies
    ``|p - 1/2| sqrt(6 n)`` standard errors from its centre, if the variance without a difference
    is good enough. It knows no spread; ties count half. Against simulated studies of 20 people a
    group it is .01 to .03 too low.

    Args:
        superiority: P(X < Y) + P(X = Y) / 2, in 0..1; 1/2 is no difference.
        n: Size of each group; need not be whole.
        level: The test's level.
    """
    return normal_power(abs(superiority - 0.5) * math.sqrt(6 * n), level)


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """Spread of the difference of two models over cases, queries and epochs.

    Of one case in one epoch, the difference is 1 (only the first model is right), -1 or 0. Its
    variance has a part that belongs to the case, of which two cases of one query share some, and
    a part that comes anew with every epoch.
    """

    variance: float
    """Variance of a case's difference in a single epoch, above 0."""
    rho: float = 0.0
    """Correlation of the differences of two cases of one query in a single epoch."""
    cases: int = 2
    """Cases a query, 1 and up."""
    noise: float = 0.0
    """Share of the variance that comes anew with every epoch, 0..1."""

    @property
    def possible(self) -> bool:
        """Tell whether such variances exist: neither that of a case nor of a query is below 0."""
        own = 1 - self.noise
        return self.rho <= own and own + (self.cases - 1) * self.rho >= 0

    def query_variance(self, epochs: float) -> float:
        """Variance of a query's mean difference: between queries, and within them by epochs.

        ``variance / m (1 - noise + (m - 1) rho) + variance / m noise / epochs`` for ``m`` cases; in
        one epoch that is the design effect ``1 + (m - 1) rho`` of Kish (1965). The split into
        between and within over epochs follows Miller (2024), Adding Error Bars to Evals,
        arXiv 2411.00640, section 5. ``epochs`` may be infinite.
        """
        between = 1 - self.noise + (self.cases - 1) * self.rho
        return max(0.0, self.variance / self.cases * (between + self.noise / epochs))


def discordance_variance(discordance: float, difference: float) -> float:
    """Variance of a case's difference, from how often the models differ in being right.

    The difference is 1 or -1 with chance ``discordance`` in all, so its square has that mean, and
    ``discordance - difference^2`` is its variance.
    """
    return discordance - difference**2


def paired_power(
    difference: float, queries: float, epochs: float, design: PairedDesign, level: Level
) -> float:
    """Power of the normal test of a mean difference, clustered by query.

    Miller (2024), arXiv 2411.00640, section 5. It trusts the normal distribution of the mean, so
    it promises too much below some 30 queries.

    Args:
        difference: The difference of the accuracies, 0..1.
        queries: Number of queries; need not be whole.
        epochs: Times that each model judges each case, 1 and up; may be infinite.
        design: The spread.
        level: The test's level.
    """
    error = math.sqrt(design.query_variance(epochs) / queries)
    if not error:
        return 1.0 if difference else level.alpha
    return normal_power(difference / error, level)


def rank_error(agreement: float, queries: float, contexts: int) -> float:
    """Standard error of ``rank_agreement``, from the variance of Kendall's tau.

    Esscher (1924), Skandinavisk Aktuarietidskrift 7, 201-219, for normal figures; by chance alone
    it is Kendall's own, ``(2 k + 5) / (18 k (k - 1))`` a query.

    Args:
        agreement: The share of pairs in the same order, in 0..1; 1/2 is chance.
        queries: Number of queries; need not be whole.
        contexts: Contexts of each, 2 and up, no two alike in votes.
    """
    k, tau = contexts, 2 * agreement - 1
    # The chance that one of three contexts is first, or last, on both sides.
    of_three = (2 / math.pi * math.asin(math.sin(math.pi / 2 * tau) / 2)) ** 2
    variance = 2 / (k * (k - 1)) * (1 - tau**2 + 2 * (k - 2) * (1 / 9 - of_three))
    return math.sqrt(max(0.0, variance) / queries) / 2


def within_degrees(queries: float, contexts: int) -> float:
    """Degrees of freedom, less one, of a correlation within queries, as Fisher's z takes them.

    ``1 / (Q (k - 1) - 2)`` is the variance of z: that of the repeated-measures correlation (Bakdash
    & Marusich 2017, doi:10.3389/fpsyg.2017.00456). At least a millionth.
    """
    return max(queries * (contexts - 1) - 2, 1e-6)


def context_share_error(share: float, queries: float, contexts: int) -> float:
    """Standard error of ``context_share``, which is 1 less the intraclass correlation.

    Bonett (2002), doi:10.1002/sim.1108, for normal figures; that of verdicts, which are 0 or 1, is
    up to twice as large where few are safe (docs/method/statistics-appendix.md).

    Args:
        share: Of the variance that is between contexts of one query, in 0..1.
        queries: Number of queries, above 1; need not be whole.
        contexts: Contexts of each, 2 and up.
    """
    k = contexts
    variance = 2 * (share * (k - (k - 1) * share)) ** 2 / (k * (k - 1))
    return math.sqrt(variance / max(queries - 1, 1e-6))


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
