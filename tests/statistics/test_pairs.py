"""What a model does with the contexts of a query, two or more, by hand and by simulation."""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from casewise.statistics import (
    Clusters,
    Contexts,
    ContextSensitivity,
    Estimate,
    Pairs,
    WithinQueries,
    context_sensitivity,
    context_share,
    credits,
    flips,
    in_order,
    number_clusters,
    shift_pcc,
    vote_share,
    within_queries,
)

A = np.array
Rows = Sequence[Sequence[float]]


def sensitivity(
    said: Rows,
    safe: Rows,
    p_safe: Rows | None = None,
    rate: Rows | None = None,
) -> ContextSensitivity:
    truth, verdicts = A(safe, float).reshape(-1, 2), A(said, float).reshape(-1, 2)
    nothing = np.full(truth.shape, np.nan)
    pairs = Pairs(
        said=verdicts,
        right=credits(truth, verdicts),
        p_safe=nothing if p_safe is None else A(p_safe),
        safe=truth,
        rate=truth if rate is None else A(rate),
    )
    return context_sensitivity(pairs, number_clusters(np.arange(len(truth))))


def test_quadrants_by_hand() -> None:
    # As intended twice, safe always, unsafe always, inverted.
    said: Rows = [[1, 0], [1, 0], [1, 1], [0, 0], [0, 1]]
    # People flip in the first four pairs, and in the last they call both unsafe.
    safe: Rows = [[1, 0], [1, 0], [1, 0], [1, 0], [0, 0]]
    found = sensitivity(said, safe)
    assert found.pairs == 5
    shares = [found.as_intended, found.always_safe, found.always_unsafe, found.inverted]
    assert [one.value for one in shares] == [2 / 5, 1 / 5, 1 / 5, 1 / 5]
    assert found.flip_rate.value == pytest.approx(3 / 5)
    assert found.both_right.value == pytest.approx(2 / 5)
    # Of four flips of people the model follows two; of its two flips from safe to unsafe both are
    # theirs.
    assert found.flip_recall.value == pytest.approx(2 / 4)
    assert found.flip_precision.value == pytest.approx(2 / 2)
    assert math.isnan(found.rank_accuracy.value)


def test_ranks_and_shifts_by_hand() -> None:
    p_safe = [[0.9, 0.1], [0.6, 0.6], [0.2, 0.3], [0.8, 0.4]]
    rate = [[0.9, 0.3], [0.8, 0.2], [0.5, 0.5], [0.7, 0.1]]
    said: Rows = [[1, 0], [1, 1], [0, 0], [1, 0]]
    found = sensitivity(said, [[1.0, 0]] * 4, p_safe, rate)
    assert found.rank_accuracy.value == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    shifts = shift_pcc(A(p_safe), A(rate), number_clusters(np.arange(4)))
    expected = np.corrcoef([0.8, 0, -0.1, 0.4], [0.6, 0.6, 0, 0.6])[0, 1]
    assert shifts.value == pytest.approx(expected)


def test_ties_count_half() -> None:
    # A tie in the first context: people flip by half, and either verdict there is half right.
    found = sensitivity([[1.0, 0], [1, 0]], [[0.5, 0], [1, 0]])
    assert found.both_right.value == pytest.approx((0.5 + 1) / 2)
    assert found.flip_recall.value == pytest.approx(1.5 / 1.5)
    assert found.flip_precision.value == pytest.approx(1.5 / 2)


def test_nobody_flips() -> None:
    found = sensitivity([[1.0, 1], [0, 0]], [[1.0, 1], [0, 0]])
    assert found.flip_rate.value == 0
    assert math.isnan(found.flip_recall.value)
    assert math.isnan(found.flip_precision.value)


def test_no_pairs() -> None:
    found = sensitivity([], [])
    assert found.pairs == 0
    assert math.isnan(found.flip_rate.value)
    assert math.isnan(found.both_right.value)


K = 5
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def every_two(queries: int, k: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    first, second = np.triu_indices(k, 1)
    places = np.arange(queries)[:, None, None] * k + np.stack([first, second], axis=1)
    return places.reshape(-1, 2)


def within(votes: FloatArray, p_safe: FloatArray, panel: float = 10) -> WithinQueries:
    """Safe votes of a panel, and a model's probabilities, of shape ``(queries, contexts)``."""
    rate = votes.ravel() / panel
    cases = Contexts(
        said=(p_safe.ravel() > 0.5).astype(float),
        p_safe=p_safe.ravel(),
        safe=np.where(rate == 0.5, 0.5, rate > 0.5),
        rate=rate,
        votes_safe=votes.ravel(),
        votes_unsafe=panel - votes.ravel(),
    )
    queries, k = votes.shape
    clusters = Clusters(np.repeat(np.arange(queries), k), queries)
    return within_queries(cases, every_two(queries, k), clusters)


def values(found: WithinQueries) -> dict[str, float]:
    names = WithinQueries.__dataclass_fields__
    return {name: getattr(found, name).value for name in names}


VOTES = np.tile([10.0, 8, 6, 2, 0], (6, 1))


def test_a_model_that_follows_the_context() -> None:
    found = values(within(VOTES, VOTES / 10))
    assert found.pop("pcc_within_query") == pytest.approx(1)
    # Every query is alike in the mean.
    assert math.isnan(found.pop("pcc_between_queries"))
    assert found == {
        "rank_agreement": 1,
        "vote_share": 1,
        "verdict_share": 1,
        "people_flips": 6 / 10,
        "model_flips": 6 / 10,
        "missed_flips": 0,
        "extra_flips": 0,
    }


def test_a_model_that_ignores_the_context() -> None:
    p_safe = np.repeat([[0.1], [0.2], [0.4], [0.6], [0.7], [0.9]], K, axis=1)
    found = values(within(VOTES, p_safe))
    assert (found["rank_agreement"], found["verdict_share"], found["model_flips"]) == (0.5, 0, 0)
    assert found["missed_flips"] == 1
    assert math.isnan(found["extra_flips"])
    assert math.isnan(found["pcc_within_query"])


def test_a_model_that_goes_by_the_query_alone_differs_by_no_rounding() -> None:
    rng = np.random.default_rng(4)
    votes, _ = drawn(30, 3, rng)
    found = within(votes, np.repeat(rng.random((30, 1)), 3, axis=1))
    assert math.isnan(found.pcc_within_query.value)
    assert found.verdict_share.value == 0
    assert math.isnan(found.verdict_share.interval[0])


def test_a_model_that_calls_everything_unsafe() -> None:
    found = values(within(VOTES, np.full(VOTES.shape, 0.0)))
    assert (found["rank_agreement"], found["model_flips"], found["missed_flips"]) == (0.5, 0, 1)
    # It has no variance to take a share of.
    for name in ("verdict_share", "extra_flips", "pcc_within_query", "pcc_between_queries"):
        assert math.isnan(found[name]), name


def drawn(queries: int, k: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    people = rng.standard_normal((queries, 1)) + rng.standard_normal((queries, k))
    own = 0.6 * rng.standard_normal((queries, 1)) + 0.8 * rng.standard_normal((queries, k))
    rate, p_safe = (1 / (1 + np.exp(-one)) for one in (people, 0.7 * people + own - 0.3))
    return rng.binomial(10, rate).astype(float), p_safe


def test_formulas_of_another_kind_say_the_same() -> None:
    votes, p_safe = drawn(9, K, np.random.default_rng(2))
    found, rate = within(votes, p_safe), votes / 10
    agreed = [
        float(np.sign(p[i] - p[j]) == np.sign(r[i] - r[j]))
        for p, r in zip(p_safe, rate, strict=True)
        for i in range(K)
        for j in range(i)
        if r[i] != r[j]
    ]
    assert found.rank_agreement.value == pytest.approx(np.mean(agreed))
    # A query's own mean taken off is a regression with an indicator for each query.
    indicators = np.kron(np.eye(9), np.ones((K, 1)))
    hat = np.eye(9 * K) - indicators @ np.linalg.pinv(indicators)
    left = np.corrcoef(hat @ p_safe.ravel(), hat @ rate.ravel())[0, 1]
    assert found.pcc_within_query.value == pytest.approx(left)
    between = np.corrcoef(p_safe.mean(axis=1), rate.mean(axis=1))[0, 1]
    assert found.pcc_between_queries.value == pytest.approx(between)
    # Half the mean square of differences of two cases, of one query and of two.
    query = np.repeat(np.arange(9), K)
    same = query[:, None] == query
    np.fill_diagonal(different := same.copy(), False)
    noise = (rate * (1 - rate) / 9).mean()
    for value, flat, chance in (
        (found.vote_share.value, rate.ravel(), noise),
        (found.verdict_share.value, (p_safe.ravel() > 0.5).astype(float), 0.0),
    ):
        square = (flat[:, None] - flat) ** 2 / 2
        share = (square[different].mean() - chance) / (square[~same].mean() - chance)
        assert value == pytest.approx(share)


def test_unequal_numbers_of_contexts_by_hand() -> None:
    # SS within .5 + 2/3 on 3 degrees, between 5/6 on 1; (5 - 13/5) / 1 = 2.4 cases a query.
    clusters = Clusters(A([0, 0, 1, 1, 1]), 2)
    share = context_share(A([1.0, 0, 0, 1, 0]), clusters).value
    of_context = (1 / 2 + 2 / 3) / 3
    between = 6 / 5 - 7 / 6
    of_query = (between - of_context) / 2.4
    assert of_query < 0
    assert share == 1
    share = context_share(A([1.0, 1, 0, 1, 0]), clusters).value
    of_context = 2 / 3 / 3
    of_query = (6 / 5 - 2 / 3 - of_context) / 2.4
    assert share == pytest.approx(of_context / (of_context + of_query))


def test_votes_that_differ_by_chance_alone_have_no_share_of_contexts() -> None:
    clusters = Clusters(np.repeat(np.arange(4), 2), 4)
    found = vote_share(A([2.0, 3, 2, 3, 8, 7, 8, 7]), A([8.0, 7, 8, 7, 2, 3, 2, 3]), clusters)
    assert found.value == 0
    assert found.reason
    assert math.isnan(found.interval[0])
    # With one vote a case nothing tells chance from context.
    single = vote_share(A([1.0, 0, 1, 1, 0, 0, 1, 1]), A([0.0, 1, 0, 0, 1, 1, 0, 0]), clusters)
    assert single.value == pytest.approx(
        context_share(A([1.0, 0, 1, 1, 0, 0, 1, 1]), clusters).value
    )


def same(one: Estimate, other: Estimate) -> bool:
    return (one.value, one.se, one.interval) == (other.value, other.se, other.interval)


def test_two_contexts_in_the_authors_order_give_the_measures_of_pairs() -> None:
    votes, p_safe = drawn(40, 2, np.random.default_rng(3))
    # People order every pair as its author does.
    votes = np.sort(votes, axis=1)[:, ::-1] + A([0.5, -0.5])
    found, rate = within(votes, p_safe), votes / 10
    said = (p_safe > 0.5).astype(float)
    pairs = sensitivity(said.tolist(), (rate > 0.5).tolist(), p_safe.tolist(), rate.tolist())
    assert same(found.rank_agreement, pairs.rank_accuracy)
    assert same(found.model_flips, pairs.flip_rate)
    assert 1 - found.missed_flips.value == pytest.approx(pairs.flip_recall.value)
    flat = rate.ravel()
    assert (in_order(every_two(40, 2), flat) == every_two(40, 2)).all()


def test_flips_either_way_by_hand() -> None:
    said, safe = (
        A([[1.0, 0], [1, 0], [0, 1], [0, 0], [1, 0]]),
        A([[1.0, 0], [0, 1], [0, 1], [1, 0], [1, 1]]),
    )
    found = flips(said, safe, number_clusters(np.arange(5)))
    # Of four flips of people two are the model's; it makes four.
    assert found.people_flips.value == pytest.approx(4 / 5)
    assert found.model_flips.value == pytest.approx(4 / 5)
    assert found.missed_flips.value == pytest.approx(2 / 4)
    assert found.extra_flips.value == pytest.approx(2 / 4)


def test_intervals_hold_at_50_queries_in_5_contexts() -> None:
    # benchmarks/coverage.py draws more studies from more populations.
    truth = values(within(*drawn(40_000, K, np.random.default_rng(0))))
    rng, draws = np.random.default_rng(1), 200
    held = dict.fromkeys(truth, 0)
    for _ in range(draws):
        found = within(*drawn(50, K, rng))
        for name, value in truth.items():
            low, high = getattr(found, name).interval
            held[name] += low <= value <= high
    luck = 2 * math.sqrt(0.93 * 0.07 / draws)
    assert min(held.values()) / draws >= 0.93 - luck, held


def coin(sizes: list[int], seed: int) -> Estimate:
    """Rank agreement of answers drawn by chance, over queries with so many cases."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(len(sizes)), sizes)
    n = len(query)
    pairs = np.array(
        [
            pair
            for one in range(len(sizes))
            for pair in combinations(np.flatnonzero(query == one).tolist(), 2)
        ]
    )
    p_safe, rate, votes = rng.random(n), rng.random(n), np.full(n, 10.0)
    label = (rate > 0.5).astype(float)
    cases = Contexts((p_safe > 0.5).astype(float), p_safe, label, rate, votes, votes)
    return within_queries(cases, pairs, Clusters(query, len(sizes))).rank_agreement


def test_a_query_that_outweighs_the_others_leaves_no_interval() -> None:
    """Its own chance makes the figure: 1.96 errors about it hold 1/2 in 1 study of 4."""
    few = np.random.default_rng(1).integers(2, 9, 40).tolist()
    held = []
    for seed in range(40):
        found = coin([100, *few], seed)
        assert found.effective == pytest.approx(1.2, abs=0.1)
        assert np.isnan(found.interval).all()
        assert "effective queries, of 41" in found.reason
        held.append(abs(found.value - 0.5) <= 1.96 * found.se)
    assert np.mean(held) < 0.6
    even = [coin([5] * 40, seed) for seed in range(100)]
    assert {round(one.effective) for one in even} == {40}
    assert np.mean([one.interval[0] <= 0.5 <= one.interval[1] for one in even]) >= 0.9
    # Queries that weigh alike are few by their number alone, which the interval allows for.
    assert not np.isnan(coin([5] * 6, 0).interval).any()
