"""What a linear classifier makes of surface features, on queries it was not fitted on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casewise.statistics import UNDEFINED, Clusters, Estimate, clustered_mean, grouped_folds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

FOLDS = 10

LEAST_SIDE = 10
"""Cases of either side, and groups, below which nothing is fitted."""

LEAST_CASES = 2
"""Cases of the fitting folds that must hold a word: one case alone says nothing about others."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How well the intended side is guessed."""

    accuracy: Estimate
    """Out of fold, clustered by group; undefined of too few cases."""
    chance: float
    """The share of the larger side; NaN of no cases."""
    n: int
    """Cases."""

    @property
    def beyond_chance(self) -> float:
        """The lower end of the interval less chance; NaN where undefined."""
        return self.accuracy.interval[0] - self.chance


@dataclass(frozen=True, slots=True)
class TellingWord:
    """A word whose weight has the same sign in every fold."""

    word: str
    weight: float
    """Mean over the folds, in log-odds of safe: above 0 speaks for safe."""
    safe: int
    """Cases intended safe that hold it."""
    unsafe: int


def guess(features: Any, safe: BoolArray, groups: IntArray, seed: int) -> tuple[Guess, FloatArray]:
    """Guess sides by logistic regression (L2, C = 1) in ten folds of whole groups.

    Everything is fitted inside the folds: for a sparse table of words, which words are used at
    all; for a dense one, the mean and spread that features are scaled by.

    Args:
        features: A sparse table of 0 and 1, or a dense one of numbers. Shape ``(n, k)``.
        safe: Whether each case is intended safe. Shape ``(n,)``.
        groups: The group of each; none is split. Shape ``(n,)``.
        seed: Of the folds.

    Returns:
        The guess, and the weights of each fold, shape ``(folds, k)``: NaN where a feature was not
        used. No folds where nothing is fitted.
    """
    n = len(safe)
    chance = float(max(safe.mean(), 1 - safe.mean())) if n else float("nan")
    nothing = Guess(UNDEFINED, chance, n), np.empty((0, features.shape[1]))
    distinct, place = np.unique(groups, return_inverse=True)
    if min(safe.sum(), (~safe).sum(), len(distinct)) < LEAST_SIDE:
        return nothing
    folds = grouped_folds(place, FOLDS, seed)
    right = np.zeros(n)
    weights = np.full((FOLDS, features.shape[1]), np.nan)
    for fold in range(FOLDS):
        test = folds == fold
        if len(np.unique(safe[~test])) < 2:
            return nothing
        fitted, used, said = _fit(features[~test], safe[~test], features[test])
        right[test] = said == safe[test]
        weights[fold, used] = fitted
    clusters = Clusters(place.astype(np.int64), len(distinct))
    return Guess(clustered_mean(right, clusters, share=True), chance, n), weights


def bag(words: Sequence[Sequence[str]]) -> tuple[Any, list[str]]:
    """A sparse table of 0 and 1, and the word of each column. Shape ``(texts, words)``."""
    from scipy.sparse import csr_matrix

    names = sorted({word for text in words for word in text})
    columns = {word: column for column, word in enumerate(names)}
    sets = [sorted({columns[word] for word in text}) for text in words]
    ends = np.cumsum([0, *map(len, sets)])
    places = np.array([column for one in sets for column in one], np.int64)
    table = csr_matrix((np.ones(len(places)), places, ends), shape=(len(words), len(names)))
    return table, names


def telling_words(
    table: Any, names: Sequence[str], weights: FloatArray, safe: BoolArray, most: int
) -> tuple[TellingWord, ...]:
    """The words with the largest weights among those whose sign is the same in every fold.

    ``most`` for either side, those that speak for safe first.
    """
    if not len(weights) or not names:
        return ()
    stable = (weights > 0).all(axis=0) | (weights < 0).all(axis=0)
    mean = np.where(stable, weights.mean(axis=0), 0.0)
    order = np.argsort(-np.abs(mean), kind="stable")
    chosen = [
        *[column for column in order if mean[column] > 0][:most],
        *[column for column in order if mean[column] < 0][:most],
    ]
    there = np.asarray(table[:, chosen].todense() > 0)
    return tuple(
        TellingWord(
            names[column],
            float(mean[column]),
            int(there[safe, at].sum()),
            int(there[~safe, at].sum()),
        )
        for at, column in enumerate(chosen)
    )


def _fit(train: Any, safe: BoolArray, test: Any) -> tuple[FloatArray, IntArray, BoolArray]:
    """Weights, the columns that they belong to, and what is said about the test cases."""
    # Loaded late: scikit-learn takes longer to load than most commands take to run.
    from scipy.sparse import issparse
    from sklearn.linear_model import LogisticRegression

    if issparse(train):
        used = np.flatnonzero(np.asarray(train.sum(axis=0)).ravel() >= LEAST_CASES)
        train, test = train[:, used], test[:, used]
    else:
        # Not by the spread, which rounding can leave above 0 where all are alike.
        used = np.flatnonzero(np.ptp(train, axis=0))
        train, test = train[:, used], test[:, used]
        centre, spread = train.mean(axis=0), train.std(axis=0)
        train, test = (train - centre) / spread, (test - centre) / spread
    if not len(used):
        said = np.full(test.shape[0], safe.mean() > 0.5)
        return np.empty(0), used, said
    model = LogisticRegression(C=1.0, solver="liblinear", max_iter=1000, random_state=0)
    model.fit(train, safe)
    return model.coef_[0], used, np.asarray(model.predict(test), bool)
