"""Classes of cases and the quality of raters: Dawid and Skene's estimate."""

from dataclasses import dataclass

import numpy as np

from casewise.statistics import FloatArray, IntArray

SMOOTHING = 1.0
"""Votes added to each answer of each rater to each class, and items to each class: the mode under
Beta(2, 2)."""

TOLERANCE = 1e-6
"""The largest move of a probability that ends the fit."""


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
    iterations: int
    converged: bool
    """True where no probability moved by the tolerance in the last step."""


def dawid_skene(
    verdict: FloatArray,
    item: IntArray,
    rater: IntArray,
    *,
    items: int,
    raters: int,
    most: int = 1000,
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
        most: Steps at most, from 1.
    """
    votes = np.bincount(item, minlength=items)
    voted = votes > 0
    if not voted.any():
        p_safe, nothing = np.full(items, np.nan), np.full(raters, np.nan)
        return DawidSkene(p_safe, np.nan, nothing, nothing.copy(), 0, converged=True)

    def rates(safe: FloatArray) -> tuple[float, list[FloatArray]]:
        """The M step: the prevalence, and each rater's chance of being right on either class."""
        prevalence = (safe[voted].sum() + SMOOTHING) / (voted.sum() + 2 * SMOOTHING)
        right = []
        for said, weight in ((verdict, safe[item]), (1 - verdict, 1 - safe[item])):
            hits = np.bincount(rater, weight * said, raters) + SMOOTHING
            wholes = np.bincount(rater, weight, raters) + 2 * SMOOTHING
            right.append(hits / wholes)
        return float(prevalence), right

    def classes(prevalence: float, right: list[FloatArray]) -> FloatArray:
        """The E step: each item's probability of safe."""
        chances = np.array([prevalence, *right[0], *right[1]])
        hit, miss = np.log(chances), np.log(1 - chances)
        at_safe, at_unsafe = rater + 1, rater + 1 + raters
        of_safe = np.where(verdict == 1, hit[at_safe], miss[at_safe])
        of_unsafe = np.where(verdict == 1, miss[at_unsafe], hit[at_unsafe])
        safe = hit[0] + np.bincount(item, of_safe, items)
        both = np.logaddexp(safe, miss[0] + np.bincount(item, of_unsafe, items))
        return np.asarray(np.exp(safe - both))

    safe = np.zeros(items)
    safe[voted] = np.bincount(item, verdict, items)[voted] / votes[voted]
    steps, change = 0, np.inf
    while steps < most and change >= TOLERANCE:
        steps += 1
        prevalence, right = rates(safe)
        moved = classes(prevalence, right)
        change = float(np.abs(moved - safe)[voted].max())
        safe = moved
    absent = np.bincount(rater, minlength=raters) == 0
    specificity, sensitivity = (np.where(absent, np.nan, one) for one in right)
    return DawidSkene(
        p_safe=np.where(voted, safe, np.nan),
        prevalence=prevalence,
        sensitivity=sensitivity,
        specificity=specificity,
        iterations=steps,
        converged=change < TOLERANCE,
    )
