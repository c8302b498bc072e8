"""People who answer without reading, by votes, times and checks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.statistics import BoolArray, FloatArray, IntArray

STEPS = 12
"""Rounds in which cases, people and the share of those who don't read are estimated in turn."""

SLOPES, LENIENCIES = np.linspace(0.2, 2.2, 11), np.linspace(-3, 3, 13)
"""Grid of readers: log-odds of a vote for each of the log-odds of the others, and what they add."""

_SLOPE, _LENIENCY = (axis.ravel() for axis in np.meshgrid(SLOPES, LENIENCIES, indexing="ij"))

PACE_SPREAD = 0.3
"""Of people's rises of time with words."""

LAPSE = 0.02
"""Answers of a reader that say nothing of the case."""

CHECK_SLIP, CHECK_SEEN = 0.03, 0.3
"""Share of checks that readers miss, and of people who don't read cases but pass every check."""

CONTRARY = 0.01
"""Odds of a person who reads, and says the opposite of what others think."""

ORDERS = (0.7, 0.1, 0.1, 0.1)
"""Chances that who doesn't read goes by the last 0, 1, 2 or 3 answers."""


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """Odds that people answer without reading. Shapes ``(raters,)``, but for ``own``."""

    chance: FloatArray
    """Probability of answering without reading, 0..1; NaN without votes."""
    votes: FloatArray
    """Logarithm of the likelihood ratio of the votes alone: not reading, or saying the opposite,
    over reading."""
    times: FloatArray
    """The same of the times."""
    checks: FloatArray
    """The same of the checks."""
    own: FloatArray
    """Chance that each vote is safe if its person reads: given the others' votes, and how the
    person takes them. Shape ``(votes,)``, 0..1."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Votes, ordered by rater and as each gave them. Shapes ``(votes,)``."""

    safe: FloatArray
    """1 safe, 0 unsafe."""
    cell: IntArray
    rater: IntArray
    group: IntArray
    """Group of cases whose shares are alike, such as an arm."""
    seconds: FloatArray
    """NaN where unknown."""
    words: FloatArray
    """Words of the case, above 0."""
    cells: int
    raters: int

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums over each rater's votes: of columns, shape ``(votes, ...)``."""
        by_rater = np.zeros((self.raters, *values.shape[1:]))
        present, first = np.unique(self.rater, return_index=True)
        by_rater[present] = np.add.reduceat(values, first, axis=0)
        return by_rater


def unread(answers: Answers, checks: IntArray, failed: IntArray) -> Unread:
    """Weigh, for each person, answers without reading against answers by reading.

    Who reads answers by the case: the log-odds of safe are a leniency and a slope times the
    log-odds of the others' votes, without the person's own (a beta distribution for each group of
    cases, with the votes added), and both vary between people as the votes say. Who doesn't read
    has a rate of answers of their own, or a pattern in the last three (Krichevsky & Trofimov 1981,
    doi:10.1109/TIT.1981.1056331); takes no longer for longer cases; and misses half of the checks.
    Others count by their probability of reading, and the share of people who don't is estimated
    with the rest (an EM algorithm). Who says the opposite of what the case would have a reader say
    counts as not reading, by the votes alone.

    Args:
        answers: Votes.
        checks: Checks that each person answered. Shape ``(raters,)``.
        failed: Those of them that were failed.
    """
    patterns, caught = _patterns(answers), check_ratio(checks, failed)
    chance, population = np.full(answers.raters, 0.1), _Population()
    for _ in range(STEPS):
        sure = 1 - chance
        fit = _reading(answers, _others(answers, sure), population)
        timed, rises = _times(answers, population.pace)
        times = np.clip(timed, -4, 4) + _levels(answers, sure)
        votes = patterns - fit.likelihood
        odds = np.log(population.share / (1 - population.share)) + votes + times + caught
        odds = np.logaddexp(odds, np.log(CONTRARY) + fit.contrary)
        chance = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
        population = _estimated(population, chance, fit.weights, rises)
    absent = np.bincount(answers.rater, minlength=answers.raters) == 0
    own = (fit.safe * fit.weights[answers.rater]).sum(axis=1)
    chance, by_votes = np.where(absent, np.nan, chance), np.maximum(votes, fit.contrary)
    return Unread(chance, by_votes, times, caught, own)


@dataclass(frozen=True, slots=True)
class _Population:
    """Parameters of all people; at first as guessed."""

    share: float = 0.1
    """Of people who don't read, 0..1."""
    slope: float = 0.9
    """Mean of readers, as the spreads."""
    slope_spread: float = 0.3
    leniency_spread: float = 0.6
    pace: float = 1.0
    """Rise of the logarithm of seconds for each of words."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """Answers as readers of the grid would give them."""

    safe: FloatArray
    """Chance that each vote is safe. Shape ``(votes, grid)``."""
    weights: FloatArray
    """Probability that each person is such a reader. Shape ``(raters, grid)``."""
    likelihood: FloatArray
    """Logarithm, of each person's votes. Shape ``(raters,)``."""
    contrary: FloatArray
    """The same of the opposite answers, less this."""


def _reading(answers: Answers, odds: FloatArray, population: _Population) -> _Reading:
    """Weigh the readers of the grid by each person's votes, and by how common they are."""
    slope = ((_SLOPE - population.slope) / population.slope_spread) ** 2
    prior = np.exp(-0.5 * (slope + (_LENIENCY / population.leniency_spread) ** 2))
    prior = np.log(prior / prior.sum())
    safe, opposed = (_chances(odds, way * _SLOPE, _LENIENCY) for way in (1, -1))
    weights = _logs(answers, safe) + prior
    likelihood = np.logaddexp.reduce(weights, axis=1)
    contrary = np.logaddexp.reduce(_logs(answers, opposed) + prior, axis=1) - likelihood
    return _Reading(safe, np.exp(weights - likelihood[:, None]), likelihood, contrary)


def _estimated(
    before: _Population, chance: FloatArray, weights: FloatArray, rises: FloatArray
) -> _Population:
    """Estimate the population anew, by people's probabilities of not reading, within bounds."""
    sure = 1 - chance
    total = sure.sum() + 1e-9
    slope = float(max(0.4, sure @ (weights @ _SLOPE) / total))
    timed = sure * np.isfinite(rises)
    pace = before.pace
    if timed.sum() > 3:
        pace = float(np.clip((timed * np.nan_to_num(rises)).sum() / timed.sum(), 0, 1.5))
    return _Population(
        share=float(np.clip((chance.sum() + 0.5) / (len(chance) + 5), 0.01, 0.5)),
        slope=slope,
        slope_spread=float(max(0.2, np.sqrt(sure @ (weights @ (_SLOPE - slope) ** 2) / total))),
        leniency_spread=float(max(0.3, np.sqrt(sure @ (weights @ _LENIENCY**2) / total))),
        pace=pace,
    )


def _chances(odds: FloatArray, slopes: FloatArray, leniencies: FloatArray) -> FloatArray:
    """Chance that each vote is safe, for each of the grid's readers. Shape ``(votes, grid)``."""
    return LAPSE / 2 + (1 - LAPSE) / (1 + np.exp(-(odds[:, None] * slopes + leniencies)))


def _logs(answers: Answers, fits: FloatArray) -> FloatArray:
    """Log-likelihood of each person's votes. Shape ``(raters, grid)``."""
    return answers.sums(np.log(np.where(answers.safe[:, None] > 0, fits, 1 - fits)))


def _others(answers: Answers, weight: FloatArray) -> FloatArray:
    """Log-odds of safe by the others' weighed votes on the case of each vote."""
    mine = weight[answers.rater]
    safe, whole = (
        np.bincount(answers.cell, mine * values, answers.cells)
        for values in (answers.safe, np.ones(len(answers.safe)))
    )
    alpha, beta = np.ones((2, len(mine)))
    for group in np.unique(answers.group):
        here = answers.group == group
        cells = np.unique(answers.cell[here])
        added = _beta(safe[cells], whole[cells])
        alpha[here], beta[here] = added
    yes = safe[answers.cell] - mine * answers.safe + alpha
    no = (whole - safe)[answers.cell] - mine * (1 - answers.safe) + beta
    return np.asarray(np.log(np.maximum(yes, 1e-6) / np.maximum(no, 1e-6)))


def _beta(safe: FloatArray, whole: FloatArray) -> tuple[float, float]:
    """Parameters of a beta distribution of shares, by moments; at least a vote in all."""
    several = whole > 1
    if several.sum() < 2:
        return 0.5, 0.5
    share, size = safe[several] / whole[several], whole[several]
    mean = float(np.clip(safe[several].sum() / size.sum(), 0.02, 0.98))
    within = mean * (1 - mean)
    extra = float(((share - mean) ** 2).mean() - within * (1 / size).mean())
    between = extra / (within * (1 - (1 / size).mean()))
    strength = float(np.clip(1 / np.clip(between, 1e-3, 0.999) - 1, 1, 50))
    return mean * strength, (1 - mean) * strength


def _patterns(answers: Answers) -> FloatArray:
    """Log-likelihood of each person's answers without cases, by their order alone."""
    logs = np.zeros(answers.raters)
    ends = np.cumsum(np.bincount(answers.rater, minlength=answers.raters))
    for rater, part in enumerate(np.split(answers.safe.astype(int), ends[:-1])):
        codes = [_code_length(part.tolist(), order) for order in range(len(ORDERS))]
        logs[rater] = np.logaddexp.reduce(np.log(ORDERS) + codes)
    return logs


def _code_length(sequence: Sequence[int], order: int) -> float:
    """Log-chance of a sequence by Krichevsky & Trofimov's estimator after each last ``order``."""
    counts: dict[tuple[int, ...], list[float]] = {}
    total = 0.0
    for place, symbol in enumerate(sequence):
        followers = counts.setdefault(tuple(sequence[max(0, place - order) : place]), [0.5, 0.5])
        total += np.log(followers[symbol] / sum(followers))
        followers[symbol] += 1
    return total


def check_ratio(checks: IntArray, failed: IntArray) -> FloatArray:
    """Log-likelihood ratio of not reading over reading by failed checks; 0 where there were none.

    Shapes ``(raters,)``.
    """
    passed = checks - failed
    unread = (1 - CHECK_SEEN) * 0.5**checks + CHECK_SEEN * (failed == 0)
    return np.asarray(
        np.log(unread) - failed * np.log(CHECK_SLIP) - passed * np.log(1 - CHECK_SLIP)
    )


def _times(answers: Answers, pace: float) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood ratio of times that don't rise with words, and the rise of each person's.

    The logarithm of seconds rises by ``pace`` for each of words, more or less by ``PACE_SPREAD``;
    its mean and its errors' size are a person's own.
    """
    known = (answers.seconds > 0).astype(float)
    time = np.log(np.where(known > 0, answers.seconds, 1.0))
    word = np.log(np.maximum(answers.words, 1.0))
    number = answers.sums(known)
    some = np.maximum(number, 1)
    time, word = (
        known * (values - (answers.sums(known * values) / some)[answers.rater])
        for values in (time, word)
    )
    xx, xy, yy = (answers.sums(values) for values in (word * word, word * time, time * time))
    slopes = np.maximum(0, pace + PACE_SPREAD * np.linspace(-2, 2, 9))
    prior = np.exp(-0.5 * np.linspace(-2, 2, 9) ** 2)
    errors = np.maximum(yy[:, None] - 2 * slopes * xy[:, None] + slopes**2 * xx[:, None], 1e-9)
    half = (number - 1)[:, None] / 2
    rising = np.logaddexp.reduce(np.log(prior / prior.sum()) - half * np.log(errors), axis=1)
    flat = -half[:, 0] * np.log(np.maximum(yy, 1e-9))
    enough = (number >= 8) & (xx > 1e-3 * number)
    with np.errstate(divide="ignore", invalid="ignore"):
        rises = np.where(enough, xy / xx, np.nan)
    return np.where(enough, flat - rising, 0.0), rises


def _levels(answers: Answers, weight: FloatArray) -> FloatArray:
    """Log-likelihood ratio of people's paces: readers' are normal, the others' often faster."""
    seconds = np.where(answers.seconds > 0, answers.seconds, np.nan)
    time = np.log(seconds / np.maximum(answers.words, 1.0))
    known = np.isfinite(time)
    number = answers.sums(known.astype(float))
    mean = answers.sums(np.where(known, time, 0.0)) / np.maximum(number, 1)
    enough = number >= 8
    if enough.sum() < 8:
        return np.zeros(answers.raters)
    sure = weight * enough
    centre = (sure * mean).sum() / sure.sum()
    spread = max(0.25, np.sqrt((sure * (mean - centre) ** 2).sum() / sure.sum()))
    density = np.exp(-0.5 * ((mean - centre) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    other = np.where((mean < centre) & (mean > centre - 3), 1 / 3, 0)
    ratio = np.log(0.5 + 0.5 * other / np.maximum(density, 1e-6))
    return np.where(enough, np.minimum(ratio, 8), 0.0)


def within_error(chance: FloatArray, rate: float) -> BoolArray:
    """Mask of the most people whose mean chance to be flagged wrongly is at most ``rate``."""
    order = np.argsort(-np.nan_to_num(chance), kind="stable")
    wrong = np.cumsum(1 - np.nan_to_num(chance[order])) / np.arange(1, len(order) + 1)
    mask = np.zeros(len(order), bool)
    mask[order[wrong <= rate]] = True
    return np.asarray(mask & (np.nan_to_num(chance) > 0.5))
