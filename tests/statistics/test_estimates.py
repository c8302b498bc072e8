"""Estimates: intervals and differences, by hand and against other libraries."""

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from casewise.statistics import (
    Clusters,
    Estimate,
    as_loss,
    clustered_mean,
    clustered_pearson,
    clustered_ratio,
    number_clusters,
    square_and_add,
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
    assert square_and_add(first, second) == pytest.approx(expected, abs=5e-5)
    assert math.isnan(square_and_add(first, (0.5, math.nan, math.nan))[1])


def test_a_share_has_wilson_s_interval_on_its_effective_size() -> None:
    # Four queries, both cases of each alike: two right, two wrong. Without one of them the share
    # is 1/3 or 2/3, so the jackknife's error is sqrt(3/4 x 4 x 1/36) = sqrt(1/12), and
    # 1/4 / (1/12) = 3 independent rows. With Student's t of 3 degrees in place of the normal's.
    estimate = clustered_mean(A([1.0, 1, 1, 1, 0, 0, 0, 0]), pairs(4), kind="share")
    assert estimate.se == pytest.approx(1 / 4)
    assert estimate.effective_size == pytest.approx(3)
    assert estimate.interval == pytest.approx(wilson_interval(0.5, 3, 3.182446), abs=1e-6)


def test_the_effective_size_is_at_most_twice_the_rows() -> None:
    # One case of each query right, but for one query with both: an error of nearly 0.
    values = np.tile([1.0, 0.0], 40)
    values[1] = 1.0
    estimate = clustered_mean(values, pairs(40), kind="share")
    assert estimate.effective_size == 160


def test_all_right_is_not_certain() -> None:
    # No spread to tell the size from: each query counts as one.
    estimate = clustered_mean(np.ones(20), pairs(10), kind="share")
    assert (estimate.value, estimate.se) == (1.0, 0.0)
    assert estimate.interval == pytest.approx(wilson_interval(1.0, 10))
    many = clustered_mean(np.ones(800), pairs(400), kind="share")
    assert many.interval == pytest.approx(wilson_interval(1.0, 400))


def test_a_paired_difference_by_hand() -> None:
    # First right in queries 0 and 1, second in 0 and 2, single cases: 2/4 each. The differences
    # are 0, -1, 1, 0, so the error is sqrt(0 + 1 + 1 + 0) / 4, whatever each one's own error.
    clusters = number_clusters(np.arange(4))
    first = clustered_mean(A([1.0, 1, 0, 0]), clusters, kind="share")
    second = clustered_mean(A([1.0, 0, 1, 0]), clusters, kind="share")
    found = second - first
    assert found.value == 0.0
    assert found.se == pytest.approx(math.sqrt(2) / 4)
    assert found.p == 1.0
    assert (first - first).se == 0.0


def test_a_change_of_shares_with_two_queries_added_by_hand() -> None:
    # Two of ten are lost. With an answer up and one down added, the mean of twelve is -1/6 and the
    # variance (2 + 2 - 12 / 36) / 11 = 1/3, so the error is sqrt(1/36); t of 11 degrees is 2.201.
    clusters = number_clusters(np.arange(10))
    before, after = (
        clustered_mean(A(one), clusters, kind="share")
        for one in ([1.0] * 10, [0.0, 0.0] + [1.0] * 8)
    )
    found = after - before
    assert found.kind == "change"
    assert found.value == pytest.approx(-0.2)
    half = 2.200985 / 6
    assert found.interval == pytest.approx((-1 / 6 - half, -1 / 6 + half), abs=1e-6)
    # t = 1 on 11 degrees.
    assert found.p == pytest.approx(0.338801, abs=1e-6)


def test_a_run_and_its_copy() -> None:
    # None of 56 queries moved; the two that are added moved by both of their answers, so the error
    # is sqrt(2 / 57 / 58), and t of 57 degrees 2.002465.
    estimate = clustered_mean(A([1.0, 0.0] * 56), pairs(56), kind="share")
    half = 2.002465 * math.sqrt(2 / 57 / 58)
    assert (estimate - estimate).interval == pytest.approx((-half, half), abs=1e-6)
    assert (estimate - estimate).p == 1


def precision(hits: list[float], called: list[float]) -> Estimate:
    clusters = Clusters(np.arange(len(hits)), len(hits))
    return clustered_ratio(A(hits), A(called), clusters, kind="share")


def test_shares_of_other_cases_have_a_difference() -> None:
    """Two of four are called by either run, so the count is the same, and the cases aren't."""
    before = precision([1.0, 0.0, 0.0, 0.0] * 50, [1.0, 1.0, 0.0, 0.0] * 50)
    after = precision([0.0, 0.0, 1.0, 1.0] * 50, [0.0, 0.0, 1.0, 1.0] * 50)
    found = after - before
    assert (found.kind, found.value) == ("difference", 0.5)
    # The queries that make one are not those that make the other: no correlation.
    first, second = ((one.value, *one.interval) for one in (after, before))
    assert found.interval == pytest.approx(square_and_add(first, second)[1:])
    assert found.p < 0.05
    same = before - precision([1.0, 1.0, 0.0, 0.0] * 50, [1.0, 1.0, 0.0, 0.0] * 50)
    assert same.kind == "change"


def test_one_query_with_much_of_the_weight_is_named() -> None:
    """One query of 40 cases among 50 of one: 40 of 90."""
    clusters = number_clusters(np.r_[np.zeros(40), np.arange(1, 51)])
    estimate = clustered_mean(np.tile([1.0, 0.0], 45), clusters, kind="share")
    assert estimate.heaviest == pytest.approx(4 / 9)
    assert estimate.is_heavy
    # Weights of 40 and fifty times 1: (1600 + 50)² / (2560000 + 50) less 1, and 1 at least.
    assert estimate.weight_degrees == 1
    assert not clustered_mean(np.ones(4), pairs(2), kind="share").is_heavy


def test_a_mean_has_the_jackknifes_error_and_student_s_t() -> None:
    # Means .1, .2, ... 1.2 of twelve queries: the jackknife's error of a mean is its usual one,
    # sqrt(.13 / 12). The kurtosis of 1..12 about its mean is 1.783: min(11, 24 / (1.783 - 9/11)).
    values = np.arange(1, 13) / 10
    estimate = clustered_mean(values, number_clusters(np.arange(12)))
    assert estimate.degrees == 11
    half = 2.200985 * math.sqrt(0.13 / 12)
    assert estimate.interval == pytest.approx((0.65 - half, 0.65 + half), abs=1e-6)


def test_fewer_than_ten_queries_make_no_interval() -> None:
    values = np.arange(1.0, 10)
    estimate = clustered_mean(values, number_clusters(values))
    assert estimate.reason == "9 queries make the figure; an interval needs 10"
    assert all(map(math.isnan, (*estimate.interval, estimate.p)))
    ten = clustered_mean(np.r_[0.0, np.arange(1.0, 11)], number_clusters(np.arange(11)))
    assert not ten.reason
    # Of a change those that moved count, by how far: nine by one, and a tenth by a hair.
    before, clusters = np.ones(40), number_clusters(np.arange(40))
    after = before - np.r_[np.ones(9), 0.001, np.zeros(30)]
    change = clustered_mean(after, clusters) - clustered_mean(before, clusters)
    assert change.reason == "9 queries make the change; an interval needs 10"
    # Few mistakes make most of a loss, so that it needs more.
    loss = as_loss(clustered_mean(A([0.5]), number_clusters(A([0]))))
    assert loss.reason == "1 query makes the loss; an interval needs 40"
    # A share and its change are never withheld.
    one = clustered_mean(after.round(), clusters, kind="share")
    assert not one.reason
    assert not (one - clustered_mean(before, clusters, kind="share")).reason


@pytest.mark.parametrize(
    ("values", "queries", "error"),
    [([1.0] * 200, 100, 0), ([1.0] * 6, 3, 0), ([1.0, 0.0], 1, math.nan)],
)
def test_no_spread_is_no_certainty(values: list[float], queries: int, error: float) -> None:
    estimate = clustered_mean(A(values), pairs(queries))
    assert estimate.se == pytest.approx(error, nan_ok=True)
    assert all(map(math.isnan, (*estimate.interval, estimate.p)))


def test_summed_up_estimates_keep_their_error_and_are_not_subtracted() -> None:
    estimate = clustered_mean(A([1.0, 0, 1, 1, 0, 0]), pairs(3), kind="share")
    kept = estimate.drop_influence()
    assert kept.se == pytest.approx(estimate.se)
    assert kept.interval == pytest.approx(estimate.interval)
    with pytest.raises(ValueError, match="summed up"):
        kept - kept


def test_undefined_correlations() -> None:
    one = number_clusters(A([0]))
    two = number_clusters(A([0, 1]))
    for x, y, clusters in [
        (A([]), A([]), Clusters(A([], dtype=np.int64), 0)),
        (A([1.0]), A([2.0]), one),
        (A([1.0, 1.0]), A([0.0, 1.0]), two),
        (A([0.0, 1.0]), A([0.3, 0.3]), two),
        # All are .3, but for round-off.
        (A([0.35 - 0.05, 0.95 - 0.65]), A([0.1, 0.5]), two),
    ]:
        assert math.isnan(clustered_pearson(x, y, clusters).value)
