"""What a case is and how well each person tells it, estimated together from votes alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene:
    """Classes of items and the quality of raters, fitted together."""

    p_safe: FloatArray
    """Probability that an item is of the class safe, 0..1; NaN without votes. Shape ``(items,)``.
    """
    prevalence: float
    """Share of items that are safe, 0..1; NaN without votes."""
    sensitivity: FloatArray
    """For each rater, the chance of saying unsafe of an unsafe item, 0..1; NaN without votes.
    Shape ``(raters,)``."""
    specificity: FloatArray
    """For each rater, the chance of saying safe of a safe item. As ``sensitivity``."""
    log_posterior: float
    """Of the parameters, up to a constant; without smoothing their log-likelihood."""
    iterations: int
    converged: bool
    """Whether no probability moved by the tolerance in the last step."""


def dawid_skene(
    verdict: FloatArray,
    item: IntArray,
    rater: IntArray,
    *,
    items: int,
    raters: int,
    smoothing: float = 1.0,
    most: int = 1000,
    tolerance: float = 1e-6,
) -> DawidSkene:
    """Fit the model of Dawid & Skene (1979) with two classes by EM.

    JRSS C 28(1):20-28, doi:10.2307/2346806. Each item is of one class, and raters err
    independently, each with two rates of their own. It starts from the shares of the votes, as
    theirs, so that the classes keep their names as long as most votes are right. Where people
    differ in earnest over an item, the model takes it for error, and its probabilities are surer
    than anybody should be: they say which way votes weighted by quality point.

    Args:
        verdict: 1 safe, 0 unsafe. Shape ``(votes,)``.
        item: 0..items-1. Shape ``(votes,)``.
        rater: 0..raters-1. Shape ``(votes,)``.
        items: How many items there are.
        raters: How many raters there are.
        smoothing: Votes added to each answer of each rater to each class, and items to each
            class: the mode under Beta(1 + s, 1 + s). Without any (0), rates run to 0 and 1 for
            raters with few votes; where one has judged no item of a class, the rate is 1/2.
        most: Steps at most, from 1.
        tolerance: The largest move of a probability that ends it.
    """
    votes = np.bincount(item, minlength=items)
    voted = votes > 0
    if not voted.any():
        nothing = np.full(raters, np.nan)
        return DawidSkene(
            np.full(items, np.nan), np.nan, nothing, nothing.copy(), np.nan, 0, converged=True
        )
    safe = np.zeros(items)
    safe[voted] = np.bincount(item, verdict, minlength=items)[voted] / votes[voted]
    steps, change = 0, np.inf
    while steps < most and change >= tolerance:
        steps += 1
        prevalence, right = _rates(safe, voted, verdict, item, rater, raters, smoothing)
        moved, log_posterior = _classes(prevalence, right, verdict, item, rater, voted, smoothing)
        change = float(np.abs(moved - safe)[voted].max())
        safe = moved
    absent = np.bincount(rater, minlength=raters) == 0
    specificity, sensitivity = (np.where(absent, np.nan, one) for one in right)
    return DawidSkene(
        p_safe=np.where(voted, safe, np.nan),
        prevalence=prevalence,
        sensitivity=sensitivity,
        specificity=specificity,
        log_posterior=log_posterior,
        iterations=steps,
        converged=change < tolerance,
    )


def _rates(
    safe: FloatArray,
    voted: NDArray[np.bool_],
    verdict: FloatArray,
    item: IntArray,
    rater: IntArray,
    raters: int,
    smoothing: float,
) -> tuple[float, tuple[FloatArray, FloatArray]]:
    """The M step: the prevalence, and each rater's chance of being right on either class."""
    prevalence = (safe[voted].sum() + smoothing) / (voted.sum() + 2 * smoothing)
    right = []
    for said, weight in ((verdict, safe[item]), (1 - verdict, 1 - safe[item])):
        hits = np.bincount(rater, weight * said, minlength=raters) + smoothing
        wholes = np.bincount(rater, weight, minlength=raters) + 2 * smoothing
        right.append(np.divide(hits, wholes, out=np.full(raters, 0.5), where=wholes > 0))
    return float(prevalence), (right[0], right[1])


def _classes(
    prevalence: float,
    right: tuple[FloatArray, FloatArray],
    verdict: FloatArray,
    item: IntArray,
    rater: IntArray,
    voted: NDArray[np.bool_],
    smoothing: float,
) -> tuple[FloatArray, float]:
    """The E step: each item's probability of safe, and the log-posterior of the rates."""
    # Without smoothing a rate may be 0 or 1, and its logarithm without bounds.
    logs = np.log(np.clip([prevalence, *right[0], *right[1]], 1e-300, None))
    misses = np.log(np.clip([1 - prevalence, *1 - right[0], *1 - right[1]], 1e-300, None))
    n = len(right[0])
    items = len(voted)
    of_safe = np.where(verdict == 1, logs[1 : n + 1][rater], misses[1 : n + 1][rater])
    of_unsafe = np.where(verdict == 1, misses[n + 1 :][rater], logs[n + 1 :][rater])
    safe = logs[0] + np.bincount(item, of_safe, minlength=items)
    unsafe = misses[0] + np.bincount(item, of_unsafe, minlength=items)
    both = np.logaddexp(safe, unsafe)
    prior = smoothing * float((logs + misses).sum())
    return np.exp(safe - both), float(both[voted].sum()) + prior
