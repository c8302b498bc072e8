"""Shares and correlations over contexts of a query, by hand."""

import math

import numpy as np
import pytest

from casewise.statistics import Clusters, label_flips, number_clusters, shift_pcc, vote_share

A = np.array


def test_shifts_by_hand() -> None:
    p_safe = A([[0.9, 0.1], [0.6, 0.6], [0.2, 0.3], [0.8, 0.4]])
    rate = A([[0.9, 0.3], [0.8, 0.2], [0.5, 0.5], [0.7, 0.1]])
    expected = np.corrcoef([0.8, 0, -0.1, 0.4], [0.6, 0.6, 0, 0.6])[0, 1]
    found = shift_pcc(p_safe, rate, number_clusters(np.arange(4)))
    assert found.value == pytest.approx(expected)


def test_labels_that_flip_by_hand() -> None:
    # Down, up, no change, and a tie, which is half safe.
    safe = A([[1.0, 0], [0, 1], [1, 1], [0.5, 1]])
    found = label_flips(safe, number_clusters(np.arange(4)))
    assert found.value == pytest.approx(2.5 / 4)


def test_a_share_of_variance_with_unequal_numbers_of_contexts_by_hand() -> None:
    clusters = Clusters(A([0, 0, 1, 1, 1]), 2)
    # Of the contexts 2/3 on 3 degrees; (5 - 13/5) / 1 = 2.4 cases a query. One vote a case.
    safe = A([1.0, 1, 0, 1, 0])
    of_context = 2 / 3 / 3
    of_query = (6 / 5 - 2 / 3 - of_context) / 2.4
    share = of_context / (of_context + of_query)
    assert vote_share(safe, 1 - safe, clusters).value == pytest.approx(share)
    # A component of queries below 0 counts as 0.
    safe = A([1.0, 0, 0, 1, 0])
    assert vote_share(safe, 1 - safe, clusters).value == 1


def test_votes_of_another_formula_say_the_same() -> None:
    """Half the mean square of differences of two cases, of one query and of two."""
    rng = np.random.default_rng(2)
    people = rng.standard_normal((9, 1)) + rng.standard_normal((9, 5))
    votes = rng.binomial(10, 1 / (1 + np.exp(-people))).astype(float).ravel()
    query = np.repeat(np.arange(9), 5)
    same = query[:, None] == query
    np.fill_diagonal(different := same.copy(), False)
    rate = votes / 10
    chance = (rate * (1 - rate) / 9).mean()
    square = (rate[:, None] - rate) ** 2 / 2
    share = (square[different].mean() - chance) / (square[~same].mean() - chance)
    assert vote_share(votes, 10 - votes, Clusters(query, 9)).value == pytest.approx(share)


def test_votes_that_differ_by_chance_alone_have_no_share_of_contexts() -> None:
    clusters = Clusters(np.repeat(np.arange(4), 2), 4)
    found = vote_share(A([2.0, 3, 2, 3, 8, 7, 8, 7]), A([8.0, 7, 8, 7, 2, 3, 2, 3]), clusters)
    assert found.value == 0
    assert found.reason
    assert math.isnan(found.interval[0])
