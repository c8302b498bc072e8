"""Power to tell two shares of safe votes apart: arcsine, pooled z, and Fisher's exact test."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from casewise.choices import ProportionMethod
from casewise.statistics._power import LEAST_SIZE, Level, normal_power, smallest_size, whole

FloatArray = NDArray[np.float64]

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
    upper = first @ (_fisher_tails(n) <= level.tail * (1 + _TIE)) @ second
    if not level.two_sided:
        return min(1.0, float(upper))
    lower = second @ (_fisher_tails(n) <= level.tail * (1 + _TIE)) @ first
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
    chances: FloatArray = np.exp(_log_choose(n) + xlogy(counts, p) + xlog1py(n - counts, -p))
    return chances


def _log_choose(n: int) -> FloatArray:
    """Logarithms of ``n`` over 0 to ``n``. Shape ``(n + 1,)``."""
    from scipy.special import gammaln

    counts = np.arange(n + 1)
    logs: FloatArray = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    return logs


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
