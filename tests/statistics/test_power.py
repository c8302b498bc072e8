"""Power against published figures, statsmodels and hand arithmetic."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import (
    power_proportions_2indep,
    proportion_effectsize,
)

from casewise.choices import Parent, ProportionMethod
from casewise.statistics._power import (
    EFFICIENCY,
    LEAST_SIZE,
    Level,
    PairedDesign,
    context_share_error,
    discordance_variance,
    fisher_power,
    fisher_size,
    mann_whitney_power,
    noether_power,
    normal_power,
    paired_power,
    proportions_power,
    rank_error,
    smallest_effect,
    smallest_size,
    t_power,
    whole,
    within_degrees,
)

TWO, ONE = Level(0.05), Level(0.05, two_sided=False)
ARCSINE, POOLED, EXACT = ProportionMethod


def t_size(effect: float, power: float, level: Level) -> float:
    return smallest_size(lambda n: t_power(effect, n, level), power)


# Published figures


@pytest.mark.parametrize(
    ("effect", "level", "n"),
    [
        # Cohen (1992), doi:10.1037/0033-2909.112.1.155, table 2, power .80: two-sided .05, .01.
        (0.2, TWO, 393),
        (0.5, TWO, 64),
        (0.8, TWO, 26),
        (0.5, Level(0.01), 95),
        (0.8, Level(0.01), 38),
    ],
)
def test_t_sizes_of_tables(effect: float, level: Level, n: int) -> None:
    # The table rounds to the nearest, where G*Power and we round up.
    assert round(t_size(effect, 0.8, level)) == n


def test_t_as_r() -> None:
    # help(power.t.test) in R: n = 20, delta = 1 gives .8689528; power .90 needs n = 22.02110,
    # or 17.84713 one-sided.
    assert t_power(1, 20, TWO) == pytest.approx(0.8689528, abs=5e-7)
    assert t_size(1, 0.9, TWO) == pytest.approx(22.0211, abs=1e-4)
    assert t_size(1, 0.9, ONE) == pytest.approx(17.84713, abs=1e-5)


def test_the_papers_number() -> None:
    size = t_size(0.8, 0.8, ONE)
    assert size == pytest.approx(20.03, abs=0.005)
    assert whole(size) == 21


def test_noether_as_published() -> None:
    # statpsych's size.test.mann(.05, .90, .3) gives 44; by hand
    # (1.95996 + 1.28155)^2 / (6 x .2^2) = 10.5074 / .24 = 43.78.
    size = smallest_size(lambda n: noether_power(0.3, n, TWO), 0.9)
    assert size == pytest.approx(43.78, abs=0.005)


def test_pooled_as_r() -> None:
    # help(power.prop.test) in R: n = 50, p = .50, .75 gives .740; power .90 needs n = 76.7.
    assert proportions_power(0.5, 0.75, 50, TWO, POOLED) == pytest.approx(0.740, abs=5e-4)
    size = smallest_size(lambda n: proportions_power(0.5, 0.75, n, TWO, POOLED), 0.9)
    assert size == pytest.approx(76.7, abs=0.05)


def test_arcsine_by_cohen() -> None:
    # Cohen (1988), section 6.4: n = 392.4 / (100 h^2 / 4) and h = .20, .50, .80 need 392, 63, 25.
    for h, n in ((0.2, 392), (0.5, 63), (0.8, 25)):
        p2 = math.sin((math.pi / 2 + h) / 2) ** 2

        def power_of(n: float, p2: float = p2) -> float:
            return proportions_power(0.5, p2, n, TWO, ARCSINE)

        assert round(smallest_size(power_of, 0.8)) == n


def test_fisher_as_published() -> None:
    # Matthews, Sample Size Calculations, section 4.3.2.1: one-sided, 80 a group, .01 against .05.
    assert fisher_power(0.01, 0.05, 80, ONE) == pytest.approx(0.211135, abs=1e-6)
    # R package lrstat, its own tests: 136 in all, .25 against .05, two-sided.
    assert fisher_power(0.25, 0.05, 68, TWO) == pytest.approx(0.897983, abs=1e-6)


def test_fisher_by_hand() -> None:
    # Two groups of 4: 4 against 0 has P = 1 / C(8, 4) = 1/70 = .014, or twice that; the next, 4
    # against 1, has P = 4 / C(8, 5) = 4/56 = .071. So only 4 against 0 is found.
    assert fisher_power(0.9, 0.2, 4, TWO) == pytest.approx((0.9 * 0.8) ** 4 + (0.1 * 0.2) ** 4)
    assert fisher_power(0.9, 0.2, 4, ONE) == pytest.approx((0.9 * 0.8) ** 4)


def test_paired_by_hand() -> None:
    # sd .3, difference .03, one case a query: (1.95996 + .84162)^2 x .09 / .0009 = 784.89.
    design = PairedDesign(0.09, cases=1)
    size = smallest_size(lambda n: paired_power(0.03, n, 1, design, TWO), 0.8)
    assert size == pytest.approx(784.89, abs=0.01)
    # Two cases a query: half as many queries, times the design effect 1 + .2.
    pairs = smallest_size(lambda n: paired_power(0.03, n, 1, PairedDesign(0.09, rho=0.2), TWO), 0.8)
    assert pairs == pytest.approx(size / 2 * 1.2)


def test_variance_of_a_query_by_hand() -> None:
    # .09 / 2 = .045 a query; .6 of it between (with rho .2: .6 + .2), .4 within over 4 epochs.
    design = PairedDesign(0.09, rho=0.2, noise=0.4)
    assert design.query_variance(1) == pytest.approx(0.045 * 1.2)
    assert design.query_variance(4) == pytest.approx(0.045 * (0.8 + 0.1))
    assert design.query_variance(math.inf) == pytest.approx(0.045 * 0.8)


def test_miller_by_hand() -> None:
    # Miller (2024): n = (z + z)^2 (omega^2 + s_A^2 / K + s_B^2 / K) / delta^2, with independent
    # questions, omega^2 = .1, s^2 = .15 either model, K = 3, delta = .05:
    # 7.84888 x (.1 + .05 + .05) / .0025 = 627.91.
    design = PairedDesign(0.1 + 0.3, cases=1, noise=0.3 / 0.4)
    size = smallest_size(lambda n: paired_power(0.05, n, 3, design, TWO), 0.8)
    assert size == pytest.approx(627.91, abs=0.01)


def test_discordance_variance_by_hand() -> None:
    # 1 with chance .08, -1 with chance .02: mean .06, mean square .10.
    assert discordance_variance(0.10, 0.06) == pytest.approx(0.08 + 0.02 - 0.06**2)


def test_impossible_designs() -> None:
    assert PairedDesign(1, rho=0.5, noise=0.5).possible
    assert not PairedDesign(1, rho=0.51, noise=0.5).possible
    assert PairedDesign(1, rho=-1).possible
    assert not PairedDesign(1, rho=-0.6, cases=3).possible


# Other implementations


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("n", [2, 3.5, 21, 100])
def test_t_as_statsmodels(n: float, two_sided: bool) -> None:
    for effect, alpha in ((0.1, 0.05), (0.8, 0.01), (1.5, 0.2)):
        theirs = TTestIndPower().power(
            effect, n, alpha, alternative="two-sided" if two_sided else "larger"
        )
        assert t_power(effect, n, Level(alpha, two_sided)) == pytest.approx(theirs, abs=1e-9)


def test_t_of_enormous_effects() -> None:
    # statsmodels gives NaN at some of these.
    for effect in np.geomspace(5, 1e9, 200):
        assert t_power(effect, 50, TWO) == pytest.approx(1)


@pytest.mark.parametrize("two_sided", [True, False])
def test_pooled_as_statsmodels(two_sided: bool) -> None:
    for p1, p2, n in ((0.2, 0.5, 30), (0.9, 0.7, 12.5), (0.05, 0, 80)):
        theirs = power_proportions_2indep(
            abs(p1 - p2),
            min(p1, p2),
            n,
            alpha=0.05,
            alternative="two-sided" if two_sided else "larger",
            return_results=False,
        )
        ours = proportions_power(p1, p2, n, Level(0.05, two_sided), POOLED)
        assert ours == pytest.approx(float(theirs), abs=1e-9)


def test_arcsine_as_statsmodels() -> None:
    h = abs(float(proportion_effectsize(0.3, 0.6)))
    expected = normal_power(h * math.sqrt(40 / 2), ONE)
    assert proportions_power(0.3, 0.6, 40, ONE, ARCSINE) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_fisher_as_scipy(alpha: float) -> None:
    n = 11
    for two_sided, alternative in ((True, "two-sided"), (False, "greater")):
        rejected = [
            [
                stats.fisher_exact([[a, n - a], [b, n - b]], alternative)[1] <= alpha
                for b in range(n + 1)
            ]
            for a in range(n + 1)
        ]
        first, second = (stats.binom.pmf(np.arange(n + 1), n, p) for p in (0.8, 0.3))
        expected = first @ np.array(rejected) @ second
        assert fisher_power(0.3, 0.8, n, Level(alpha, two_sided)) == pytest.approx(expected)


# Properties

levels = st.builds(Level, st.floats(0.001, 0.2), st.booleans())
powers = st.floats(0.3, 0.99)
effects = st.floats(0.05, 3)
shares = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)


@given(effects, powers, levels)
@settings(max_examples=40, deadline=None)
def test_size_to_power_and_back(effect: float, power: float, level: Level) -> None:
    size = t_size(effect, power, level)
    reached = t_power(effect, size, level)
    if size > LEAST_SIZE:
        assert reached == pytest.approx(power, abs=1e-9)
        found = smallest_effect(lambda d: t_power(d, size, level), power, math.inf)
        assert found == pytest.approx(effect, rel=1e-6)
    assert t_power(effect, whole(size), level) >= power - 1e-9


@given(st.sampled_from(Parent), effects, powers, levels)
@settings(max_examples=25, deadline=None)
def test_ranks_need_people_by_efficiency(
    parent: Parent, effect: float, power: float, level: Level
) -> None:
    means = t_size(effect, power, level)
    ranks = smallest_size(lambda n: mann_whitney_power(effect, n, level, parent), power)
    if min(means, ranks) > LEAST_SIZE:
        assert ranks == pytest.approx(means / EFFICIENCY[parent], rel=1e-6)


@given(shares, shares, st.floats(2, 500), levels)
@settings(max_examples=60, deadline=None)
def test_share_powers_are_chances_and_rise(p1: float, p2: float, n: float, level: Level) -> None:
    for method in (ARCSINE, POOLED):
        power = proportions_power(p1, p2, n, level, method)
        assert 0 <= power <= 1
        assert power == pytest.approx(proportions_power(p2, p1, n, level, method))
        assert power == pytest.approx(proportions_power(1 - p1, 1 - p2, n, level, method))
    assert proportions_power(p1, p2, 2 * n, level, ARCSINE) >= proportions_power(
        p1, p2, n, level, ARCSINE
    ) * (1 - 1e-9)


@given(shares, shares, st.integers(2, 40), levels)
@settings(max_examples=40, deadline=None)
def test_fisher_keeps_its_level(p1: float, p2: float, n: int, level: Level) -> None:
    assert fisher_power(p1, p1, n, level) <= level.alpha * (1 + 1e-6)
    power = fisher_power(p1, p2, n, level)
    assert 0 <= power <= 1
    assert power == pytest.approx(fisher_power(p2, p1, n, level))


@pytest.mark.parametrize(("p1", "p2"), [(0.5, 0.75), (0.1, 0.5), (0, 1), (0.9, 0.6)])
def test_fisher_size_holds_from_there_on(p1: float, p2: float) -> None:
    found = fisher_size(p1, p2, 0.8, TWO)
    n, top = int(found.n), int(found.holds_to)
    assert all(fisher_power(p1, p2, size, TWO) >= 0.8 for size in range(n, top + 1))
    assert fisher_power(p1, p2, n - 1, TWO) < 0.8


def test_fisher_rises_in_saw_teeth() -> None:
    # Why one size that has the power is not enough.
    powers = [fisher_power(0.02, 0.2, n, ONE) for n in range(10, 60)]
    assert any(later < earlier for earlier, later in pairwise(powers))


def test_no_difference_gives_alpha() -> None:
    for level in (TWO, ONE):
        assert t_power(0, 20, level) == pytest.approx(0.05)
        assert noether_power(0.5, 20, level) == pytest.approx(0.05)
        assert proportions_power(0.3, 0.3, 20, level, POOLED) == pytest.approx(0.05)
        assert proportions_power(0.3, 0.3, 20, level, ARCSINE) == pytest.approx(0.05)
        assert paired_power(0, 50, 1, PairedDesign(0.1), level) == pytest.approx(0.05)


def test_all_against_none() -> None:
    # There is one outcome, z = sqrt(n) / sqrt(2 x 1/4): found from 1.95996^2 / 2 = 1.92 on.
    assert proportions_power(0, 1, 2, TWO, POOLED) == 1
    assert proportions_power(0, 1, 2, Level(0.001), POOLED) == 0


def test_unreachable_is_infinite() -> None:
    assert math.isinf(smallest_size(lambda n: 0.5, 0.8))
    assert math.isinf(smallest_effect(lambda effect: 0.5, 0.8, most=1))
    assert math.isinf(fisher_size(0.5, 0.501, 0.8, TWO).n)
    assert math.isinf(t_size(1e-6, 0.8, TWO))


def test_enough_from_the_start() -> None:
    assert t_size(50, 0.8, TWO) == LEAST_SIZE


def test_whole() -> None:
    assert whole(20.03) == 21
    assert whole(20.0) == 20
    assert whole(20 + 1e-10) == 20


def test_level() -> None:
    assert TWO.critical == pytest.approx(1.959964, abs=1e-6)
    assert ONE.critical == pytest.approx(1.644854, abs=1e-6)
    assert normal_power(0, TWO) == pytest.approx(0.05)
    assert normal_power(2.8, ONE) == pytest.approx(NormalDist().cdf(2.8 - ONE.critical))


# Contexts of a query


@given(st.floats(0, 1), st.integers(1, 500))
def test_two_contexts_a_query_are_draws_of_a_share(agreement: float, queries: int) -> None:
    error = math.sqrt(agreement * (1 - agreement) / queries)
    assert rank_error(agreement, queries, 2) == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 5, 20])
def test_ranks_by_chance_have_kendalls_variance(k: int) -> None:
    # Kendall (1938): 2 (2 k + 5) / (9 k (k - 1)) of tau.
    assert rank_error(0.5, 1, k) ** 2 * 4 == pytest.approx(2 * (2 * k + 5) / (9 * k * (k - 1)))
    assert rank_error(1, 1, k) == pytest.approx(0, abs=1e-6)


def test_correlation_within_queries_as_rmcorr_has_it() -> None:
    # The authors' example: 100 people, 3 measurements, r = .2: power .8157 (with a correction).
    shift = math.atanh(0.2) * math.sqrt(within_degrees(100, 3))
    assert normal_power(shift, TWO) == pytest.approx(0.8157, abs=0.003)


def test_context_share_as_bonett_has_it() -> None:
    # 8 z^2 (1 - r)^2 (1 + (k - 1) r)^2 / (k (k - 1) w^2) + 1 with r = .8, k = 2, w = .2: 50.8.
    assert TWO.critical * context_share_error(0.2, 50.79, 2) == pytest.approx(0.1, abs=1e-4)
