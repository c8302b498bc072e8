"""Rates of classes that a grader gives with errors, corrected by labels of a random part.

Intervals are of draws in which queries and labelled replies vary.
"""

from dataclasses import dataclass

import numpy as np

from casewise.statistics.estimates import (
    UNDEFINED,
    Z_95,
    BoolArray,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    student_quantile,
)

NOT_LABELLED = -1
"""Mark of a reply that nobody labelled."""

CANNOT_TELL = -2
"""Mark of a reply of which people can't tell the class."""

CELLS = 4_000_000
"""Most numbers in a block of weights (32 MB), so that many clusters need no more memory."""

AGREEING = 10
"""Labels, half of them a yes, that are added with right grades before a slope is fitted."""

PSEUDO = 0.25
"""Replies that are added to each corner of the table of grade and label, as a prior."""

PSEUDO_CORNERS = np.array([1, 3, 3, 1]) / 8
"""The same of a random part's labels: more where grade and label differ (the second and third). Of
a quarter in each, intervals held in .91 where few labels show the one kind of error alone."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Draws: how many, and their seed."""

    draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class GradedReplies:
    """A run's replies as one rate counts them. Shapes ``(n,)`` unless said otherwise."""

    graded: IntArray
    """The class that the grader gave, in 0..k-1."""
    worth: FloatArray
    """Worth of the reply in the rate, 0..1, for each class that it may have. Shape ``(n, k)``."""
    weight: FloatArray
    """Part of the reply in the rate's denominator, 0 and up."""
    clusters: Clusters
    """The query of each."""
    certain: BoolArray
    """True where the class is known without labels: the provider's own refusals."""

    def as_if(self, classes: IntArray) -> FloatArray:
        """Worth of each reply under given classes. Shape ``(n,)``."""
        return np.take_along_axis(self.worth, classes[:, None], axis=1)[:, 0]


def prediction_powered(
    replies: GradedReplies, label: IntArray, scale_up: FloatArray, draws: Resampling, run: int = 0
) -> Estimate:
    """A rate from all grades and the labels of a random part of the replies; 0..1.

    The labelled mean, moved by a slope times what the grades of the others differ from those of the
    labelled, as far as these stand for others: prediction-powered inference with a tuned weight
    (Angelopoulos et al. 2023, arXiv 2301.09633, 2311.01453), which is the difference estimator of
    survey sampling. Each labelled reply weighs by the replies that it stands for (Hájek 1971), so a
    draw that is heavier where the grader doubts is right on average, too.

    The slope is that of labels on grades (``_slopes``): of each query it is fitted to the others,
    and to ``AGREEING`` labels more, whose grades are right. Fitted to its own labels it would go
    with them, and rare refusals would be told too rare; few labels leave it near 1, which is the
    rate as graded plus the mean of label less grade.

    Replies that people can't tell leave the rate: it is that of the others, whose number is told by
    the labels as well.

    The interval is of Bayesian bootstrap draws (Rubin 1981, doi:10.1214/aos/1176345338) of whole
    queries, the same for labels and grades, widened as Student's t is for few labels. One reply is
    added to the table of grade and label (``PSEUDO_CORNERS``), spread over the strata, so that a
    few labels without an error are no proof that there is none (after Agresti & Min 2005,
    doi:10.1002/sim.1781; of either margin it is Jeffreys' prior). Where no labelled reply counts,
    or each does in full, the end on that side is 0 or 1.

    Args:
        replies: All of the run.
        label: The person's class, ``NOT_LABELLED`` of the others; ``CANNOT_TELL`` where a person
            can't tell. Shape ``(n,)``.
        scale_up: Of how many replies each labelled one stands for, or a multiple. Shape ``(n,)``.
        draws: How many, and their seed: equal for runs that are to be subtracted.
        run: A number that tells those runs apart.

    Returns:
        NaN where nothing in the rate's denominator was labelled.
    """
    label = np.where(replies.certain, replies.graded, label)
    scale_up = np.where(replies.certain, 1.0, scale_up)
    known, classed = label != NOT_LABELLED, label >= 0
    graded, weight = replies.as_if(replies.graded), replies.weight
    person = replies.as_if(np.where(classed, label, 0)) * classed
    part = known * scale_up * weight
    if not (part * classed).sum() > 0:
        return UNDEFINED
    # In units of a labelled reply, so that those that are added weigh as one.
    unit = (weight * known).sum() / part.sum()
    part *= unit
    # Share of the replies that each stands for which are others; all, labelled, stand for none.
    drawn_from, open_to = known & ~replies.certain, ~replies.certain
    stands_for = scale_up * open_to.sum() / max(scale_up[drawn_from].sum(), 1)
    moved = part * open_to * (1 - 1 / np.maximum(stands_for, 1))
    moved *= _slopes(part, graded, person, replies.clusters)
    unlabelled = weight * ~known
    sums = replies.clusters.sums(
        *(unlabelled, unlabelled * graded), *(part * classed, part * person, moved * graded, moved)
    )
    rng = np.random.default_rng([draws.seed, 1, run])
    totals = _weighted_sums(sums, draws)
    totals += rng.standard_gamma(PSEUDO, (draws.draws, 2)) @ [[1, 0] + [0] * 4, [1, 1] + [0] * 4]
    usual = moved.sum() / part.sum()
    strata = np.unique(scale_up[(part > 0) & ~replies.certain]) * unit
    for size in strata:
        corners = [[1, y, usual * x, usual] for x in (0, 1) for y in (0, 1)]
        added = rng.standard_gamma(PSEUDO_CORNERS / len(strata), (draws.draws, 4)) @ corners
        totals[:, 2:] += size * added
    clusters = int((np.bincount(replies.clusters.index, part) > 0).sum())
    rates = _widen(_moved_mean(totals), clusters)
    labels = person[part * classed > 0]
    if not labels.any():
        rates = np.where(rates <= np.quantile(rates, _OPEN_END), 0.0, rates)
    if (labels == 1).all():
        rates = np.where(rates >= np.quantile(rates, 1 - _OPEN_END), 1.0, rates)
    value = min(1.0, max(0.0, float(_moved_mean(sums.sum(axis=0)))))
    return Estimate(value, np.empty(0), clusters, kind="drawn", replicates=rates.clip(0, 1))


def _slopes(
    part: FloatArray, graded: FloatArray, person: FloatArray, clusters: Clusters
) -> FloatArray:
    """Slope of labels on grades for each reply, fitted without its own query. Shape ``(n,)``."""
    columns = (part, part * graded, part * person, part * graded**2, part * graded * person)
    sums = clusters.sums(*columns)
    n, x, y, xx, xy = (sums.sum(axis=0) - sums).T
    n = np.maximum(n, np.finfo(float).tiny)
    right = AGREEING / 4
    slopes = (xy - x * y / n + right) / (xx - x**2 / n + right)
    return np.asarray(slopes[clusters.index])


def _widen(rates: FloatArray, labelled: int) -> FloatArray:
    """Draws as far apart as Student's t of so many labelled queries asks for.

    The Bayesian bootstrap's variance is that of n + 1 in place of n - 1, against the normal.
    """
    degrees = max(1, labelled - 1)
    factor = student_quantile(degrees) / Z_95 * np.sqrt((labelled + 1) / degrees)
    middle = np.median(rates)
    return np.asarray(middle + factor * (rates - middle))


_OPEN_END = 0.1
"""Share of draws that are put to the end of the range where nothing was seen to lie off it: all
bounds at 90 % and more are then that end (Brown, Cai & DasGupta 2001, doi:10.1214/ss/1009213286,
section 4.1.1)."""


def _moved_mean(totals: FloatArray) -> FloatArray:
    """The estimate of ``prediction_powered``, from its sums of shape ``(..., 6)``."""
    size, graded, classed, person, moved, slopes = np.moveaxis(totals, -1, 0)
    others = np.divide(graded, size, out=np.zeros_like(size), where=size > 0)
    return np.asarray((person - moved + slopes * others) / classed)


def _weighted_sums(sums: FloatArray, draws: Resampling) -> FloatArray:
    """Totals in which each cluster has a weight of its own, by draw. Shape ``(draws, k)``.

    The weights are the same for whatever is over the same clusters.
    """
    rng = np.random.default_rng([draws.seed, 0])
    step = max(1, CELLS // max(len(sums), 1))
    sizes = [min(step, draws.draws - start) for start in range(0, draws.draws, step)]
    return np.concatenate([rng.standard_exponential((size, len(sums))) @ sums for size in sizes])
