"""Whether one person's answers follow the items as other people's do."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

REACH = 1200
"""Steps that a person's weights may span in all, so that long lists cost no more than they must."""

FINEST = 20
"""Steps of a weight of 1 at most."""


def agreement_p(said: FloatArray, expected: FloatArray, others: FloatArray) -> float:
    """One-sided p of agreeing so little with others, given how many answers of a kind one gave.

    The agreement with others is the sum of their shares for what one said; it moves with
    ``sum(said * (2 * others - 1))``. Given the number of 1s among the answers, its distribution
    under the null is free of how lenient the person is: leniency that multiplies all odds alike
    cancels, as in the Rasch model's exact tests of person fit (Ponocny 2001,
    doi:10.1007/BF02294444). It is enumerated, with the weights rounded to ``FINEST`` steps, so it
    is exact for the rounded statistic. Who gave one answer throughout has p 1: there is nothing
    to hold it against.

    Args:
        said: 1 or 0. Shape ``(n,)``.
        expected: Chance of a 1 of somebody drawn from the others, strictly in 0..1. Shape ``(n,)``.
        others: Their share of 1s. Shape ``(n,)``.
    """
    n, ones = len(said), int(said.sum())
    if not 0 < ones < n:
        return 1.0
    steps = max(1, min(FINEST, REACH // n))
    weights = np.rint(steps * (2 * others - 1)).astype(np.int64)
    if 2 * ones > n:
        # The same question about the 0s, which are fewer.
        said, expected, weights, ones = 1 - said, 1 - expected, -weights, n - ones
    seen = int((said * weights).sum())
    lowest = int(np.minimum(weights, 0).sum())
    span = int(np.abs(weights).sum()) + 1
    chances = np.zeros((ones + 1, span))
    chances[0, -lowest] = 1.0
    for chance, weight in zip(expected.tolist(), weights.tolist(), strict=True):
        moved = np.zeros_like(chances)
        if weight >= 0:
            moved[1:, weight:] = chances[:-1, : span - weight]
        else:
            moved[1:, :weight] = chances[:-1, -weight:]
        chances = (1 - chance) * chances + chance * moved
    row = chances[ones]
    return float(min(1.0, row[: seen - lowest + 1].sum() / row.sum()))


def at_least_p(count: int, chances: FloatArray) -> float:
    """Chance of at least so many successes, each with a chance of its own (Poisson binomial).

    Args:
        count: 0 and up.
        chances: In 0..1. Shape ``(n,)``.
    """
    totals = np.ones(1)
    for chance in chances.tolist():
        totals = np.convolve(totals, (1 - chance, chance))
    return float(min(1.0, totals[count:].sum()))


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
