"""Power: the level of a test, solving for a size, and the tests of means and of pairs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from casewise.choices import Parent

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
