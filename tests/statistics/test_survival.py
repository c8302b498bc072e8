"""The survival curve: by hand, against the literature and against another library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

from casewise.statistics import BoolArray, Clusters, IntArray, SurvivalCurve, number_clusters
from casewise.statistics import kaplan_meier as clustered

A = np.array


def kaplan_meier(turn: IntArray, event: BoolArray) -> SurvivalCurve:
    """The curve of conversations to a query each."""
    return clustered(turn, event, number_clusters(np.arange(len(turn))))


def test_by_hand() -> None:
    # Five conversations: one fails at turn 1, one at 2, one is last seen at 2, one fails at 4,
    # one holds to the end, 5. Survival 4/5, then 3/4 of it, then 1/2 of that.
    curve = kaplan_meier(A([2, 1, 4, 2, 5]), A([False, True, True, True, False]))
    assert curve.turns.tolist() == [1, 2, 4, 5]
    assert curve.at_risk.tolist() == [5, 4, 2, 1]
    assert curve.events.tolist() == [1, 1, 1, 0]
    assert curve.survival == pytest.approx([0.8, 0.6, 0.3, 0.3])
    assert curve.median == 4
    # Ten of each. Greenwood after turn 1: 10/(50 x 40) = .005; theta = 1.96 sqrt(.005) / |log .8|.
    ten = kaplan_meier(A([2, 1, 4, 2, 5] * 10), A([False, True, True, True, False] * 10))
    theta = 1.959963984540054 * np.sqrt(0.005) / -np.log(0.8)
    assert ten.low[0] == pytest.approx(0.8 ** np.exp(theta))
    assert ten.high[0] == pytest.approx(0.8 ** np.exp(-theta))


def test_fewer_than_ten_that_failed_make_no_interval() -> None:
    """Nine fail at turn 1, and one at turn 2."""
    curve = kaplan_meier(A([1] * 9 + [2] * 31), np.arange(40) < 10)
    assert np.isnan(curve.low).tolist() == np.isnan(curve.high).tolist() == [True, False]


ROWS = st.lists(st.tuples(st.integers(1, 8), st.booleans()), min_size=1, max_size=60)


@given(ROWS)
def test_against_statsmodels(rows: list[tuple[int, bool]]) -> None:
    turn, event = A([row[0] for row in rows]), A([row[1] for row in rows])
    curve = kaplan_meier(turn, event)
    at = curve.events > 0
    theirs = SurvfuncRight(turn, event)
    assert curve.turns[at].tolist() == theirs.surv_times.tolist()
    assert curve.at_risk[at].tolist() == theirs.n_risk.tolist()
    assert curve.survival[at] == pytest.approx(theirs.surv_prob)
    within = at & np.isfinite(curve.low)
    # The interval says its standard error: log(-log S) +- z se / (S |log S|).
    spread = np.log(-np.log(curve.low[within])) - np.log(-np.log(curve.high[within]))
    survival = curve.survival[within]
    errors = spread / (2 * 1.959963984540054) * survival * np.abs(np.log(survival))
    assert errors == pytest.approx(theirs.surv_prob_se[within[at]])


def errors_of(low: float, high: float, survival: float) -> float:
    """The standard error that an interval says: log(-log S) +- z se / (S |log S|)."""
    spread = np.log(-np.log(low)) - np.log(-np.log(high))
    return float(spread / (2 * 1.959963984540054) * survival * np.abs(np.log(survival)))


def test_two_epochs_of_three_queries_by_hand() -> None:
    # Queries a give way at once in both epochs, b never, c in one of two: half survive.
    names, event = np.repeat(np.arange(15), 2), np.tile(A([1, 1, 0, 0, 1, 0], bool), 5)
    turn = np.where(event, 1, 2)
    curve = clustered(turn, event, number_clusters(names))
    assert curve.survival.tolist() == [0.5, 0.5]
    # Five of each are off by 1/2, -1/2 and 0: se = sqrt(5 (1/4 + 1/4)) / 15 = .1054, where
    # thirty independent conversations would have sqrt(1/4 / 30) = .0913.
    assert errors_of(curve.low[0], curve.high[0], 0.5) == pytest.approx(np.sqrt(2.5) / 15)
    alone = kaplan_meier(turn, event)
    assert errors_of(alone.low[0], alone.high[0], 0.5) == pytest.approx(np.sqrt(1 / 120))


@given(ROWS, st.integers(2, 5))
def test_equal_epochs_tell_no_more_than_one(rows: list[tuple[int, bool]], epochs: int) -> None:
    turn, event = A([row[0] for row in rows]), A([row[1] for row in rows])
    once = kaplan_meier(turn, event)
    queries = Clusters(np.repeat(np.arange(len(rows)), epochs), len(rows))
    often = clustered(np.repeat(turn, epochs), np.repeat(event, epochs), queries)
    assert often.survival == pytest.approx(once.survival)
    assert often.low == pytest.approx(once.low, nan_ok=True)
    assert often.high == pytest.approx(once.high, nan_ok=True)
    assert often.at_risk.tolist() == (epochs * once.at_risk).tolist()


def test_half_is_half() -> None:
    # 2/3 x 3/4 is a half, whatever the product of floats is.
    turn = A([1, 1, 2, 3, 3, 3])
    event = A([True, True, True, False, False, False])
    assert kaplan_meier(turn, event).median == 2
