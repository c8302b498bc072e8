"""The survival curve: by hand, against the literature and against another library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.duration.survfunc import SurvfuncRight

from casewise.statistics import Clusters, kaplan_meier, number_clusters

A = np.array
NAN = float("nan")


def test_by_hand() -> None:
    # Five conversations: one fails at turn 1, one at 2, one is last seen at 2, one fails at 4,
    # one holds to the end, 5. Survival 4/5, then 3/4 of it, then 1/2 of that.
    curve = kaplan_meier(A([2, 1, 4, 2, 5]), A([False, True, True, True, False]))
    assert curve.turns.tolist() == [1, 2, 4, 5]
    assert curve.at_risk.tolist() == [5, 4, 2, 1]
    assert curve.events.tolist() == [1, 1, 1, 0]
    assert curve.survival == pytest.approx([0.8, 0.6, 0.3, 0.3])
    assert curve.median == 4
    # Greenwood after turn 1: 1/(5 x 4) = .05; theta = 1.96 sqrt(.05) / |log .8| = 1.96403.
    theta = 1.959963984540054 * np.sqrt(0.05) / -np.log(0.8)
    assert curve.low[0] == pytest.approx(0.8 ** np.exp(theta))
    assert curve.high[0] == pytest.approx(0.8 ** np.exp(-theta))


def test_against_the_literature() -> None:
    # The 6-MP arm of Freireich et al. (1963), weeks to relapse, the textbook example; intervals
    # by log(-log) as Stata prints them.
    weeks = A([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35])
    relapse = np.isin(np.arange(21), [0, 1, 2, 4, 6, 9, 10, 14, 15])
    curve = kaplan_meier(weeks, relapse)
    at = curve.events > 0
    assert curve.turns[at].tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.survival[at] == pytest.approx(
        [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], abs=5e-5
    )
    assert curve.low[at] == pytest.approx(
        [0.6197, 0.5631, 0.5032, 0.4316, 0.3675, 0.2678, 0.1881], abs=5e-5
    )
    assert curve.high[at] == pytest.approx(
        [0.9516, 0.9228, 0.8894, 0.8491, 0.8049, 0.7468, 0.6801], abs=5e-5
    )
    assert curve.median == 23


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
    within = at & (curve.survival > 0)
    # The interval says its standard error: log(-log S) +- z se / (S |log S|).
    spread = np.log(-np.log(curve.low[within])) - np.log(-np.log(curve.high[within]))
    survival = curve.survival[within]
    errors = spread / (2 * 1.959963984540054) * survival * np.abs(np.log(survival))
    assert errors == pytest.approx(theirs.surv_prob_se[: len(errors)])


def errors_of(low: float, high: float, survival: float) -> float:
    """The standard error that an interval says: log(-log S) +- z se / (S |log S|)."""
    spread = np.log(-np.log(low)) - np.log(-np.log(high))
    return float(spread / (2 * 1.959963984540054) * survival * np.abs(np.log(survival)))


def test_two_epochs_of_three_queries_by_hand() -> None:
    # Query a gives way at once in both epochs, b never, c in one of two: 3 of 6, survival 1/2.
    names, event = np.repeat(["a", "b", "c"], 2), A([1, 1, 0, 0, 1, 0], bool)
    turn = np.where(event, 1, 2)
    curve = kaplan_meier(turn, event, number_clusters(names))
    assert curve.survival.tolist() == [0.5, 0.5]
    # The means of a, b, c are off by 1/2, -1/2 and 0: se = sqrt((1/4 + 1/4) / 9) = .2357, where
    # six independent conversations would have sqrt(1/4 / 6) = .2041.
    assert errors_of(curve.low[0], curve.high[0], 0.5) == pytest.approx(np.sqrt(0.5) / 3)
    alone = kaplan_meier(turn, event)
    assert errors_of(alone.low[0], alone.high[0], 0.5) == pytest.approx(np.sqrt(1 / 24))


@given(ROWS, st.integers(2, 5))
def test_equal_epochs_tell_no_more_than_one(rows: list[tuple[int, bool]], epochs: int) -> None:
    turn, event = A([row[0] for row in rows]), A([row[1] for row in rows])
    once = kaplan_meier(turn, event)
    queries = Clusters(np.repeat(np.arange(len(rows)), epochs), len(rows))
    often = kaplan_meier(np.repeat(turn, epochs), np.repeat(event, epochs), queries)
    assert often.survival == pytest.approx(once.survival)
    assert often.low == pytest.approx(once.low, nan_ok=True)
    assert often.high == pytest.approx(once.high, nan_ok=True)
    assert often.at_risk.tolist() == (epochs * once.at_risk).tolist()


def test_half_is_half() -> None:
    # 2/3 x 3/4 is a half, whatever the product of floats is.
    turn = A([1, 1, 2, 3, 3, 3])
    event = A([True, True, True, False, False, False])
    assert kaplan_meier(turn, event).median == 2
