"""Agreement: of people on two verdicts, and of one classification with another."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casewise.statistics.estimates import (
    LEAST_UNEVEN,
    BoolArray,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    Scale,
    clustered_mean,
    clustered_ratio,
    effective_number,
    estimate,
    number_clusters,
    too_few,
    weigh,
)

COEFFICIENTS = ("fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "pairwise")
"""The names of the coefficients."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the votes on one case."""

    fleiss_kappa: Estimate
    """-1..1. NaN where everybody says the same, or no case has two votes."""
    krippendorff_alpha: Estimate
    """-1..1, nominal. NaN as kappa."""
    gwet_ac1: Estimate
    """-1..1. NaN where no case has two votes."""
    pairwise: Estimate
    """Chance that two people who judge one case say the same, 0..1. NaN as AC1."""
    cases: int
    """Cases with two votes or more."""
    votes: int
    """Votes on those cases."""


def agreement(safe: FloatArray, unsafe: FloatArray, clusters: IntArray | None = None) -> Agreement:
    """Measure agreement; any votes may be missing.

    Cases with a single vote tell nothing of agreement, and count in AC1's chance alone.

    Args:
        safe: Safe votes of each case. Shape ``(n,)``; NaN is none.
        unsafe: Unsafe votes. Shape ``(n,)``.
        clusters: The query of each case; None: each case is one. Shape ``(n,)``.
    """
    s, u = np.asarray(safe, float), np.asarray(unsafe, float)
    voted = s + u > 0  # False of NaN
    names = np.arange(len(voted)) if clusters is None else clusters
    return summed_agreement(_terms(s[voted], u[voted]), names[voted])


def summed_agreement(terms: FloatArray, clusters: IntArray) -> Agreement:
    """Agreement from the terms of each case.

    Args:
        terms: Of each case: 1; its share of safe votes; and, 0 where there is but one vote: 1; the
            share of its pairs of votes that agree; the safe votes; the unsafe votes; and its
            disagreeing ordered pairs over the votes less one (Krippendorff's coincidences).
            Shape ``(cases, 7)``.
        clusters: The query of each. Shape ``(cases,)``.
    """
    queries = number_clusters(clusters)
    sums = queries.sums(*terms.T)
    coefficients = {
        name: _coefficient(place, sums, queries) for place, name in enumerate(COEFFICIENTS)
    }
    several, votes = terms[:, _SEVERAL].sum(), np.nansum(terms[:, [_SAFE, _UNSAFE]])
    return Agreement(**coefficients, cases=int(several), votes=int(votes))


def _coefficient(place: int, sums: FloatArray, queries: Clusters) -> Estimate:
    """One coefficient; the queries that make it are those on which people disagree."""
    coefficient = estimate(sums, lambda totals: _coefficients(totals)[..., place], queries)
    if not math.isfinite(coefficient.value):
        return coefficient
    scale: Scale = "unit" if COEFFICIENTS[place] == "pairwise" else "fisher"
    differ = effective_number(sums[:, _DISAGREEING])
    makers = 0.0 if math.isnan(differ) else differ
    beyond_margins = COEFFICIENTS[place] in ("fleiss_kappa", "krippendorff_alpha")
    why = too_few(coefficient.clusters, "coefficient", LEAST_UNEVEN) if beyond_margins else ""
    whole = weigh(coefficient, sums[:, _SEVERAL])
    return replace(whole, scale=scale, makers=makers, unavailable=why)


def _terms(safe: FloatArray, unsafe: FloatArray) -> FloatArray:
    """Terms that the coefficients are sums of. Shape ``(cases, 7)``."""
    votes = safe + unsafe
    several = (votes >= 2).astype(float)
    disagreeing = 2 * safe * unsafe / np.maximum(votes - 1, 1)
    return np.stack(
        [
            np.ones_like(votes),
            safe / votes,
            several,
            several * (1 - disagreeing / votes),
            several * safe,
            several * unsafe,
            several * disagreeing,
        ],
        axis=1,
    )


_SEVERAL, _SAFE, _UNSAFE, _DISAGREEING = 2, 4, 5, 6
"""Places among the terms of cases with two votes, of their votes, and of pairs that disagree."""


def _coefficients(sums: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """Sums of terms, ``(..., 7)``, to coefficients in the order of the names, ``(..., 4)``."""
    voted, shares, several, agreeing, safe, unsafe, disagreeing = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = agreeing / several
        return np.stack(
            [
                fleiss_kappa(observed, safe / (safe + unsafe)),
                krippendorff_alpha(disagreeing, safe, unsafe),
                gwet_ac1(observed, shares / voted),
                observed,
            ],
            axis=-1,
        )


def fleiss_kappa(observed: NDArray[np.inexact], safe: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """Fleiss (1971), doi:10.1037/h0031619. NaN where the shares leave no disagreement by chance.

    With unequal numbers of votes, the overall share is that of all votes, and each case's
    agreement weighs alike.

    Args:
        observed: Mean share of agreeing pairs of votes, 0..1.
        safe: Share of safe votes over all cases, 0..1.
    """
    chance = safe**2 + (1 - safe) ** 2
    is_mixed = (safe > 0) & (safe < 1)
    return np.where(is_mixed, (observed - chance) / (1 - chance), np.nan)


def krippendorff_alpha(
    disagreeing: NDArray[np.inexact], safe: NDArray[np.inexact], unsafe: NDArray[np.inexact]
) -> NDArray[np.inexact]:
    """Krippendorff's alpha, nominal, two values: 1 - observed over expected disagreement.

    Krippendorff (2011), Computing Krippendorff's alpha-reliability,
    https://repository.upenn.edu/asc_papers/43. NaN where everybody says the same.

    Args:
        disagreeing: Off-diagonal coincidences: ordered pairs of votes within a case that differ,
            each over the case's votes less one.
        safe: Safe votes, of cases with two votes or more.
        unsafe: Unsafe votes of these.
    """
    votes = safe + unsafe
    expected = 2 * safe * unsafe / (votes - 1)
    return np.where((safe > 0) & (unsafe > 0), 1 - disagreeing / expected, np.nan)


def gwet_ac1(observed: NDArray[np.inexact], safe: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """Gwet's AC1: Gwet (2008), doi:10.1348/000711006X126600.

    Chance agreement is ``2 q (1 - q)``, at most 1/2, so it stays defined where all agree.

    Args:
        observed: Mean share of agreeing pairs of votes, 0..1.
        safe: ``q``, the mean over cases of the share of safe votes, 0..1; with missing votes,
            over all cases that have any (Gwet 2014, Handbook of Inter-Rater Reliability, chapter
            2).
    """
    chance = 2 * safe * (1 - safe)
    return np.asarray((observed - chance) / (1 - chance))


LEFT_OPEN = -1
"""Mark of a row without a class."""


@dataclass(frozen=True, slots=True, eq=False)
class AgreementOfTwo:
    """Agreement of two classifications of the same rows; NaN is undefined."""

    coverage: Estimate
    """Share of the rows that were given a class, 0..1. NaN of no rows."""
    accuracy: Estimate
    """Share of the classed rows where both say the same, 0..1. NaN where none is classed."""
    kappa: Estimate
    """Cohen's kappa over the classed rows, at most 1; 0 is chance. NaN where none is classed, and
    where both say one and the same class throughout."""
    confusion: IntArray
    """Rows are the truth, columns what was said, the last of them: no class.
    Shape ``(classes, classes + 1)``."""
    precision: tuple[Estimate, ...]
    """For each class, the share of those said to be of it that are. NaN where none is said to."""
    recall: tuple[Estimate, ...]
    """For each class, the share of its classed rows that were said to be of it. NaN of none."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.confusion.sum())


def agreement_of_two(
    truth: IntArray, predicted: IntArray, classes: int, clusters: Clusters
) -> AgreementOfTwo:
    """Agreement of predicted classes with the true ones.

    Shares have the intervals of all shares here, Wilson's where there is little to go by. Kappa
    has an error by the delta method.

    Args:
        truth: 0..classes-1. Shape ``(n,)``.
        predicted: The same, or ``LEFT_OPEN``. Shape ``(n,)``.
        classes: How many classes there are.
        clusters: Which rows are correlated.
    """
    confusion = np.zeros((classes, classes + 1), np.int64)
    np.add.at(confusion, (truth, predicted), 1)  # -1 is the last column
    classed = predicted != LEFT_OPEN
    rows = clusters.only(classed)
    is_truth = truth[classed, None] == np.arange(classes)
    is_said = predicted[classed, None] == np.arange(classes)
    hits = (is_truth & is_said).astype(float).T
    return AgreementOfTwo(
        coverage=clustered_mean(classed.astype(float), clusters, kind="share"),
        accuracy=clustered_mean(hits.sum(axis=0), rows, kind="share"),
        kappa=_kappa(truth[classed], predicted[classed], classes, rows),
        confusion=confusion,
        precision=_shares(hits, is_said, rows),
        recall=_shares(hits, is_truth, rows),
    )


def cohen_kappa(confusion: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """Cohen (1960), doi:10.1177/001316446002000104: agreement beyond that of the margins.

    NaN where the margins leave no disagreement, and where the table is empty.

    Args:
        confusion: Counts. Shape ``(..., k, k)``.
    """
    n = confusion.sum(axis=(-2, -1))
    agreeing = np.trace(confusion, axis1=-2, axis2=-1)
    expected = (confusion.sum(axis=-2) * confusion.sum(axis=-1)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((n * agreeing - expected) / (n * n - expected))


def _kappa(truth: IntArray, predicted: IntArray, classes: int, clusters: Clusters) -> Estimate:
    cells = np.eye(classes * classes)[truth * classes + predicted]
    sums = clusters.sums(*cells.T)
    shape = (classes, classes)
    return estimate(
        sums, lambda totals: cohen_kappa(totals.reshape(*totals.shape[:-1], *shape)), clusters
    )


def _shares(hits: FloatArray, wholes: BoolArray, clusters: Clusters) -> tuple[Estimate, ...]:
    """For each class, its hits over its whole."""
    return tuple(
        clustered_ratio(hit, whole, clusters, kind="share")
        for hit, whole in zip(hits, wholes.T.astype(float), strict=True)
    )
