"""Tests of two models on the same cases."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.statistics.estimates import BoolArray, Clusters, FloatArray, IntArray

EXACT_UP_TO = 25
"""Discordant cases up to which McNemar's test is exact."""

EXACT_REACH = 4000
"""The largest total of a sign test that is enumerated."""

DETECTABLE = 2.801585218112969
"""Standard errors that a difference must have to be found in 80 % of tries, two-sided at .05: the
normal quantiles of .975 and .80 added up."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """Counts of cases on which only one of two models is right."""

    b: int
    """Cases that the first (before) has right and the second (after) wrong."""
    c: int
    """Cases that the first has wrong and the second right."""
    p: float
    """Two-sided, taking cases as independent: exact up to 25 discordant ones, else chi-square
    with continuity correction. 1 without discordant cases; NaN where the design of the cases
    fixes how many are right."""
    p_clustered: float
    """Two-sided and exact, with whole queries exchanged between the models; the same as the exact
    ``p`` where no query has two discordant cases."""


def mcnemar(first: BoolArray, second: BoolArray, clusters: Clusters) -> McNemar:
    """Compare which cases two models have right.

    McNemar (1947), doi:10.1007/BF02295996. The clustered form flips the sign of each query's
    difference, which under the null is as likely one way as the other (a sign test that weights
    queries by their discordance; compare Durkalski et al. 2003, doi:10.1002/sim.1438).

    Args:
        first: Whether the first model is right. Shape ``(n,)``.
        second: Whether the second is. Shape ``(n,)``.
        clusters: The query of each.
    """
    b, c = int((first & ~second).sum()), int((~first & second).sum())
    difference = second.astype(float) - first
    sums = clusters.sums(difference)[:, 0].round().astype(np.int64)
    return McNemar(b, c, _mcnemar_p(b, c), sign_flip_p(sums))


def _mcnemar_p(b: int, c: int) -> float:
    from scipy.stats import binomtest, chi2

    if b + c == 0:
        return 1.0
    if b + c <= EXACT_UP_TO:
        return float(binomtest(b, b + c).pvalue)
    return float(chi2.sf((abs(b - c) - 1) ** 2 / (b + c), 1))


def sign_flip_p(sums: IntArray) -> float:
    """Two-sided exact p of a total of whole numbers, each as likely with either sign.

    The distribution is a convolution of binomials, one for each size; a total that could exceed
    4,000 takes the normal approximation. 1 if all are 0.
    """
    from scipy.stats import binom, norm

    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    reach = int((sizes * counts).sum())
    if not reach:
        return 1.0
    if reach > EXACT_REACH:
        return float(2 * norm.sf(abs(sums.sum()) / np.sqrt((sums**2).sum())))
    # Totals -reach..reach; one block of equal sizes reaches -m k, -m k + 2 k, ..., m k.
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        block = np.zeros(2 * size * count + 1)
        block[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, block)
    totals = np.arange(-reach, reach + 1)
    return float(min(1.0, chances[np.abs(totals) >= abs(int(sums.sum()))].sum()))


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


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Adjust p-values so that those below q hold a share of false ones of at most q.

    Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x. NaN stays and isn't
    counted. Shape ``(n,)``.
    """
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    scaled = p[order] * len(known) / np.arange(1, len(known) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
