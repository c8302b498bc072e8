"""Surface clues to the intended side: words, single parameters, lengths.

A linear classifier is asked about queries that it was not fitted on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from casewise.cases import Case, whole_queries
from casewise.contexts import Words, number_words
from casewise.statistics import (
    UNDEFINED,
    BoolArray,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    clustered_mean,
    grouped_folds,
)

FOLDS, SEED = 10, 0

LEAST_SIDE = 10
"""Cases of either side, and groups, below which nothing is fitted."""

MOST_CASES = 4_000
"""Cases of whole groups that are drawn of a larger set: more make it slower, and say no more."""

LEAST_CASES = 2
"""Cases of the fitting folds that must hold a word: one case alone says nothing about others."""

MOST_WORDS = 4
"""Telling words listed for either side."""

LEAST_WITH = 0.05
"""Share of the contexts that must have a parameter for it to be measured alone."""

ABSENT = "∅"
"""Sign in place of a parameter that a context lacks: that, too, can give a side away."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Accuracy of guessing the intended side."""

    accuracy: Estimate
    """Out of fold, clustered by group; undefined of too few cases."""
    chance: float
    """The share of the larger side; NaN of no cases."""
    cases: int
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The heaviest words that speak for ``safe`` and for ``unsafe``."""

    @property
    def beyond_chance(self) -> float:
        """The lower end of the interval less chance; NaN where undefined."""
        return self.accuracy.interval[0] - self.chance


@dataclass(frozen=True, slots=True)
class Leakage:
    """Accuracy of guessing the intended side from the surface."""

    context: Guess
    """From the words of the context, each there or not."""
    query: Guess
    """From the words of the query: at chance where every query has a twin."""
    lengths: Guess
    """From the numbers of words of the context and of its parameters."""
    parameters: dict[str, Guess]
    """From the words of one parameter alone, the most telling first."""
    groups: int
    """Groups of queries that share no context text: what folds and intervals are made of."""


def leakage(
    cases: Sequence[Case],
    contexts: Mapping[str, str],
    parameters: Mapping[str, Mapping[str, str]],
) -> Leakage:
    """Guess the intended side of cases from their surface.

    Args:
        cases: Cases with a context and an intended side.
        contexts: The text of each context, by case.
        parameters: The text of each parameter, by case.
    """
    groups = _groups(cases, contexts)
    if len(cases) > MOST_CASES:
        drawn = np.random.default_rng(SEED).permutation(groups.max() + 1)[groups]
        drawn = np.argsort(drawn, kind="stable")[:MOST_CASES]
        cases, groups = [cases[place] for place in np.sort(drawn)], groups[np.sort(drawn)]
    safe = np.array([case.intended == "safe" for case in cases], bool)

    def guess(words: Words) -> Guess:
        return _guess(words.bag(), safe, groups, words.names)

    context = number_words(contexts[case.id] for case in cases)
    counts = Counter(name for case in cases for name in parameters[case.id])
    lengths, by_parameter = [context.lengths], {}
    for name, present in counts.items():
        if present < LEAST_WITH * len(cases):
            continue
        values = [parameters[case.id].get(name) for case in cases]
        words = number_words(ABSENT if value is None else value for value in values)
        by_parameter[name] = guess(words)
        lengths.append(np.where([value is None for value in values], 0, words.lengths))
    table = np.log1p(np.column_stack(lengths).astype(float))
    ranked = sorted(by_parameter.items(), key=lambda named: -np.nan_to_num(named[1].accuracy.value))
    return Leakage(
        guess(context),
        _guess(number_words(case.query for case in cases).bag(), safe, groups),
        _guess(table, safe, groups),
        dict(ranked),
        len(np.unique(groups)),
    )


def _groups(cases: Sequence[Case], contexts: Mapping[str, str]) -> IntArray:
    """Number cases so that queries of one wording, or with a context in common, are together.

    A text that stood in two folds would be recognised rather than guessed.
    """
    # Loaded late, as in whole_queries.
    from scipy.cluster.hierarchy import DisjointSet

    together: Any = DisjointSet()
    for number, group in enumerate(whole_queries(cases)):
        for case in group:
            marks = ("query", number), ("text", contexts[case.id])
            for mark in marks:
                together.add(mark)
            together.merge(*marks)
    numbers: dict[Any, int] = {}
    roots = (together["text", contexts[case.id]] for case in cases)
    return np.array([numbers.setdefault(root, len(numbers)) for root in roots], np.int64)


def _guess(
    features: Any,
    safe: BoolArray,
    groups: IntArray,
    names: Sequence[str] = (),
) -> Guess:
    """Guess sides by logistic regression (L2, C = 1) in ten folds of whole groups.

    Everything is fitted inside the folds: for a sparse table of words, which words are used at
    all; for a dense one, the mean and spread that features are scaled by.

    Args:
        features: A sparse table of 0 and 1, or a dense one of numbers. Shape ``(n, k)``.
        safe: Whether each case is intended safe. Shape ``(n,)``.
        groups: The group of each; none is split. Shape ``(n,)``.
        names: Words of the columns.
    """
    n = len(safe)
    chance = float(max(safe.mean(), 1 - safe.mean())) if n else float("nan")
    nothing = Guess(UNDEFINED, chance, n)
    distinct, place = np.unique(groups, return_inverse=True)
    if min(safe.sum(), (~safe).sum(), len(distinct)) < LEAST_SIDE:
        return nothing
    folds = grouped_folds(place, FOLDS, SEED)
    right = np.zeros(n)
    weights = np.full((FOLDS, features.shape[1]), np.nan)
    for fold in range(FOLDS):
        test = folds == fold
        if len(np.unique(safe[~test])) < 2:
            return nothing
        fitted, used, guessed = _fit(features[~test], safe[~test], features[test])
        right[test] = guessed == safe[test]
        weights[fold, used] = fitted
    clusters = Clusters(place.astype(np.int64), len(distinct))
    accuracy = clustered_mean(right, clusters, kind="share")
    words = _telling_words(names, weights) if names else {}
    return Guess(accuracy, chance, n, words)


def _telling_words(names: Sequence[str], weights: FloatArray) -> dict[str, tuple[str, ...]]:
    """The heaviest words of either side, among those whose weight has one sign in every fold.

    ``weights`` are NaN where a fold did not use a word. Shape ``(folds, words)``.
    """
    stable = (weights > 0).all(axis=0) | (weights < 0).all(axis=0)
    mean = np.where(stable, weights.mean(axis=0), 0.0)
    order = np.argsort(-np.abs(mean), kind="stable")
    sides = {"safe": mean[order] > 0, "unsafe": mean[order] < 0}
    return {
        side: tuple(names[column] for column in order[here][:MOST_WORDS])
        for side, here in sides.items()
        if here.any()
    }


def _fit(train: Any, safe: BoolArray, test: Any) -> tuple[FloatArray, IntArray, BoolArray]:
    """Weights, the columns that they belong to, and what is said about the test cases."""
    # Loaded late: scikit-learn takes longer to load than most commands take to run.
    from scipy.sparse import issparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    used = np.arange(train.shape[1])
    if issparse(train):
        used = np.flatnonzero(np.asarray(train.sum(axis=0)).ravel() >= LEAST_CASES)
        train, test = train[:, used], test[:, used]
        if not len(used):
            return np.empty(0), used, np.full(test.shape[0], safe.mean() > 0.5)
    else:
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    model = LogisticRegression(C=1.0, solver="liblinear", max_iter=1000, random_state=0)
    model.fit(train, safe)
    return model.coef_[0], used, np.asarray(model.predict(test), bool)
