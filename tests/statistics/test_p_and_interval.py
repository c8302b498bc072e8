"""One rule for every p: below .05 where the interval leaves 0 out, and none where there is none."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.statistics import (
    Clusters,
    Estimate,
    clustered_mean,
    clustered_pearson,
)

A = np.array


def change(before: list[float], after: list[float], queries: int) -> Estimate:
    """The change of a share, from a share a case; cases go round the queries."""
    clusters = Clusters(np.arange(len(before)) % queries, queries)
    found = [clustered_mean(A(one, np.float64), clusters, kind="share") for one in (before, after)]
    return found[1] - found[0]


def agree(estimate: Estimate) -> None:
    low, high = estimate.interval
    assert math.isnan(low) == math.isnan(high) == math.isnan(estimate.p)
    if math.isnan(low):
        assert not estimate.excludes_zero
        return
    assert low <= estimate.value <= high
    assert 0 <= estimate.p <= 1
    assert estimate.excludes_zero == (not low <= 0 <= high)
    if abs(estimate.p - 0.05) > 1e-6:
        assert estimate.excludes_zero == (estimate.p < 0.05)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60),
)
def test_shares_agree_whatever_moved(queries: int, answers: list[tuple[bool, bool]]) -> None:
    before, after = ([float(answer[i]) for answer in answers] for i in (0, 1))
    found = change(before, after, queries)
    agree(found)
    agree(change(after, before, queries))
    assert found.p == pytest.approx(change(after, before, queries).p, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([2, 3, 8, 149, 151]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(0, 2**32),
)
def test_means_correlations_and_single_shares_agree(queries: int, part: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters = Clusters(np.repeat(np.arange(queries), 2), queries)
    before, noise = rng.random((2, 2 * queries))
    after = before + part * (noise - rng.random())
    truth = rng.random(2 * queries)
    means = [replace(clustered_mean(one, clusters), scale="log") for one in (before, abs(after))]
    correlations = [clustered_pearson(one, truth, clusters) for one in (before, after)]
    for correlation in (*correlations, means[1] - means[0], correlations[1] - correlations[0]):
        agree(correlation)
    # What is never below 0 is held against nothing.
    share = clustered_mean((noise < part).astype(np.float64), clusters, kind="share")
    assert all(math.isnan(found.p) for found in (*means, share))


@given(
    draws=st.lists(st.integers(-30, 90), min_size=50, max_size=200),
    scale=st.sampled_from([1.0, 0.01, 1 / 3]),
)
@settings(max_examples=60, deadline=None)
def test_figures_that_are_drawn(draws: list[int], scale: float) -> None:
    """Draws with ties, many of them at 0, whose middle 95 % are the interval."""
    replicates = scale * A(draws, np.float64)
    estimate = Estimate(
        float(np.median(replicates)), A([]), 50, kind="drawn", replicates=replicates
    )
    agree(estimate)
    others = scale * (A(draws, np.float64) + 0.5)
    agree(Estimate(float(np.median(others)), A([]), 50, kind="drawn", replicates=others))
