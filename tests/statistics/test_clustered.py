"""Estimates: intervals and differences, by hand and against other libraries."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from casewise.statistics import (
    UNDEFINED,
    Clusters,
    clustered_mean,
    clustered_pearson,
    combine,
    independent_difference,
    is_uneven,
    number_clusters,
    two_way,
    wilson_interval,
)

A = np.array


def pairs(queries: int) -> Clusters:
    return number_clusters(np.arange(queries).repeat(2))


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (1, 1), (81, 263)])
def test_wilson_against_statsmodels(hits: int, n: int) -> None:
    expected = proportion_confint(hits, n, method="wilson")
    assert wilson_interval(hits / n, n) == pytest.approx(expected)


def test_a_difference_of_independent_shares_against_newcombe() -> None:
    # Newcombe (1998), table II, contrast (a): 56 of 70 and 48 of 80, method 10.
    first, second = ((hits / n, *wilson_interval(hits / n, n)) for hits, n in ((56, 70), (48, 80)))
    expected = (0.2, 0.0524, 0.3339)
    assert independent_difference(first, second) == pytest.approx(expected, abs=5e-5)
    assert math.isnan(independent_difference(first, (0.5, math.nan, math.nan))[1])


def test_few_clusters_take_wilson_by_their_effective_size() -> None:
    # Four queries, both cases of each alike: two right, two wrong. The error is
    # sqrt(4 x 1^2) / 8 = 1/4, and 1/4 / (1/4)^2 = 4 independent rows, as many as queries.
    found = clustered_mean(A([1.0, 1, 1, 1, 0, 0, 0, 0]), pairs(4), share=True)
    assert found.se == pytest.approx(1 / 4)
    assert found.is_wilson
    # With Student's t of 3 degrees in place of the normal's quantile, so of fewer rows.
    fewer = (1.959964 / 3.182446) ** 2
    assert found.interval == pytest.approx(wilson_interval(0.5, 4 * fewer), abs=1e-6)


def test_wilson_has_student_s_t_below_150_clusters_and_the_normal_from_there() -> None:
    for queries, quantile in ((28, 2.0518305), (149, 1.9761225), (150, 1.959964)):
        values = np.r_[np.ones(7), np.zeros(queries - 7)]
        found = clustered_mean(values, number_clusters(np.arange(queries)), share=True)
        assert found.is_wilson
        expected = wilson_interval(7 / queries, queries * (1.959964 / quantile) ** 2)
        assert found.interval == pytest.approx(expected, abs=1e-6)


def test_all_right_is_not_certain() -> None:
    # No spread to tell the size from: each query counts as one.
    found = clustered_mean(np.ones(20), pairs(10), share=True)
    assert (found.value, found.se) == (1.0, 0.0)
    assert found.interval == pytest.approx(wilson_interval(1.0, 10))
    many = clustered_mean(np.ones(800), pairs(400), share=True)
    assert many.interval == pytest.approx(wilson_interval(1.0, 400))


def test_one_hit_has_the_poissons_lower_end() -> None:
    found = clustered_mean((np.arange(400) == 7) * 1.0, number_clusters(np.arange(400)), share=True)
    low, high = found.interval
    # 1 - exp(-m) = .05 of m = .05129; Wilson's end would be .00044, and hold 1/400 x .18 in .84.
    assert low == pytest.approx(0.0512933 / 400)
    assert wilson_interval(1 / 400, 400)[0] == pytest.approx(0.00044, abs=1e-5)
    assert high == wilson_interval(1 / 400, 400)[1]


def test_many_clusters_take_the_normal_interval() -> None:
    values = np.tile([1.0, 0.0, 1.0, 1.0], 100)
    found = clustered_mean(values, pairs(200), share=True)
    assert not found.is_wilson
    assert found.interval == pytest.approx(
        (found.value - 1.959964 * found.se, found.value + 1.959964 * found.se)
    )
    assert not clustered_mean(values[:10], pairs(5)).is_wilson  # not said to be a share


def test_one_cluster_has_no_error() -> None:
    found = clustered_mean(A([1.0, 0.0]), pairs(1))
    assert found.value == 0.5
    assert math.isnan(found.se)
    assert all(map(math.isnan, found.interval))


def test_a_paired_difference_by_hand() -> None:
    # First right in queries 0 and 1, second in 0 and 2, single cases: 2/4 each. The differences
    # are 0, -1, 1, 0, so the error is sqrt(0 + 1 + 1 + 0) / 4, whatever each one's own error.
    clusters = number_clusters(np.arange(4))
    first = clustered_mean(A([1.0, 1, 0, 0]), clusters)
    second = clustered_mean(A([1.0, 0, 1, 0]), clusters)
    found = second - first
    assert found.value == 0.0
    assert found.se == pytest.approx(math.sqrt(2) / 4)
    assert found.p == 1.0
    assert (first - first).se == 0.0


def test_a_proportion_s_interval_stays_within_0_and_1() -> None:
    """Its ends are 0 and 1 where nothing, or everything, is a hit: no rounding passes them."""
    for n in range(1, 400):
        assert 0 <= wilson_interval(0.0, n)[0] < 1e-15
        assert 1 - 1e-15 < wilson_interval(1.0, n)[1] <= 1
    # 200 queries of one row and one of 8, whose rows alone are hits: a normal interval of 8/208
    # would begin at -.03.
    clusters = number_clusters(np.r_[np.arange(200), np.full(8, 200)])
    hits = np.r_[np.zeros(200), np.ones(8)]
    found = clustered_mean(hits, clusters, share=True)
    assert found.value - 1.96 * found.se < 0
    low, high = found.interval
    assert 0 < low < found.value < high < 1
    assert found.is_wilson


def test_few_clusters_are_held_against_t() -> None:
    # Differences .1, .2, .3 of three queries: mean .2. Without each it is .25, .2, .15, so the
    # jackknife's error is sqrt(2/3 x 2 x .05^2). With 2 degrees of freedom t at .975 is 4.30265.
    found = clustered_mean(A([0.1, 0.2, 0.3]), number_clusters(np.arange(3)))
    assert found.se == pytest.approx(math.sqrt(0.02) / 3)
    se = math.sqrt(2 / 3 * 2 * 0.05**2)
    assert found.interval == pytest.approx((0.2 - 4.30265 * se, 0.2 + 4.30265 * se), abs=1e-6)
    # P(|t| > x) with 2 degrees of freedom is 1 - x / sqrt(2 + x^2).
    x = 0.2 / se
    assert found.p == pytest.approx(1 - x / math.sqrt(2 + x**2))


def test_no_spread_is_no_certainty() -> None:
    found = clustered_mean(np.ones(3), number_clusters(np.arange(3)))
    assert found.se == 0
    assert math.isnan(found.p)
    assert all(map(math.isnan, found.interval))
    assert math.isnan(clustered_mean(np.ones(100), number_clusters(np.arange(100))).p)


def test_summed_up_estimates_keep_their_error_and_are_not_subtracted() -> None:
    found = clustered_mean(A([1.0, 0, 1, 1, 0, 0]), pairs(3), share=True)
    kept = found.summed_up()
    assert kept.se == pytest.approx(found.se)
    assert kept.interval == pytest.approx(found.interval)
    with pytest.raises(ValueError, match="summed up"):
        kept - kept


def test_round_off_is_no_correlation() -> None:
    shifts = A([0.35 - 0.05, 0.95 - 0.65, 0.85 - 0.55, 0.6 - 0.3])
    assert np.ptp(shifts) > 0
    found = clustered_pearson(shifts, A([0.1, 0.5, 0.2, 0.9]), number_clusters(np.arange(4)))
    assert math.isnan(found.value)


def test_a_sum_with_something_undefined_is_undefined() -> None:
    found = clustered_mean(A([1.0, 0.0]), pairs(1))
    assert math.isnan(combine([(1.0, found), (-1.0, UNDEFINED)]).value)
    with pytest.raises(ValueError, match="different clusters"):
        combine([(1.0, found), (1.0, clustered_mean(A([1.0, 0, 0, 1]), pairs(2)))])


def test_undefined_correlations() -> None:
    one = number_clusters(A([0]))
    two = number_clusters(A([0, 1]))
    for x, y, clusters in [
        (A([]), A([]), Clusters(A([], dtype=np.int64), 0)),
        (A([1.0]), A([2.0]), one),
        (A([1.0, 1.0]), A([0.0, 1.0]), two),
        (A([0.0, 1.0]), A([0.3, 0.3]), two),
    ]:
        assert math.isnan(clustered_pearson(x, y, clusters).value)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
def test_an_interval_holds_its_figure(rows: list[tuple[int, bool]]) -> None:
    names, hits = A([name for name, _ in rows]), A([float(hit) for _, hit in rows])
    found = clustered_mean(hits, number_clusters(names), share=True)
    low, high = found.interval
    assert (found.reason == "") is not is_uneven(found)
    if found.reason:
        assert math.isnan(low)
        assert math.isnan(high)
        return
    assert -1e-9 <= low <= found.value + 1e-9
    assert found.value - 1e-9 <= high <= 1 + 1e-9


def test_errors_of_two_ways() -> None:
    # Rows 1, 0, 1, 0 of persons a a b b and queries x y x y: the mean is 1/2, the influences
    # are +-1/8. Persons' sums are 0 and 0; queries' 1/4 and -1/4; rows' squares add up to 1/16.
    # 0 + 1/8 - 1/16 lies below the queries' own 1/8, which stands.
    values = A([1.0, 0, 1, 0])
    people, queries = (number_clusters(A(list(names))) for names in ("aabb", "xyxy"))

    found = two_way(lambda clusters: clustered_mean(values, clusters), people, queries)
    assert found.value == 0.5
    assert found.se == pytest.approx(np.sqrt(1 / 8))
    one = number_clusters(np.zeros(4, int))
    assert np.isnan(two_way(lambda clusters: clustered_mean(values, clusters), one, queries).se)
