"""The interval of a change of shares: by hand, by simulation, and the same test as its p."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from casewise.statistics import (
    Clusters,
    Estimate,
    clustered_mean,
    clustered_ratio,
    paired_change,
    paired_share_bounds,
    student_bounds,
)

A = np.array


def change(before: Sequence[float], after: Sequence[float], cases: int = 1) -> Estimate:
    """The change of an accuracy, so many cases a query."""
    queries = len(before) // cases
    clusters = Clusters(np.repeat(np.arange(queries), cases), queries)
    found = [clustered_mean(A(one, np.float64), clusters, share=True) for one in (before, after)]
    return paired_change(*found)


def test_two_of_ten_lost_by_hand() -> None:
    found = change([1] * 10, [0, 0] + [1] * 8)
    assert found.value == pytest.approx(-0.2)
    # t(9) = 2.262157, squared 5.117355. Where none is won and the change is below -1/9, the
    # likeliest share of queries won is 0 and the variance -d - d^2:
    # 10 (d + .2)^2 = 5.117355 (-d - d^2), so 15.117355 d^2 + 9.117355 d + .4 = 0.
    square = 2.2621571627**2
    a, b, c = 10 + square, 4 + square, 0.4
    low = (-b - math.sqrt(b * b - 4 * a * c)) / (2 * a)
    assert low == pytest.approx(-0.55547, abs=1e-5)
    assert found.interval[0] == pytest.approx(low)
    # The upper end, put back in: with d = .20621 the likeliest share of queries lost is .07938
    # + ... : q = (-.25366 + sqrt(.25366^2 + 1.6 x .20621 x .79379)) / 4 = .07938, the variance
    # 2 q + d - d^2 = .32245, and 10 (.2 + d)^2 = 1.6501 = 5.117355 x .32245.
    assert found.interval[1] == pytest.approx(0.20621, abs=1e-5)
    # Student's t alone would end below: -.2 +- 2.262 sqrt(.2 x .8 / 10).
    assert student_bounds(found, 0.975).low == pytest.approx(-0.48614, abs=1e-5)
    # At no change the mean square is .2: t = .2 / sqrt(.2 / 10) = 1.4142 on 9 degrees.
    assert found.p == pytest.approx(0.190947, abs=1e-6)


def test_a_run_and_its_copy() -> None:
    before = [1.0, 0.0] * 56
    found = change(before, before, cases=2)
    # None of 56 queries moved: at 97.5 % at most 1 - .025^(1/56) = .06375 of them would.
    assert (found.value, found.se, found.p) == (0, 0, 1)
    assert found.interval == pytest.approx((-0.0637501, 0.0637501), abs=1e-7)
    assert found.summed_up().interval == found.interval


def test_both_ends_are_the_gates_bounds() -> None:
    rng = np.random.default_rng(2)
    before = rng.integers(2, size=60).astype(float)
    after = np.where(rng.random(60) < 0.1, 1 - before, before)
    found = change(before.tolist(), after.tolist(), cases=2)
    bounds = paired_share_bounds(found, 0.975)
    assert found.interval == (bounds.low, bounds.high)
    assert found.summed_up().interval == found.interval


def test_what_is_no_change_of_shares() -> None:
    clusters = Clusters(np.arange(40), 40)
    share = clustered_mean(A([1.0, 0] * 20), clusters, share=True)
    part = clustered_ratio(A([1.0, 0] * 20), A([1.0, 1, 1, 0] * 10), clusters, share=True)
    mean = clustered_mean(np.linspace(0, 1, 40), clusters)
    assert paired_change(share, share).is_share_change
    for other in (part, mean):
        assert not paired_change(share, other).is_share_change
    # Another figure that is alike in all queries shows no spread, however many they are.
    alike = paired_change(mean, mean)
    assert alike.value == 0
    assert np.isnan([alike.p, *alike.interval]).all()
