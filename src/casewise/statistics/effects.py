"""Tests: over pairs, strata and groups of votes, of several hypotheses, and what they can show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.statistics.estimates import FloatArray

ALPHA = 0.05
"""The level of the tests, and of the rates that the corrections hold."""


@dataclass(frozen=True, slots=True)
class PairVotes:
    """Votes on both cases of each pair, the first arm's and the second's. Shapes ``(pairs,)``."""

    safe_1: FloatArray
    unsafe_1: FloatArray
    safe_2: FloatArray
    unsafe_2: FloatArray

    @property
    def votes(self) -> tuple[FloatArray, FloatArray]:
        """All votes on either case."""
        return self.safe_1 + self.unsafe_1, self.safe_2 + self.unsafe_2


@dataclass(frozen=True, slots=True)
class ProportionTests:
    """Numbers of pairs that differ, each by a test of its own, two-sided at ``ALPHA``."""

    n: int
    """Pairs with votes on both sides."""
    raw: int
    """Significant without a correction: of pairs without an effect, 5 % would be."""
    holm: int
    """With the chance of a single false one held at 5 %: Holm (1979)."""
    bh: int
    """With the share of false ones held at 5 %: Benjamini & Hochberg (1995)."""


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A rank test over groups; NaN is undefined."""

    statistic: float
    p: float
    groups: int


def proportion_tests(pairs: PairVotes) -> ProportionTests:
    """The two-proportion z-test of each pair, and what is left of it after corrections.

    Corrections: Holm (1979), https://www.jstor.org/stable/4615733; Benjamini & Hochberg (1995),
    doi:10.1111/j.2517-6161.1995.tb02031.x.
    """
    # Imported late: scipy.stats takes longer to load than most commands take to run.
    from scipy.stats import false_discovery_control

    p = two_proportion_p(pairs)
    p = p[np.isfinite(p)]
    if not len(p):
        return ProportionTests(0, 0, 0, 0)
    significant = [
        int((corrected <= ALPHA).sum())
        for corrected in (np.array(holm(p)), false_discovery_control(p))
    ]
    return ProportionTests(len(p), int((p < ALPHA).sum()), *significant)


def two_proportion_z(pairs: PairVotes) -> FloatArray:
    """Z of each pair's test with pooled variance, first side less second. Shape ``(pairs,)``.

    NaN where a side has no votes; 0 where all votes of both are alike, as they don't differ.
    """
    n_1, n_2 = pairs.votes
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (pairs.safe_1 + pairs.safe_2) / (n_1 + n_2)
        error = np.sqrt(pooled * (1 - pooled) * (1 / n_1 + 1 / n_2))
        z = (pairs.safe_1 / n_1 - pairs.safe_2 / n_2) / error
    z = np.where((pooled == 0) | (pooled == 1), 0.0, z)
    return np.where((n_1 > 0) & (n_2 > 0), z, np.nan)


def two_proportion_p(pairs: PairVotes) -> FloatArray:
    """Two-sided p of ``two_proportion_z``. Shape ``(pairs,)``."""
    from scipy.special import erfc

    p: FloatArray = erfc(np.abs(two_proportion_z(pairs)) / math.sqrt(2))
    return p


def cohen_d_paired(differences: FloatArray) -> float:
    """Cohen's d of paired differences: their mean over their standard deviation. Shape ``(n,)``.

    Cohen (1988), Statistical Power Analysis, 2.3.5 (d'). NaN of fewer than two differences. Where
    all are alike, 0 if they are 0, and else infinite.
    """
    if len(differences) < 2:
        return math.nan
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    # What is alike may differ by rounding.
    if spread > 1e-12 * max(1.0, abs(mean)):
        return mean / spread
    return math.copysign(math.inf, mean) if mean else 0.0


def kruskal_wallis(groups: Sequence[FloatArray]) -> GroupTest:
    """Kruskal & Wallis (1952), doi:10.1080/01621459.1952.10483441, corrected for ties.

    Args:
        groups: The values of each group, without NaN; empty ones are passed over.

    Returns:
        NaN for fewer than two groups, or where all values are equal.
    """
    filled = [group for group in groups if len(group)]
    if len(filled) < 2 or not np.ptp(np.concatenate(filled)):
        return GroupTest(math.nan, math.nan, len(filled))
    # Imported late: scipy.stats takes longer to load than most commands take to run.
    from scipy.stats import kruskal

    test = kruskal(*filled)
    return GroupTest(float(test.statistic), float(test.pvalue), len(filled))


def cochran_q(votes: FloatArray) -> GroupTest:
    """Cochran's Q, for columns of 0/1 votes on the same rows: Cochran (1950), doi:10.2307/2332378.

    Args:
        votes: 1 safe, 0 unsafe, no NaN. Shape ``(rows, columns)``.

    Returns:
        Chi-squared on columns less one; NaN for fewer than two columns or where no row is split.
    """
    rows, columns = votes.shape
    by_row, by_column = votes.sum(axis=1), votes.sum(axis=0)
    spread = float((by_row * (columns - by_row)).sum())
    if columns < 2 or not rows or not spread:
        return GroupTest(math.nan, math.nan, columns)
    deviations = float(((by_column - by_column.mean()) ** 2).sum())
    return chi_squared(columns * (columns - 1) * deviations / spread, columns - 1, columns)


def chi_squared(statistic: float, degrees: int, groups: int) -> GroupTest:
    """A statistic with its upper tail of chi-squared; tests of independent strata can be added."""
    from scipy.special import gammaincc

    return GroupTest(statistic, float(gammaincc(degrees / 2, statistic / 2)), groups)


DETECTABLE = 2.801585218112969
"""Standard errors that a difference must have to be found in 80 % of tries, two-sided at .05: the
normal quantiles of .975 and .80 added up."""


def holm(p: Sequence[float] | FloatArray) -> list[float]:
    """Adjust p-values for their number; NaN stays and isn't counted.

    Holm (1979), www.jstor.org/stable/4615733.
    """
    # Not by statsmodels' multipletests, which collects garbage in each of its calls (70 ms).
    values = np.array(p, float)
    defined = values[~np.isnan(values)]
    order = np.argsort(defined)
    factors = np.arange(len(defined), 0, -1)
    adjusted = np.empty_like(defined)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * defined[order]))
    values[~np.isnan(values)] = adjusted
    return [float(value) for value in values]
