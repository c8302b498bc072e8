"""Power against published figures, statsmodels, hand arithmetic and simulated studies."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.statistics import (
    LEAST_SIZE,
    Level,
    PairedDesign,
    paired_power,
    proportions_power,
    smallest,
)

TWO, ONE = Level(0.05), Level(0.05, two_sided=False)


def smallest_size(power_of: Callable[[float], float], wanted: float) -> float:
    return smallest(power_of, wanted, LEAST_SIZE, 1e7)


def paired_size(design: PairedDesign, effect: float = 0.03, power: float = 0.8) -> float:
    return smallest_size(lambda n: paired_power(effect, n, design, TWO), power)


def test_proportions_as_r() -> None:
    # help(power.prop.test) in R: n = 50, p = .50, .75 gives .740; power .90 needs n = 76.7.
    assert proportions_power(0.5, 0.75, 50, TWO) == pytest.approx(0.740, abs=5e-4)
    size = smallest_size(lambda n: proportions_power(0.5, 0.75, n, TWO), 0.9)
    assert size == pytest.approx(76.7, abs=0.05)


def test_paired_by_hand() -> None:
    # sd .3, difference .03, one case a query: (1.95996 + .84162)^2 x .09 / .0009 = 784.89.
    size = paired_size(PairedDesign(0.09, cases=1))
    assert size == pytest.approx(784.89, abs=0.01)
    # Two cases a query: half as many queries, times the design effect 1 + .2.
    assert paired_size(PairedDesign(0.09, rho=0.2)) == pytest.approx(size / 2 * 1.2)


levels = st.builds(Level, st.floats(0.001, 0.2), st.booleans())


@given(st.floats(0.01, 0.3), st.floats(0.3, 0.99), levels)
@settings(max_examples=40, deadline=None)
def test_size_to_power_and_back(effect: float, power: float, level: Level) -> None:
    design = PairedDesign(0.09)
    size = smallest_size(lambda n: paired_power(effect, n, design, level), power)
    if size > LEAST_SIZE:
        assert paired_power(effect, size, design, level) == pytest.approx(power, abs=1e-9)
        found = smallest(lambda d: paired_power(d, size, design, level), power, 1e-9, math.inf)
        assert found == pytest.approx(effect, rel=1e-6)
    assert paired_power(effect, math.ceil(size), design, level) >= power - 1e-9


def test_no_difference_gives_alpha() -> None:
    for level in (TWO, ONE):
        assert proportions_power(0.3, 0.3, 20, level) == pytest.approx(0.05)
        assert paired_power(0, 50, PairedDesign(0.1), level) == pytest.approx(0.05)


def test_all_against_none() -> None:
    # There is one outcome, z = sqrt(n) / sqrt(2 x 1/4): found from 1.95996^2 / 2 = 1.92 on.
    assert proportions_power(0, 1, 2, TWO) == 1
    assert proportions_power(0, 1, 2, Level(0.001)) == 0


def test_ends_of_a_search() -> None:
    assert math.isinf(smallest_size(lambda n: 0.5, 0.8))
    assert math.isinf(smallest(lambda effect: 0.5, 0.8, 1e-9, 1))
    assert math.isinf(paired_size(PairedDesign(0.09), 1e-6))
    assert paired_size(PairedDesign(0.001), 1.0) == LEAST_SIZE
