"""The survival curve: by hand, against the literature and against another library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

from casewise.statistics import BoolArray, Clusters, IntArray, SurvivalPoint, number_clusters
from casewise.statistics import kaplan_meier as clustered

A = np.array


def kaplan_meier(turn: IntArray, event: BoolArray) -> list[SurvivalPoint]:
    """The curve of conversations to a query each."""
    return clustered(turn, event, number_clusters(np.arange(len(turn))))


def error_of(point: SurvivalPoint) -> float:
    """The standard error that an interval says: log(-log S) +- z se / (S |log S|)."""
    high, low = np.log(-np.log(point.interval))
    return float((high - low) / (2 * 1.959963984540054) * point.value * np.abs(np.log(point.value)))


def test_by_hand() -> None:
    # Five conversations: one fails at turn 1, one at 2, one is last seen at 2, one fails at 4,
    # one holds to the end, 5. Survival 4/5, then 3/4 of it, then 1/2 of that.
    curve = kaplan_meier(A([2, 1, 4, 2, 5]), A([False, True, True, True, False]))
    counts = [(point.turn, point.at_risk, point.events) for point in curve]
    assert counts == [(1, 5, 1), (2, 4, 1), (4, 2, 1), (5, 1, 0)]
    assert [point.value for point in curve] == pytest.approx([0.8, 0.6, 0.3, 0.3])
    # Ten of each. Greenwood after turn 1: 10/(50 x 40) = .005.
    ten = kaplan_meier(A([2, 1, 4, 2, 5] * 10), A([False, True, True, True, False] * 10))
    assert error_of(ten[0]) == pytest.approx(0.8 * np.sqrt(0.005))


def test_fewer_than_ten_that_failed_make_no_interval() -> None:
    """Nine fail at turn 1, and one at turn 2."""
    first, second = kaplan_meier(A([1] * 9 + [2] * 31), np.arange(40) < 10)
    assert np.isnan(first.interval).all()
    assert first.reason == "9 queries make the figure; an interval needs 10"
    assert np.isfinite(second.interval).all()


ROWS = st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=60)


@given(ROWS)
def test_against_statsmodels(rows: list[tuple[int, bool]]) -> None:
    turn, event = A([row[0] for row in rows]), A([row[1] for row in rows])
    at = [point for point in kaplan_meier(turn, event) if point.events]
    theirs = SurvfuncRight(turn, event)
    assert [one.turn for one in at] == theirs.surv_times.tolist()
    assert [one.at_risk for one in at] == theirs.n_risk.tolist()
    assert [one.value for one in at] == pytest.approx(theirs.surv_prob)
    for one, error in zip(at, theirs.surv_prob_se, strict=True):
        if np.isfinite(one.interval).all():
            assert error_of(one) == pytest.approx(error)


def test_two_epochs_of_three_queries_by_hand() -> None:
    # Queries a give way at once in both epochs, b never, c in one of two: half survive.
    names, event = np.repeat(np.arange(15), 2), np.tile(A([1, 1, 0, 0, 1, 0], bool), 5)
    turn = np.where(event, 1, 2)
    curve = clustered(turn, event, number_clusters(names))
    assert [one.value for one in curve] == [0.5, 0.5]
    # Five of each are off by 1/2, -1/2 and 0: se = sqrt(5 (1/4 + 1/4)) / 15 = .1054, where
    # thirty independent conversations would have sqrt(1/4 / 30) = .0913.
    assert error_of(curve[0]) == pytest.approx(np.sqrt(2.5) / 15)
    assert error_of(kaplan_meier(turn, event)[0]) == pytest.approx(np.sqrt(1 / 120))


@given(ROWS, st.integers(2, 5))
def test_equal_epochs_tell_no_more_than_one(rows: list[tuple[int, bool]], epochs: int) -> None:
    turn, event = A([row[0] for row in rows]), A([row[1] for row in rows])
    once = kaplan_meier(turn, event)
    queries = Clusters(np.repeat(np.arange(len(rows)), epochs), len(rows))
    often = clustered(np.repeat(turn, epochs), np.repeat(event, epochs), queries)
    for many, point in zip(often, once, strict=True):
        assert many.at_risk == epochs * point.at_risk
        found, expected = (point.value, *point.interval), (many.value, *many.interval)
        assert found == pytest.approx(expected, nan_ok=True)
