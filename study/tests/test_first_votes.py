"""Votes that end at a boundary: estimates by hand, over all votes that can come, and in replays."""

import math
from itertools import product

import numpy as np
import pytest

from casewise.statistics import BoolArray, IntArray, agreement
from casewise_study.statistics import Boundary, FirstVotes, first_agreement, first_votes

A = np.array


def until_clear(orders: IntArray | BoolArray, rule: Boundary) -> IntArray:
    """Votes of each row until the rule stops it."""
    most = orders.shape[1]
    yes = orders.cumsum(axis=1)
    decided = np.maximum(yes, np.arange(1, most + 1) - yes) >= rule.majorities(most)[1:]
    return np.asarray(np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, most))


def of_one(safe: int, unsafe: int, boundary: Boundary) -> tuple[float, float]:
    votes = first_votes(A([float(safe)]), A([float(unsafe)]), boundary)
    return float(votes.safe[0]), float(votes.alike[0])


def test_the_smallest_majority_that_decides() -> None:
    # 5:0 (63/64), 6:0; 6:1 (.965) but not 5:1 (.9375); 7:1; 8:2 (.967); of 4 and fewer none.
    assert Boundary().majorities(10)[4:].tolist() == [5, 5, 6, 6, 7, 8, 8]
    assert Boundary(least=1).majorities(5).tolist() == [1, 2, 3, 4, 4, 5]


def test_an_end_point_by_hand() -> None:
    """At .9 after three votes, 3:0 stops (15/16) and 4:1 doesn't (57/64)."""
    rule = Boundary(0.9, 3)
    assert rule.majorities(5)[3:].tolist() == [3, 4, 5]
    # The unsafe vote of 4:1 came first, second or third; else the case had stopped at 3:0.
    assert of_one(4, 1, rule) == (2 / 3, 1 / 3)
    # Its votes as they are say .8. By symmetry the other side is as far off.
    assert of_one(1, 4, rule) == (1 / 3, 1 / 3)
    assert of_one(3, 0, rule) == (1, 1)
    # 4:0 lies beyond 3:0: no order of votes ends there.
    assert np.isnan(of_one(4, 0, rule)).all()
    assert np.isnan(of_one(0, 0, rule)).all()
    # Before anything can stop, every order counts.
    assert of_one(1, 1, rule) == (0.5, 0)
    assert of_one(1, 0, rule)[0] == 1
    assert math.isnan(of_one(1, 0, rule)[1])
    # Where a case may stop after one vote, nothing is known of two.
    assert of_one(1, 0, Boundary(0.7, 1))[0] == 1
    assert math.isnan(of_one(2, 2, Boundary(0.7, 1))[1])


@pytest.mark.parametrize("rule", [Boundary(), Boundary(0.9, 3), Boundary(0.8, 2)])
@pytest.mark.parametrize("most", [4, 9])
def test_no_bias_over_all_votes_that_can_come(rule: Boundary, most: int) -> None:
    """The sum over all 2^most orders of votes is the share of people, and of two alike."""
    orders = A(list(product([0, 1], repeat=most)))
    ends = until_clear(orders, rule)
    safe = (orders * (np.arange(most) < ends[:, None])).sum(axis=1).astype(float)
    votes = first_votes(safe, ends - safe, rule)
    assert votes.known
    for share in (0.03, 0.4, 0.5, 0.9):
        chance = share ** orders.sum(axis=1) * (1 - share) ** (most - orders.sum(axis=1))
        assert chance @ votes.safe == pytest.approx(share, abs=1e-12)
        assert chance @ votes.alike == pytest.approx(share**2 + (1 - share) ** 2, abs=1e-12)


def test_agreement_of_first_votes_is_that_of_all_where_nothing_stops() -> None:
    safe, unsafe, queries = A([3.0, 0, 2, 4]), A([1.0, 4, 2, 0]), np.arange(4)
    plain = agreement(safe, unsafe)
    found = first_agreement(first_votes(safe, unsafe, Boundary(0.95, 9)), 4.0, queries)
    for name in ("krippendorff_alpha", "gwet_ac1"):
        assert getattr(found, name).value == pytest.approx(getattr(plain, name).value)
    nothing = FirstVotes(np.full(4, np.nan), np.full(4, np.nan))
    assert math.isnan(first_agreement(nothing, 4.0, queries).krippendorff_alpha.value)
