"""Two groups among the people who vote."""

import math
from dataclasses import dataclass

import numpy as np

from casewise.statistics import BoolArray, FloatArray, IntArray

NO_SHARES = (math.nan, math.nan)
"""Shares of pairs that agree where there are too few people for groups."""

STEPS = 8
"""Newton's, of each side, in fitting the Rasch model: the priors make it converge soon."""

CASE_PRECISION, PERSON_PRECISION = 0.3, 1.0
"""Precisions of the normal priors of cases and of leniency, in log-odds."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoGroups:
    """Two groups of people that agree within more than leniency and chance explain."""

    p: float
    """p of so much structure if people differed in leniency alone; one-sided, by simulation. NaN
    with fewer than three people."""
    second: BoolArray
    """True of the smaller group. Shape ``(raters,)``."""
    within: tuple[float, float]
    """Share of pairs of votes on a case that say the same, in the larger and the smaller group,
    0..1; NaN without pairs."""
    between: float
    """The same of pairs with one vote of each group."""


def two_groups(
    verdict: FloatArray, case: IntArray, rater: IntArray, raters: int, draws: int, seed: int
) -> TwoGroups:
    """Test whether the residuals of a Rasch model share a factor, and split people by it.

    The model gives each case and each person (leniency) a number, and takes votes for independent
    given these. A second kind of voter, such as people who hand the question to one language
    model, leaves residuals that go together. The test is Horn's parallel analysis (1965,
    doi:10.1007/BF02289447) with the fitted model in place of noise: the largest eigenvalue of what
    each two people's residuals have in common, against that of votes drawn from the model. It
    tells that there are two groups; which of them is to be believed, votes alone can't tell.

    Args:
        verdict: 1 safe, 0 unsafe. Shape ``(votes,)``.
        case: A number for the case of each vote, from 0. Shape ``(votes,)``.
        rater: 0..raters-1. Shape ``(votes,)``.
        raters: How many raters there are.
        draws: Simulated studies; p is 1 / (draws + 1) at least.
        seed: Of the draws.
    """
    if len(np.unique(rater)) < 3:
        return TwoGroups(math.nan, np.zeros(raters, bool), NO_SHARES, math.nan)
    expected = _rasch(verdict, case, rater, raters)

    def in_common(residual: FloatArray) -> FloatArray:
        """The sum, over cases that both judged, of each two people's products of residuals."""
        table = np.zeros((raters, int(case.max()) + 1))
        table[rater, case] = residual
        common = table @ table.T
        np.fill_diagonal(common, 0.0)
        return common

    values, vectors = np.linalg.eigh(in_common(verdict - expected))
    rng = np.random.default_rng(seed)
    at_least = 0
    for _ in range(draws):
        drawn = (rng.random(len(expected)) < expected).astype(float)
        common = in_common(drawn - _rasch(drawn, case, rater, raters))
        at_least += bool(np.linalg.eigvalsh(common)[-1] >= values[-1])
    second = _split(vectors[:, -1])
    first, other = _tallies(verdict, case, ~second[rater]), _tallies(verdict, case, second[rater])
    return TwoGroups(
        p=(1 + at_least) / (1 + draws),
        second=second,
        within=(_same_within(*first), _same_within(*other)),
        between=_same_between(*first, *other),
    )


def _split(factor: FloatArray) -> BoolArray:
    """The smaller of the two parts that leave the least variance within them (Fisher 1958).

    doi:10.1080/01621459.1958.10501479.
    """
    order = np.argsort(factor)
    n, below = np.arange(1, len(factor)), np.cumsum(factor[order])[:-1]
    above = factor.sum() - below
    cut = int(np.argmax(below**2 / n + above**2 / (len(factor) - n))) + 1
    second = np.zeros(len(factor), bool)
    second[order[:cut] if 2 * cut <= len(factor) else order[cut:]] = True
    return second


def _rasch(verdict: FloatArray, case: IntArray, rater: IntArray, raters: int) -> FloatArray:
    """The chance of each vote to be 1, by the mode of its case's and its rater's numbers."""
    of_case, of_rater = np.zeros(int(case.max()) + 1), np.zeros(raters)
    sides = ((of_case, case, CASE_PRECISION), (of_rater, rater, PERSON_PRECISION))
    for _ in range(STEPS):
        for numbers, whose, precision in sides:
            chance = 1 / (1 + np.exp(-of_case[case] - of_rater[rater]))
            slope = np.bincount(whose, verdict - chance, minlength=len(numbers))
            bend = np.bincount(whose, chance * (1 - chance), minlength=len(numbers))
            step = (slope - precision * numbers) / (bend + precision)
            numbers += np.clip(step, -1, 1)
    return 1 / (1 + np.exp(-of_case[case] - of_rater[rater]))


def _tallies(verdict: FloatArray, case: IntArray, kept: BoolArray) -> list[FloatArray]:
    """Votes of 1 and of 0 on each case."""
    cases = int(case.max()) + 1
    ones = np.bincount(case[kept], verdict[kept], minlength=cases).astype(float)
    return [ones, np.bincount(case[kept], minlength=cases) - ones]


def _same_within(ones: FloatArray, zeros: FloatArray) -> float:
    votes = ones + zeros
    pairs = float((votes * (votes - 1)).sum())
    same = float((ones * (ones - 1) + zeros * (zeros - 1)).sum())
    return same / pairs if pairs else math.nan


def _same_between(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> float:
    pairs = float(((a + b) * (c + d)).sum())
    return float((a * c + b * d).sum()) / pairs if pairs else math.nan
