"""Two groups of people in votes, by hand."""

import numpy as np
import pytest

from casewise_study.statistics import groups


def test_two_groups_by_hand() -> None:
    """Four people of one mind, and three who say the opposite, on twelve cases."""
    cases, people = np.tile(np.arange(12), 7), np.repeat(np.arange(7), 12)
    verdict = ((cases % 2 == 0) == (people < 4)).astype(float)
    found = groups.two_groups(verdict, cases, people, 7, 99, 0)
    assert found.p == 0.01
    assert found.second.tolist() == [False] * 4 + [True] * 3
    assert found.within == (1.0, 1.0)
    assert found.between == 0.0
    # One of the three is of the others' mind on half of the cases: of their 3 pairs on a case 3
    # agree in half of the cases, and 1 in the other half; across, 4 of 12 pairs agree in half.
    half = (people == 6) & (cases < 6)
    found = groups.two_groups(np.where(half, 1 - verdict, verdict), cases, people, 7, 99, 0)
    assert found.second.tolist() == [False] * 4 + [True] * 3
    assert found.within == pytest.approx((1.0, (3 + 1) / 6))
    assert found.between == pytest.approx(4 / 12 / 2)
