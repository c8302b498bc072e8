"""Rates of rare events: exact where they can be, covering where they are clustered."""

import numpy as np
import pytest
from scipy.stats import binomtest

from casewise.statistics import Clusters, RareRate, number_clusters, rare_rate


def rate(hit: np.ndarray, clusters: Clusters | None = None) -> RareRate:
    n = len(hit)
    return rare_rate(hit, clusters or Clusters(np.arange(n), n))


def hits(events: int, n: int) -> np.ndarray:
    return (np.arange(n) < events).astype(float)


@pytest.mark.parametrize(("events", "n"), [(0, 40), (1, 1000), (12, 1000), (37, 50), (50, 50)])
def test_independent_units_have_the_exact_interval(events: int, n: int) -> None:
    found = rate(hits(events, n))
    exact = binomtest(events, n).proportion_ci(method="exact")
    assert (found.value, found.events, found.size) == (events / n, events, n)
    assert found.interval == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_clusters_that_are_all_alike_count_as_one_unit_each() -> None:
    """Korn and Graubard: 12 of 1,000, five times each, tell as much as 12 of 1,000."""
    five = number_clusters(np.repeat(np.arange(1000), 5))
    found = rate(np.repeat(hits(12, 1000), 5), five)
    exact = binomtest(12, 1000).proportion_ci(method="exact")
    assert found.value == 0.012
    # Student's t of 1,000 clusters in place of the normal.
    assert found.interval == pytest.approx((exact.low, exact.high), rel=0.02)


def test_where_nothing_was_seen_one_more_cluster_may_be_an_event() -> None:
    none = rate(np.zeros(200), number_clusters(np.repeat(np.arange(40), 5)))
    assert none.interval[0] == 0
    assert none.interval[1] == pytest.approx(1 - 0.025 ** (1 / 40), rel=0.15)


def test_what_cannot_be_told_is_left_out() -> None:
    found = rate(np.concatenate([hits(3, 50), np.full(50, np.nan)]))
    exact = binomtest(3, 50).proportion_ci(method="exact")
    assert (found.value, found.size) == (0.06, 50)
    assert found.interval == pytest.approx((exact.low, exact.high))
    nothing = rate(np.full(5, np.nan))
    assert np.isnan(nothing.value)
    assert nothing.reason == "no reply could be told"


def test_withheld_where_there_is_no_spread() -> None:
    one = rate(hits(2, 10), Clusters(np.zeros(10, np.int64), 1))
    assert one.value == 0.2
    assert np.isnan(one.interval).all()
    assert "one cluster" in one.reason
    assert rate(np.empty(0)).reason == "none was asked"
