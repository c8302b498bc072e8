"""Surface clues to the intended side: words, single parameters, lengths.

A linear classifier is asked about queries that it was not fitted on.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casewise.cases import whole_queries
from casewise.contexts import words_of
from casewise.dataset._findings import Finding, Material, measured
from casewise.sheets import number
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

FOLDS = 10

LEAST_SIDE = 10
"""Cases of either side, and groups, below which nothing is fitted."""

LEAST_CASES = 2
"""Cases of the fitting folds that must hold a word: one case alone says nothing about others."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Accuracy of guessing the intended side."""

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
    from sklearn.feature_extraction.text import CountVectorizer

    if not any(words):
        return csr_matrix((len(words), 0)), []
    vectorizer = CountVectorizer(analyzer=list, binary=True, dtype=float)
    return vectorizer.fit_transform(words), vectorizer.get_feature_names_out().tolist()


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


BEYOND = 0.1
"""Accuracy above chance that the whole interval must exceed for a finding."""

MOST_WORDS = 10
"""Telling words listed for either side."""

LEAST_WITH = 0.05
"""Share of the contexts that must have a parameter for it to be measured alone."""

ABSENT = "(absent)"
"""Word in place of a parameter that a context lacks: that, too, can give a side away."""


@dataclass(frozen=True, slots=True)
class ParameterGuess:
    """Accuracy of guessing the side from one parameter alone."""

    parameter: str
    present: int
    """Cases that have it."""
    guess: Guess
    words: tuple[TellingWord, ...]


@dataclass(frozen=True, slots=True)
class Leakage:
    """Accuracy of guessing the intended side from the surface."""

    context: Guess
    """From the words of the context, each there or not."""
    query: Guess
    """From the words of the query: at chance where every query has a twin."""
    lengths: Guess
    """From the numbers of words of the context and of its parameters."""
    words: tuple[TellingWord, ...]
    parameters: tuple[ParameterGuess, ...]
    """Guesses from one parameter alone, the most telling first."""
    groups: int
    """Groups of queries that share no context text: what folds and intervals are made of."""


def leakage(material: Material, seed: int) -> tuple[Leakage, list[Finding]]:
    """Guess the intended side from the surface of the cases that have one."""
    kept = [
        place
        for place, case in enumerate(material.cases)
        if case.intended is not None and case.context is not None
    ]
    safe = np.array([material.cases[place].intended == "safe" for place in kept], bool)
    groups = _groups(material, kept)

    def from_words(
        texts: Sequence[Sequence[str]], most: int
    ) -> tuple[Guess, tuple[TellingWord, ...]]:
        table, names = bag(texts)
        found, weights = guess(table, safe, groups, seed)
        return found, telling_words(table, names, weights, safe, most)

    context, words = from_words([material.words[place] for place in kept], MOST_WORDS)
    query, _ = from_words([words_of(material.cases[place].query) for place in kept], 0)
    counts = Counter(name for place in kept for name in material.parameters[place])
    lengths, parameters = [[len(material.words[place]) for place in kept]], []
    for name, present in counts.items():
        if present < LEAST_WITH * len(kept):
            continue
        values = [material.parameters[place].get(name) for place in kept]
        texts = [[ABSENT] if value is None else words_of(value) for value in values]
        parameters.append(ParameterGuess(name, present, *from_words(texts, MOST_WORDS // 2)))
        lengths.append([len(words_of(value or "")) for value in values])
    table = np.log1p(np.column_stack(lengths).astype(float))
    leaked = Leakage(
        context,
        query,
        guess(table, safe, groups, seed)[0],
        words,
        tuple(sorted(parameters, key=lambda one: -np.nan_to_num(one.guess.accuracy.value))),
        len(np.unique(groups)),
    )
    return leaked, [*_findings(leaked)]


def _groups(material: Material, kept: Sequence[int]) -> IntArray:
    """Number cases so that queries of one wording, or with a context in common, are together.

    A text that stood in two folds would be recognised rather than guessed.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    queries = {
        case.id: number
        for number, group in enumerate(whole_queries(material.cases))
        for case in group
    }
    texts: dict[str, int] = {}
    rows = [queries[material.cases[place].id] for place in kept]
    columns = [texts.setdefault(material.contexts[place], len(texts)) for place in kept]
    size = len(queries) + len(texts)
    links = (np.ones(len(rows)), (rows, [len(queries) + column for column in columns]))
    numbers = connected_components(coo_matrix(links, shape=(size, size)), directed=False)[1]
    return np.asarray(numbers[rows], np.int64)


def _findings(leaked: Leakage) -> Iterator[Finding]:
    found = [
        (
            "shortcut-leakage",
            leaked.context,
            "A classifier that sees only which words stand in the context guesses the intended "
            f"side right in {_share(leaked.context)} of cases: a model can score without weighing "
            f"context against query. {_telling(leaked.words)}",
        ),
        (
            "query-leakage",
            leaked.query,
            "From the words of the query alone the intended side is guessed right in "
            f"{_share(leaked.query)} of cases. Give every query a context of either side.",
        ),
        (
            "length-leakage",
            leaked.lengths,
            "From the lengths of the context and of its parameters alone the intended side is "
            f"guessed right in {_share(leaked.lengths)} of cases. Make twins equally long.",
        ),
    ]
    telling = [one for one in leaked.parameters if one.guess.beyond_chance > BEYOND]
    if telling:
        top, *rest = telling
        others = ", ".join(f"{one.parameter} {_share(one.guess)}" for one in rest[:3])
        found.append(
            (
                "parameter-leakage",
                top.guess,
                f"The words of {top.parameter} alone give the intended side in "
                f"{_share(top.guess)} of cases{f' ({others})' if others else ''}. "
                f"{_telling(top.words)}",
            )
        )
    for code, guessed, text in found:
        if guessed.beyond_chance > BEYOND:
            n, accuracy = guessed.n, guessed.accuracy
            yield measured(code, text.strip(), accuracy.value, n, n, interval=accuracy.interval)


def _share(guessed: Guess) -> str:
    return number(guessed.accuracy.value)


def _telling(words: Sequence[TellingWord], most: int = 4) -> str:
    """The heaviest words of either side, where there are any."""
    parts = []
    for side, sign in (("safe", 1), ("unsafe", -1)):
        named = [word.word for word in words if math.copysign(1, word.weight) == sign][:most]
        if named:
            parts.append(f"for {side}: {', '.join(named)}")
    return f"Words that speak {'; '.join(parts)}." if parts else ""
