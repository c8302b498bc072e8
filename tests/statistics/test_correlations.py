"""Intervals of correlations: the jackknife by hand, within -1..1, and of their changes."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr, t

from casewise.statistics import (
    Clusters,
    Estimate,
    clustered_pearson,
    number_clusters,
    shift_pcc,
)

A = np.array


def data(seed: int, queries: int) -> tuple[Estimate, "np.ndarray", "np.ndarray"]:
    rng = np.random.default_rng(seed)
    x = rng.random(2 * queries).round(1)
    y = (x + rng.random(2 * queries)).round(1)
    clusters = Clusters(np.repeat(np.arange(queries), 2), queries)
    return clustered_pearson(x, y, clusters), x, y


def test_each_query_is_left_out_in_turn() -> None:
    found, x, y = data(1, 24)
    kept = [np.arange(48) // 2 != query for query in range(24)]
    without = A([pearsonr(x[rows], y[rows]).statistic for rows in kept])
    assert found.without == pytest.approx(without)
    z, zs = math.atanh(found.value), np.arctanh(without)
    moved = zs - z
    error = math.sqrt(23 / 24 * (moved**2).sum())
    # O'Neill (2014): 2 n / (kurtosis - (n - 3) / (n - 1)) degrees, 23 at most.
    kurtosis = 24 * ((without - found.value) ** 4).sum() / ((without - found.value) ** 2).sum() ** 2
    degrees = min(23, 48 / (kurtosis - 21 / 23))
    half = t.ppf(0.975, degrees) * error
    assert found.interval == pytest.approx((math.tanh(z - half), math.tanh(z + half)))
    half = t.ppf(0.95, degrees) * error
    assert found.limits(0.95) == pytest.approx((math.tanh(z - half), math.tanh(z + half)))


def test_a_change_has_the_jackknifes_error() -> None:
    rng = np.random.default_rng(3)
    x, clusters = rng.random(40), Clusters(np.arange(40), 40)
    before, after = (clustered_pearson(x, x + rng.random(40), clusters) for _ in range(2))
    change = after - before
    moved = change.without - change.value
    low, high = change.interval
    error = math.sqrt(39 / 40 * (moved**2).sum())
    assert (high - low) / 2 >= t.ppf(0.975, 39) * error - 1e-12
    # By the same distribution, so p and interval agree.
    assert (change.p < 0.05) == (not low <= 0 <= high)


def test_where_one_query_makes_the_correlation_there_is_no_interval() -> None:
    x, y = A([0.0] * 9 + [1.0]), A([0.1, 0.2, 0.3, 0.4, 0.5, 0.1, 0.2, 0.3, 0.4, 0.9])
    estimate = clustered_pearson(x, y, Clusters(np.arange(10), 10))
    assert estimate.value > 0.5
    assert np.isnan(estimate.interval).all()


def test_many_queries_are_not_left_out_one_by_one() -> None:
    found, *_ = data(2, 1001)
    assert not len(found.without)
    z, error = math.atanh(found.value), found.se / (1 - found.value**2)
    half = t.ppf(0.975, 1000) * error
    assert found.interval == pytest.approx((math.tanh(z - half), math.tanh(z + half)), rel=1e-3)


def test_shifts_by_hand() -> None:
    p_safe = A([[0.9, 0.1], [0.6, 0.6], [0.2, 0.3], [0.8, 0.4]])
    rate = A([[0.9, 0.3], [0.8, 0.2], [0.5, 0.5], [0.7, 0.1]])
    estimate = shift_pcc(p_safe, rate, number_clusters(np.arange(4)))
    assert estimate.value == pytest.approx(
        pearsonr([0.8, 0, -0.1, 0.4], [0.6, 0.6, 0, 0.6]).statistic
    )
