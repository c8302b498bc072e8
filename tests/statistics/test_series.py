"""The exact test of a fall at the end of a series, by hand, by enumeration, and of chance."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest

from casewise.statistics import IntArray, chance_of_fall


def test_two_rows_are_mcnemars_exact_test() -> None:
    """9 queries lost and 3 gained: 9 or more of 12 by a fair coin, .0730."""
    after = np.array([-1] * 9 + [1] * 3 + [0] * 20)
    found = chance_of_fall(np.array([np.zeros(32, np.int64), after]), 1)
    assert found == pytest.approx(binomtest(9, 12, alternative="greater").pvalue)
    assert found == pytest.approx(0.07299805)


def test_a_query_that_never_moved_weighs_more_than_one_that_often_did() -> None:
    """Lost in the newest of 5 rows: 1 in 5 by chance; lost in three of the 5: 3 in 5."""
    steady = np.array([[0], [0], [0], [0], [-1]])
    coin = np.array([[0], [-1], [-1], [0], [-1]])
    assert chance_of_fall(steady, 1) == pytest.approx(1 / 5)
    assert chance_of_fall(coin, 1) == pytest.approx(3 / 5)
    assert chance_of_fall(np.hstack([steady, steady]), 1) == pytest.approx(1 / 25)
    # Of the 6 ways to take two of four rows, one takes both that were lost.
    assert chance_of_fall(np.array([[0], [0], [-1], [-1]]), 2) == pytest.approx(1 / 6)


def test_nothing_moved() -> None:
    assert chance_of_fall(np.zeros((4, 3), np.int64), 2) == 1
    assert chance_of_fall(np.full((4, 3), -1), 1) == 1


@given(arrays(np.int64, (4, 3), elements=st.integers(-2, 2)), st.integers(1, 3))
def test_it_is_the_share_of_orders(series: IntArray, newest: int) -> None:
    orders = [np.array(order) for order in permutations(range(4))]
    each = [[int(column[order][-newest:].sum()) for order in orders] for column in series.T]
    low = sum(sum(some) <= series[-newest:].sum() for some in product(*each))
    assert chance_of_fall(series, newest) == pytest.approx(low / 24**3)
