"""Rates of rare events: exact where they can be, covering where they are drawn and clustered."""

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from casewise.statistics import (
    Clusters,
    DrawnUnits,
    Units,
    draw_units,
    number_clusters,
    rare_rate,
)

A = np.array


def plain(hit: np.ndarray, clusters: Clusters | None = None) -> Units:
    """Units of which every one was asked."""
    n = len(hit)
    draw = DrawnUnits(np.ones(n, np.bool_), np.ones(n))
    return Units(hit, np.ones(n, np.bool_), draw, clusters or Clusters(np.arange(n), n))


def hits(events: int, n: int) -> np.ndarray:
    return (np.arange(n) < events).astype(float)


@pytest.mark.parametrize(("events", "n"), [(0, 40), (1, 1000), (12, 1000), (37, 50), (50, 50)])
def test_independent_units_have_the_exact_interval(events: int, n: int) -> None:
    found = rare_rate(plain(hits(events, n)))
    exact = binomtest(events, n).proportion_ci(method="exact")
    assert (found.value, found.events, found.size) == (events / n, events, n)
    assert found.interval == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert found.effective_size == n


def test_clusters_that_are_all_alike_count_as_one_unit_each() -> None:
    """Korn and Graubard: 12 of 1,000, five times each, tell as much as 12 of 1,000."""
    five = number_clusters(np.repeat(np.arange(1000), 5))
    found = rare_rate(plain(np.repeat(hits(12, 1000), 5), five))
    exact = binomtest(12, 1000).proportion_ci(method="exact")
    assert found.value == 0.012
    assert found.effective_size == pytest.approx(1000, rel=0.01)
    # Student's t of 1,000 clusters in place of the normal.
    assert found.interval == pytest.approx((exact.low, exact.high), rel=0.02)


def test_where_nothing_was_seen_the_upper_end_is_of_the_heaviest_unit() -> None:
    probability = np.repeat([0.8, 0.2], 500)
    drawn = np.random.default_rng(1).random(1000) < probability
    units = plain(hits(0, 1000))
    found = rare_rate(
        Units(units.hit, units.possible, DrawnUnits(drawn, probability), units.clusters)
    )
    # Weights 0.625 and 2.5: as if one of 2.5 had been seen among so many.
    m = int(drawn.sum())
    wanted = beta(1 - 2.5 / m, (1 - 2.5 / m) ** 2 / (2.5 / m)).ppf(0.975)
    assert found.interval[0] == 0
    assert found.interval[1] == pytest.approx(wanted, rel=0.02)
    light = units.possible & (probability > 0.5)
    surer = rare_rate(Units(units.hit, light, DrawnUnits(drawn, probability), units.clusters))
    assert surer.interval[1] < found.interval[1] / 3


def test_a_unit_weighs_by_the_inverse_of_its_chance() -> None:
    """Drawn are units of chances 1/2, 1 and 1 of four, so they weigh 2, 1 and 1 of four."""
    draw = DrawnUnits(A([True, False, True, True]), A([0.5, 0.5, 1, 1]))
    every, clusters = np.ones(4, np.bool_), Clusters(np.arange(4), 4)
    assert rare_rate(Units(A([1.0, 0, 0, 1]), every, draw, clusters)).value == pytest.approx(3 / 4)
    # Of one that can't be told three of four are left.
    untold = Units(A([1.0, 0, 0, np.nan]), every, draw, clusters)
    assert rare_rate(untold).value == pytest.approx(2 / 3)


def test_what_cannot_be_told_is_left_out() -> None:
    hit = np.concatenate([hits(3, 50), np.full(50, np.nan)])
    found = rare_rate(plain(hit))
    exact = binomtest(3, 50).proportion_ci(method="exact")
    assert found.value == pytest.approx(0.06)
    assert (found.size, found.unread) == (50, 50)
    assert found.interval == pytest.approx((exact.low, exact.high))
    nothing = rare_rate(plain(np.full(5, np.nan)))
    assert np.isnan(nothing.value)
    assert nothing.reason == "no reply could be told"


def test_withheld_where_there_is_no_spread() -> None:
    one = rare_rate(plain(hits(2, 10), Clusters(np.zeros(10, np.int64), 1)))
    assert one.value == 0.2
    assert np.isnan(one.interval).all()
    assert "one cluster" in one.reason
    none = plain(hits(2, 10))
    draw = DrawnUnits(np.zeros(10, np.bool_), np.full(10, 0.1))
    assert rare_rate(Units(none.hit, none.possible, draw, none.clusters)).reason == "none was asked"


def test_a_draw_has_its_size_and_its_probabilities() -> None:
    look = np.repeat([0.0, 1.0, 50.0], [60, 30, 10])
    draws = [draw_units(look, 30, seed) for seed in range(2000)]
    probability = draws[0].probability
    assert all(draw.drawn.sum() == 30 for draw in draws)
    assert probability.sum() == pytest.approx(30)
    assert probability.max() == 1
    assert probability.min() > 0
    often = np.mean([draw.drawn for draw in draws], axis=0)
    assert np.abs(often - probability).max() < 0.05
    assert draw_units(look, 100, 0).drawn.all()
    assert draw_units(np.zeros(100), 20, 0).probability == pytest.approx(np.full(100, 0.2))


def test_a_good_first_look_is_worth_more_than_was_drawn() -> None:
    hit = hits(100, 20_000)
    units = plain(hit)
    draw = draw_units(hit + 0.02 * (np.arange(20_000) % 10 == 0), 2000, 0)
    found = rare_rate(Units(hit, units.possible, draw, units.clusters))
    assert found.effective_size > 4000
    assert found.interval[0] < 0.005 < found.interval[1]


# --- the grader's errors ------------------------------------------------------------------------
