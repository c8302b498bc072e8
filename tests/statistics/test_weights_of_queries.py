"""Figures of pairs where queries have unequal numbers of contexts, by hand."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.statistics import (
    Clusters,
    Contexts,
    Pairs,
    WithinQueries,
    clustered_mean,
    clustered_ratio,
    context_sensitivity,
    paired_change,
    within_queries,
)

A = np.array


def pairs_of(query: list[int], *, alike: bool | None) -> Clusters:
    return Clusters(A(query), max(query) + 1, alike=alike)


def test_a_mean_by_hand() -> None:
    """A query with one pair (two contexts), and one with six (four contexts), of which two hit."""
    hits, query = A([1.0, 1, 1, 0, 0, 0, 0]), [0, 1, 1, 1, 1, 1, 1]
    by_query = clustered_mean(hits, pairs_of(query, alike=True), share=True)
    assert by_query.value == pytest.approx((1 + 2 / 6) / 2)
    assert (by_query.clusters, by_query.pairs) == (2, 7)
    assert by_query.effective == pytest.approx(2)
    by_pair = clustered_mean(hits, pairs_of(query, alike=False), share=True)
    assert by_pair.value == pytest.approx(3 / 7)
    # Weights of 1 and 6: 7² / 37.
    assert by_pair.pairs == 7
    assert by_pair.effective == pytest.approx(49 / 37)
    # Left out, each leaves the other's mean.
    assert by_query.without == pytest.approx([1 / 3, 1])
    reason = "2.0 effective queries; an interval takes 10 where queries have unequal numbers of"
    assert by_query.reason.startswith(reason)
    assert all(map(math.isnan, by_query.interval))


def test_a_ratio_weighs_the_pairs_that_count() -> None:
    """Of the second query four of six pairs count, one of them half; so does the first's one."""
    wholes = A([1.0, 1, 1, 1, 0.5, 0, 0])
    parts = A([1.0, 0, 1, 0, 0.5, 0, 0])
    found = clustered_ratio(parts, wholes, pairs_of([0, *[1] * 6], alike=True), share=True)
    assert found.value == pytest.approx((1 + 1.5 / 4) / (1 + 3.5 / 4))
    assert found.pairs == 5


def test_equal_numbers_of_pairs_have_the_same_digits_either_way() -> None:
    rng = np.random.default_rng(1)
    values, query = rng.random(90), np.repeat(np.arange(30), 3).tolist()
    figures = [
        clustered_mean(values, pairs_of(query, alike=alike), share=True)
        for alike in (True, False, None)
    ]
    assert len({repr((one.value, one.se, one.interval, one.size)) for one in figures}) == 1
    assert not any(one.uneven for one in figures)


Verdicts = list[list[float]]


def said_of(queries: Verdicts) -> tuple[Contexts, np.ndarray, Clusters]:
    """Contexts of queries by the model's probability of safe; people's share is its square."""
    p = A([value for one in queries for value in one], float)
    index = np.repeat(np.arange(len(queries)), [len(one) for one in queries])
    pairs = [
        two
        for number in range(len(queries))
        for two in combinations(np.flatnonzero(index == number).tolist(), 2)
    ]
    none = np.full(len(p), math.nan)
    said, safe = (p > 0.5).astype(float), (p * p > 0.5).astype(float)
    cases = Contexts(said, p, safe, p * p, none, none)
    return cases, A(pairs, np.int64).reshape(-1, 2), Clusters(index, len(queries), alike=True)


def within(queries: Verdicts) -> WithinQueries:
    return within_queries(*said_of(queries))


def test_the_correlation_within_queries_is_of_means_over_pairs() -> None:
    """Covariance and variances of a query are the means over its pairs of products of gaps."""
    queries = [[0.2, 0.9], [0.1, 0.3, 0.6, 0.9]]
    products = []
    for one in queries:
        gaps = [(a - b, a * a - b * b) for a, b in combinations(one, 2)]
        products.append(np.mean([(x * y, x * x, y * y) for x, y in gaps], axis=0))
    xy, xx, yy = np.sum(products, axis=0)
    found = within(queries).pcc_within_query
    assert found.value == pytest.approx(xy / math.sqrt(xx * yy))
    assert (found.clusters, found.pairs) == (2, 7)


some_queries = st.lists(
    st.lists(st.floats(0, 1, width=16), min_size=2, max_size=4), min_size=2, max_size=5
)


@given(some_queries, st.integers(2, 6))
def test_copies_of_a_query_s_contexts_do_not_move_what_others_say(
    queries: Verdicts, times: int
) -> None:
    """The figure is the mean over queries of each alone, however many contexts the first has."""
    several = [queries[0] * times, *queries[1:]]
    alone = [within([one]).model_flips.value for one in several]
    assert within(several).model_flips.value == pytest.approx(np.mean(alone))
    rest = sum(within([one]).model_flips.value for one in queries[1:])
    whole = len(several) * within(several).model_flips.value
    assert whole - alone[0] == pytest.approx(rest)


def test_pairs_of_authors_and_replies_weigh_alike_too() -> None:
    """One pair that adapts, and four that don't, of two contexts meant safe and two unsafe."""
    said = A([[1.0, 0], [1, 1], [1, 1], [1, 1], [1, 1]])
    none = np.full(said.shape, math.nan)
    pairs = Pairs(said, said, none, A([[1.0, 0]] * 5), A([[1.0, 0]] * 5))
    found = context_sensitivity(pairs, pairs_of([0, 1, 1, 1, 1], alike=True))
    assert found.as_intended.value == found.flip_recall.value == 1 / 2
    assert found.always_safe.value == 1 / 2
    assert found.flip_precision.value == 1


def test_a_query_with_one_pair_could_have_moved() -> None:
    """Forty queries with six pairs, of which one moves, and forty with one that doesn't."""
    query = [number for number in range(40) for _ in range(6)] + list(range(40, 80))
    before = np.zeros(len(query))
    after = np.where(np.arange(len(query)) % 6 == 0, 1.0, 0.0) * (A(query) < 40)
    clusters = pairs_of(query, alike=True)
    one, other = (clustered_mean(hits, clusters, share=True) for hits in (before, after))
    assert not one.reason
    assert one.uneven
    assert not paired_change(one, other).reason
    after[6 * 10 :] = 0
    few = paired_change(one, clustered_mean(after, clusters, share=True))
    assert few.reason == "10 of 80 queries moved; an interval takes 20"
