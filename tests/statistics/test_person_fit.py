"""One person's answers against others', enumerated by hand; and errors clustered twice."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from casewise.statistics import (
    Clusters,
    Estimate,
    agreement_p,
    at_least_p,
    benjamini_hochberg,
    clustered_mean,
    number_clusters,
    two_way,
)

FloatArray = NDArray[np.float64]


def enumerated(said: list[int], expected: list[float], others: list[float]) -> float:
    """Every way of giving as many 1s."""
    weights = [round(20 * (2 * other - 1)) for other in others]
    seen = sum(one * weight for one, weight in zip(said, weights, strict=True))
    below = whole = 0.0
    for answers in product((0, 1), repeat=len(said)):
        if sum(answers) != sum(said):
            continue
        chance = 1.0
        for one, share in zip(answers, expected, strict=True):
            chance *= share if one else 1 - share
        whole += chance
        if sum(one * weight for one, weight in zip(answers, weights, strict=True)) <= seen:
            below += chance
    return below / whole


ITEMS = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0.02, 0.98), st.integers(0, 20)), min_size=1, max_size=9
)


@settings(max_examples=100, deadline=None)
@given(ITEMS)
def test_as_every_way_counted(rows: list[tuple[int, float, int]]) -> None:
    said = [one for one, _, _ in rows]
    expected = [one for _, one, _ in rows]
    others = [one / 20 for _, _, one in rows]
    found = agreement_p(np.array(said, float), np.array(expected), np.array(others))
    if 0 < sum(said) < len(said):
        assert found == pytest.approx(enumerated(said, expected, others))
    else:
        assert found == 1


def test_by_hand() -> None:
    # Others: nine in ten say 1 of the first, one in ten of the second. Whoever gives one 1 gives it
    # to the first with odds 9 to 1/9, that is 81 to 1: p of the other way is 1/82.
    share = np.array([0.9, 0.1])
    assert agreement_p(np.array([0.0, 1.0]), share, share) == pytest.approx(1 / 82)
    assert agreement_p(np.array([1.0, 0.0]), share, share) == 1


def test_leniency_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    share = rng.uniform(0.1, 0.9, 24)
    said = (rng.random(24) < 0.5).astype(float)
    odds = 3 * share / (1 - share)
    assert agreement_p(said, odds / (1 + odds), share) == pytest.approx(
        agreement_p(said, share, share)
    )


def test_long_lists() -> None:
    share = np.tile([0.9, 0.2], 250)
    said = np.tile([1.0, 0.0], 250)
    assert agreement_p(said, share, share) > 0.9
    assert 0 < agreement_p(np.tile([1.0, 1.0, 0.0, 0.0], 125), share, share) < 1e-9


def test_at_least() -> None:
    # Chances 1/2 and 1/4: none 3/8, one 1/2, both 1/8.
    chances = np.array([0.5, 0.25])
    assert [at_least_p(count, chances) for count in range(4)] == pytest.approx([1, 5 / 8, 1 / 8, 0])


def test_benjamini_and_hochberg() -> None:
    # .01 * 4 / 1, .02 * 4 / 2, .03 * 4 / 3, .5: from the largest down, none above the next.
    found = benjamini_hochberg(np.array([0.02, np.nan, 0.5, 0.01, 0.03]))
    assert found == pytest.approx([0.04, np.nan, 0.5, 0.04, 0.04], nan_ok=True)
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(2).random(50) ** 3
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert len(benjamini_hochberg(np.empty(0))) == 0


def test_errors_of_two_ways() -> None:
    # Rows 1, 0, 1, 0 of persons a a b b and queries x y x y: the mean is 1/2, the influences
    # are +-1/8. Persons' sums are 0 and 0; queries' 1/4 and -1/4; rows' squares add up to 1/16.
    # 0 + 1/8 - 1/16 lies below the queries' own 1/8, which stands.
    values = np.array([1.0, 0, 1, 0])
    people, queries = (number_clusters(np.array(list(names))) for names in ("aabb", "xyxy"))

    def mean(clusters: Clusters) -> Estimate:
        return clustered_mean(values, clusters)

    found = two_way(mean, people, queries)
    assert found.value == 0.5
    assert found.se == pytest.approx(np.sqrt(1 / 8))
    one = number_clusters(np.zeros(4, int))
    assert np.isnan(two_way(mean, one, queries).se)


def test_two_ways_cover() -> None:
    # People and queries both have effects of their own; intervals of either alone are too short.
    rng = np.random.default_rng(11)
    people, queries = (one.ravel() for one in np.meshgrid(range(40), range(40), indexing="ij"))
    ways = number_clusters(people), number_clusters(queries)
    hits = np.zeros(2)
    for _ in range(300):
        values = rng.normal(0, 1, 40)[people] + rng.normal(0, 1, 40)[queries]
        values += rng.normal(0, 1, len(people))

        def mean(clusters: Clusters, values: FloatArray = values) -> Estimate:
            return clustered_mean(values, clusters)

        intervals = two_way(mean, *ways).interval, mean(ways[0]).interval
        hits += [low <= 0 <= high for low, high in intervals]
    assert 0.91 <= hits[0] / 300 <= 0.98
    assert hits[1] / 300 < 0.9
