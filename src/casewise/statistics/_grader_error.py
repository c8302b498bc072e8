"""Rates of classes that a grader gives with errors, corrected by replies that people labelled.

Intervals are of draws in which queries, labelled replies and the grader's errors all vary.
"""

from dataclasses import dataclass

import numpy as np

from casewise.statistics._clustered import (
    CELLS,
    UNDEFINED,
    Z_95,
    BoolArray,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    Resampling,
    student_quantile,
)

NOT_LABELLED = -1
"""Mark of a reply that nobody labelled."""

CANNOT_TELL = -2
"""Mark of a reply of which people can't tell the class."""

AGREEING = 10
"""Labels, half of them a yes, that are added with right grades before a slope is fitted."""

PSEUDO = 0.25
"""Replies that are added to each corner of the table of grade and label, as a prior."""

PSEUDO_CORNERS = np.array([1, 3, 3, 1]) / 8
"""The same of a random part's labels: more where grade and label differ (the second and third). Of
a quarter in each, intervals held in .91 where few labels show the one kind of error alone."""

PSEUDO_CHECK = 1 / 3
"""Replies that are added to each cell of a check sample's table: one for each of three classes."""


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


@dataclass(frozen=True, slots=True)
class CheckSample:
    """Replies with a person's class and the grader's. Shapes ``(n,)``."""

    label: IntArray
    """Class that a person gave, in 0..k-1."""
    graded: IntArray
    clusters: Clusters


@dataclass(frozen=True, slots=True)
class Question:
    """Question about a reply: refusal or not, say. Shapes ``(k,)``."""

    is_yes: BoolArray
    """The classes that are a yes."""
    score: FloatArray
    """Degree to which each grade says yes, 0..1."""


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
    known, told = label != NOT_LABELLED, label >= 0
    graded, weight = replies.as_if(replies.graded), replies.weight
    person = replies.as_if(np.where(told, label, 0)) * told
    part = known * scale_up * weight
    if not (part * told).sum() > 0:
        return UNDEFINED
    # In units of a labelled reply, so that those that are added weigh as one.
    unit = (weight * known).sum() / part.sum()
    part *= unit
    # Share of the replies that each stands for which are others; all, labelled, stand for none.
    drawn_from, open_to = known & ~replies.certain, ~replies.certain
    stands_for = scale_up * open_to.sum() / max(scale_up[drawn_from].sum(), 1)
    moved = part * open_to * (1 - 1 / np.maximum(stands_for, 1))
    moved *= _slopes(part, graded, person, replies.clusters)
    rest = weight * ~known
    sums = replies.clusters.sums(
        *(rest, rest * graded), *(part * told, part * person, moved * graded, moved)
    )
    rng = np.random.default_rng([draws.seed, 1, run])
    drawn = _weighted_sums(sums, draws, _QUERIES)
    drawn += rng.standard_gamma(PSEUDO, (draws.draws, 2)) @ [[1, 0] + [0] * 4, [1, 1] + [0] * 4]
    usual = moved.sum() / part.sum()
    strata = np.unique(scale_up[(part > 0) & ~replies.certain]) * unit
    for size in strata:
        corners = [[1, y, usual * x, usual] for x in (0, 1) for y in (0, 1)]
        added = rng.standard_gamma(PSEUDO_CORNERS / len(strata), (draws.draws, 4)) @ corners
        drawn[:, 2:] += size * added
    clusters = int((np.bincount(replies.clusters.index, part) > 0).sum())
    rates = _widened(_moved_mean(drawn), clusters)
    said = person[part * told > 0]
    if not said.any():
        rates = np.where(rates <= np.quantile(rates, _OPEN_END), 0.0, rates)
    if (said == 1).all():
        rates = np.where(rates >= np.quantile(rates, 1 - _OPEN_END), 1.0, rates)
    return _estimate(float(_moved_mean(sums.sum(axis=0))), rates, clusters)


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


def _widened(rates: FloatArray, labelled: int) -> FloatArray:
    """Draws as far apart as Student's t of so many labelled queries asks for.

    The Bayesian bootstrap's variance is that of n + 1 in place of n - 1, against the normal.
    """
    degrees = max(1, labelled - 1)
    factor = student_quantile(degrees) / Z_95 * np.sqrt((labelled + 1) / degrees)
    middle = np.median(rates)
    return np.asarray(middle + factor * (rates - middle))


_QUERIES, _CHECKED = 0, 2
"""The streams of random weights: of the run's queries, and of the check sample's."""

_OPEN_END = 0.1
"""Share of draws that are put to the end of the range where nothing was seen to lie off it: all
bounds at 90 % and more are then that end (Brown, Cai & DasGupta 2001, doi:10.1214/ss/1009213286,
section 4.1.1)."""


def _moved_mean(totals: FloatArray) -> FloatArray:
    """The estimate of ``prediction_powered``, from its sums of shape ``(..., 6)``."""
    size, graded, told, person, moved, slopes = np.moveaxis(totals, -1, 0)
    others = np.divide(graded, size, out=np.zeros_like(size), where=size > 0)
    return np.asarray((person - moved + slopes * others) / told)


def rogan_gladen(
    replies: GradedReplies,
    check: CheckSample,
    question: Question,
    draws: Resampling,
    run: int = 0,
) -> Estimate:
    """A rate from a run's grades, and the grader's errors on labelled replies from elsewhere; 0..1.

    With the mean score of a yes and of a no in the check sample, the mean score of the run tells
    the share of yes: Rogan & Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510. What a yes and
    a no count is the mean over their classes in the check sample. So it is taken that the grader
    errs in the run as it does there, and that the classes of a yes are mixed alike.

    The interval is of draws of both samples, as the melded intervals of Bayer, Fay & Graubard
    (2023, arXiv 2205.13494) are: clusters have the weights of the Bayesian bootstrap, and each cell
    of either table a third of a reply as a prior, so that errors which were not seen can happen. Of
    two classes it is close to the interval of Lang & Reiczigel (2014,
    doi:10.1016/j.prevetmed.2013.09.015).

    Args:
        replies: All of the run.
        check: From elsewhere; a yes and a no at least.
        question: What the rate turns on.
        draws: How many, and their seed: equal for runs that are to be subtracted.
        run: A number that tells those runs apart.
    """
    k = len(question.score)
    score, weight = question.score[replies.graded], replies.weight
    worth = replies.worth.T * weight * ~replies.certain
    known = replies.as_if(replies.graded) * weight * replies.certain
    sums = replies.clusters.sums(*worth, *(worth * score), known, weight)
    usual = np.average(replies.worth, axis=0, weights=weight)
    columns = (np.tile(usual, (k, 1)), np.outer(question.score, usual), np.zeros(k), np.ones(k))
    prior = np.column_stack(columns)
    rng = np.random.default_rng([draws.seed, 3, run])
    drawn = _weighted_sums(sums, draws, _QUERIES)
    drawn += rng.standard_gamma(PSEUDO_CHECK, (draws.draws, k)) @ prior
    counts, cells = _check_counts(check, k), _check_draws(check, k, draws)
    value = _undo(counts[None], sums.sum(axis=0)[None], question)[0]
    return _estimate(float(value), _undo(cells, drawn, question), check.clusters.count)


def separation(check: CheckSample, question: Question, draws: Resampling) -> Estimate:
    """The mean score of a yes less that of a no; -1..1, 0 or below is no better than chance.

    Youden's J (1950) where scores are 0 and 1.
    """
    k = len(question.score)
    no, yes = _mean_scores(_check_counts(check, k)[None], question)
    no_drawn, yes_drawn = _mean_scores(_check_draws(check, k, draws), question)
    value, drawn = float((yes - no)[0]), yes_drawn - no_drawn
    return Estimate(value, np.empty(0), check.clusters.count, scale="drawn", replicates=drawn)


@dataclass(frozen=True, slots=True)
class CorrectedChanges:
    """Changes between two replies to each conversation, corrected for the grader's errors."""

    refused_before: Estimate
    refused_after: Estimate
    newly_refused: Estimate
    """Refused after and not before; 0..1, as the others."""
    newly_answered: Estimate


def corrected_changes(
    before: BoolArray,
    after: BoolArray,
    weight: FloatArray,
    clusters: Clusters,
    check: CheckSample,
    draws: Resampling,
) -> CorrectedChanges:
    """Rates of refusal, and of its changes, from grades of both replies and the grader's errors.

    The four shares of graded pairs are what the grader's errors make of the true ones: solved for
    those (matrix method: Barron 1977, doi:10.2307/2529795), with errors on the two replies taken as
    independent. Either rate of refusal then is that of Rogan & Gladen (``rogan_gladen``, whose
    draws the intervals have); where errors go together, fewer changes are false than is taken out.

    Args:
        before: Whether the first reply is graded a refusal. Shape ``(n,)``.
        after: The same of the second.
        weight: Of each conversation, of mean 1.
        clusters: Whose conversation it is.
        check: Labels and grades of replies: 1 a refusal, 0 none; both labels at least.
        draws: How many, and their seed.
    """
    pairs = 2 * before + after
    sums = clusters.sums(*(weight * (pairs == place) for place in range(4)))
    rng = np.random.default_rng([draws.seed, 5])
    drawn = _weighted_sums(sums, draws, _QUERIES)
    drawn += rng.standard_gamma(PSEUDO, drawn.shape)
    true = _true_pairs(sums.sum(axis=0)[None], _check_counts(check, 2)[None])[0]
    spread = _true_pairs(drawn, _check_draws(check, 2, draws))

    def rate(*places: int) -> Estimate:
        at = list(places)
        return _estimate(float(true[at].sum()), spread[:, at].sum(axis=1), clusters.count)

    return CorrectedChanges(rate(2, 3), rate(1, 3), rate(1), rate(2))


def _true_pairs(graded: FloatArray, check: FloatArray) -> FloatArray:
    """Shares of true pairs from counts of graded ones, and of the check's; both by draw."""
    shares = (graded / graded.sum(axis=1, keepdims=True)).reshape(-1, 2, 2)
    undo = np.linalg.inv(check / check.sum(axis=2, keepdims=True))
    return np.asarray((undo.transpose(0, 2, 1) @ shares @ undo).reshape(-1, 4))


def _undo(cells: FloatArray, sums: FloatArray, question: Question) -> FloatArray:
    """The rate, from the check's counts by class and grade, and from the run's sums, by draw."""
    k = len(question.score)
    no, yes = _mean_scores(cells, question)
    of_class = cells.sum(axis=2)
    mixed = (of_class * side for side in (~question.is_yes, question.is_yes))
    mix_no, mix_yes = (one / one.sum(axis=1, keepdims=True) for one in mixed)
    plain, scored, known, size = sums[:, :k], sums[:, k:-2], sums[:, -2], sums[:, -1]
    said = (scored - no[:, None] * plain) / (yes - no)[:, None]
    counted = (mix_yes * said).sum(axis=1) + (mix_no * (plain - said)).sum(axis=1)
    return np.asarray((counted + known) / size)


def _mean_scores(cells: FloatArray, question: Question) -> tuple[FloatArray, FloatArray]:
    """The mean score of a no, and of a yes, by draw; NaN of none."""
    by_side = (cells[:, side].sum(axis=1) for side in (~question.is_yes, question.is_yes))
    with np.errstate(invalid="ignore"):
        no, yes = (one @ question.score / one.sum(axis=1) for one in by_side)
    return no, yes


def _check_counts(check: CheckSample, k: int) -> FloatArray:
    """Replies by class and grade. Shape ``(k, k)``."""
    flat = np.bincount(check.label * k + check.graded, minlength=k * k)
    return flat.reshape(k, k).astype(float)


def _check_draws(check: CheckSample, k: int, draws: Resampling) -> FloatArray:
    """Replies by class and grade in each draw. Shape ``(draws, k, k)``."""
    cells = np.eye(k * k)[check.label * k + check.graded]
    drawn = _weighted_sums(check.clusters.sums(*cells.T), draws, _CHECKED)
    rng = np.random.default_rng([draws.seed, 4])
    drawn += rng.standard_gamma(PSEUDO_CHECK, drawn.shape)
    return drawn.reshape(-1, k, k)


def _weighted_sums(sums: FloatArray, draws: Resampling, stream: int) -> FloatArray:
    """Totals in which each cluster has a weight of its own, by draw. Shape ``(draws, k)``.

    The weights of one stream are the same for whatever is over the same clusters.
    """
    rng = np.random.default_rng([draws.seed, stream])
    step = max(1, CELLS // max(len(sums), 1))
    sizes = [min(step, draws.draws - start) for start in range(0, draws.draws, step)]
    return np.concatenate([rng.standard_exponential((size, len(sums))) @ sums for size in sizes])


def _estimate(value: float, rates: FloatArray, clusters: int) -> Estimate:
    """A rate whose interval is that of its draws."""
    kept = min(1.0, max(0.0, value))
    return Estimate(kept, np.empty(0), clusters, scale="drawn", replicates=rates.clip(0, 1))
