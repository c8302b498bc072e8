"""Answers of a model, and of people, across the contexts of one query."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casewise.statistics.classification import clustered_pearson
from casewise.statistics.estimates import (
    UNDEFINED,
    BoolArray,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    clustered_mean,
    clustered_ratio,
    effective_number,
    estimate,
    weigh,
)


def shift_pcc(answers: FloatArray, people: FloatArray, clusters: Clusters) -> Estimate:
    """Correlation of the shifts of a model and of people from one case of a pair to the other.

    Args:
        answers: Probabilities of safe, or verdicts, on both cases. Shape ``(pairs, 2)``.
        people: Shares of people who call them safe; NaN where unknown. Shape ``(pairs, 2)``.
        clusters: The query of each pair.
    """
    shift, people_shift = (side[:, 0] - side[:, 1] for side in (answers, people))
    known = np.isfinite(shift + people_shift)
    return clustered_pearson(shift[known], people_shift[known], clusters.only(known))


@dataclass(frozen=True, slots=True)
class LabelChanges:
    """Verdicts where the label changes between two contexts of a query, and where it doesn't."""

    follows: Estimate
    """Share of the pairs whose label changes in which both verdicts are right."""
    false_changes: Estimate
    """Share of the pairs with one label in which the verdict changes."""
    untied: int
    """Pairs without a tied label, in all epochs."""


def label_changes(
    verdicts: FloatArray, safe: FloatArray, epoch: IntArray, clusters: Clusters
) -> LabelChanges:
    """Hold changes of verdicts against changes of labels; pairs with a tied label are left out.

    In each epoch a query weighs alike, whatever its pairs, or else each pair does.

    Args:
        verdicts: Verdicts on both cases of each pair, 0..1. Shape ``(pairs, 2)``.
        safe: Their labels. Shape ``(pairs, 2)``.
        epoch: Epoch of each pair, in 0 and up. Shape ``(pairs,)``.
        clusters: The query of each pair.
    """
    epochs = 1 + epoch.max(initial=0)
    rounds = clusters.index * epochs + epoch
    first, second = verdicts.T
    right = np.where(safe[:, 0] > safe[:, 1], first * (1 - second), second * (1 - first))
    untied, same = (safe != 0.5).all(axis=1), safe[:, 0] == safe[:, 1]

    def share(values: FloatArray, counts: BoolArray) -> Estimate:
        if not counts.any():
            return UNDEFINED
        alike = np.bincount(rounds, counts)[rounds]
        weights = counts / (np.maximum(alike, 1.0) if clusters.alike else 1.0)
        found = clustered_ratio(
            weights * values, weights, replace(clusters, alike=None), share=True
        )
        pairs = round(counts.sum() / epochs)
        return replace(found, size=effective_number(weights), pairs=pairs)

    changed, alone = share(right, untied & ~same), share(abs(first - second), untied & same)
    return LabelChanges(changed, alone, int(untied.sum()))


def label_flips(safe: FloatArray, clusters: Clusters) -> Estimate:
    """Share of pairs whose labels differ; a tie differs by half from either side, and from a tie.

    Args:
        safe: Labels of both cases of each pair. Shape ``(pairs, 2)``.
        clusters: The query of each pair.
    """
    first, second = safe[:, 0], safe[:, 1]
    return clustered_mean(first * (1 - second) + second * (1 - first), clusters, share=True)


def context_share(
    values: FloatArray, clusters: Clusters, noise: FloatArray | None = None
) -> Estimate:
    """The share of the variance of cases that is between contexts of one query, in 0..1.

    ``s_c / (s_q + s_c)``, 1 less the intraclass correlation, with the components of variance of
    queries and of contexts within them by one-way random-effects analysis of variance (Searle,
    Casella & McCulloch 1992, Variance Components, section 3.6). A component below 0 counts as 0.
    The error is the jackknife's over queries, on the logarithm (Arvesen & Schmitz 1970,
    doi:10.2307/2528716). NaN where no query has two cases, of one query, and where all are alike.

    Args:
        values: A number for each case. Shape ``(n,)``.
        clusters: The query of each.
        noise: The variance of each number about its case's true one, which is taken out. ``(n,)``.
    """
    if not len(values):
        return UNDEFINED
    noise = np.zeros_like(values) if noise is None else noise
    parts = clusters.sums(values, values * values)
    # Centred, so that sums of squares don't cancel.
    values = values - values.mean()
    ones = np.ones_like(values)
    n, x, xx, v = clusters.sums(ones, values, values * values, noise).T
    size = np.maximum(n, 1)
    sums = np.stack([n > 0, n, n * n, x, xx, xx - x * x / size, v, v / size], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = weigh(estimate(sums, _context_share, clusters), n)
    found = replace(found, parts=parts)
    if not np.isfinite(found.value):
        return UNDEFINED
    if abs(found.value) <= _NO_VARIANCE:
        # What is left of the error is rounding where no query has contexts that differ.
        return replace(found, value=0.0, influence=0 * found.influence, without=0 * found.without)
    if found.value < 0:
        return replace(found, value=0.0, unavailable=_NO_MORE)
    beyond = max(found.value, 1.0)
    return replace(
        found,
        value=found.value / beyond,
        influence=found.influence / beyond,
        without=found.without / beyond,
        scale="part",
    )


_NO_VARIANCE = 1e-12
_NO_MORE = "contexts of a query differ no more than chance alone would have them"


def _context_share(totals: NDArray[np.inexact]) -> NDArray[np.inexact]:
    queries, n, nn, x, xx, within, v, v_mean = np.moveaxis(totals, -1, 0)
    between = xx - x * x / n - within
    of_context = (within - v + v_mean) / (n - queries)
    of_query = (between - v_mean + v / n) / (queries - 1)
    per_query = (n - nn / n) / (queries - 1)
    whole = of_context + (of_query - of_context) / per_query
    some = (np.real(whole) > _NO_VARIANCE) & (np.real(queries) > 1) & (np.real(n - queries) > 0)
    return np.where(some, of_context / np.where(some, whole, 1), np.nan)


def vote_share(safe: FloatArray, unsafe: FloatArray, clusters: Clusters) -> Estimate:
    """``context_share`` of people's votes, with the chance of who voted taken out.

    Cases with one vote can't tell chance from context: they are left out, unless no case has two;
    then chance is counted as context.

    Args:
        safe: Safe votes of each case. Shape ``(n,)``; NaN is none.
        unsafe: Unsafe votes. Shape ``(n,)``.
        clusters: The query of each.
    """
    votes = np.nan_to_num(safe) + np.nan_to_num(unsafe)
    least = 2 if (votes > 1).any() else 1
    kept = votes >= least
    share = safe[kept] / votes[kept]
    noise = share * (1 - share) / np.maximum(votes[kept] - 1, 1) * (least > 1)
    return context_share(share, clusters.only(kept), noise)
