"""Figures of pairs where queries have unequal numbers of contexts, by hand."""

import numpy as np
import pytest

from casewise.statistics import (
    Clusters,
    clustered_mean,
    clustered_ratio,
    label_changes,
)

A = np.array


def pairs_of(query: list[int], *, alike: bool = True) -> Clusters:
    return Clusters(A(query), max(query) + 1, alike=alike)


def test_a_mean_by_hand() -> None:
    """A query with one pair (two contexts), and one with six (four contexts), of which two hit."""
    hits, query = A([1.0, 1, 1, 0, 0, 0, 0]), [0, 1, 1, 1, 1, 1, 1]
    by_query = clustered_mean(hits, pairs_of(query), kind="share")
    assert by_query.value == pytest.approx((1 + 2 / 6) / 2)
    assert (by_query.clusters, by_query.pairs) == (2, 7)
    assert by_query.effective == pytest.approx(2)
    by_pair = clustered_mean(hits, pairs_of(query, alike=False), kind="share")
    assert by_pair.value == pytest.approx(3 / 7)
    # Weights of 1 and 6: 7² / 37.
    assert by_pair.effective == pytest.approx(49 / 37)
    # Left out, each leaves the other's mean.
    assert by_query.without == pytest.approx([1 / 3, 1])


def test_a_ratio_weighs_the_pairs_that_count() -> None:
    """Of the second query four of six pairs count, one of them half; so does the first's one."""
    wholes = A([1.0, 1, 1, 1, 0.5, 0, 0])
    parts = A([1.0, 0, 1, 0, 0.5, 0, 0])
    estimate = clustered_ratio(parts, wholes, pairs_of([0, *[1] * 6]), kind="share")
    assert estimate.value == pytest.approx((1 + 1.5 / 4) / (1 + 3.5 / 4))
    assert estimate.pairs == 5


def test_equal_numbers_of_pairs_have_the_same_digits_either_way() -> None:
    rng = np.random.default_rng(1)
    values, query = rng.random(90), np.repeat(np.arange(30), 3).tolist()
    figures = [
        clustered_mean(values, pairs_of(query, alike=alike), kind="share")
        for alike in (True, False)
    ]
    assert (
        len({repr((figure.value, figure.se, figure.interval, figure.size)) for figure in figures})
        == 1
    )


def test_queries_asked_unequally_often_keep_their_number_of_pairs() -> None:
    """The first query has three answers to its pair of contexts, the second one."""
    epoch, pairs = np.array([0, 1, 2, 0]), pairs_of([0, 0, 0, 1])
    verdicts, safe = A([[1.0, 0.0]] * 4), A([[1.0, 0.0]] * 4)
    assert label_changes(verdicts, safe, epoch, pairs).follows.pairs == 2
