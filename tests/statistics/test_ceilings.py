"""Reliability, one person and oracles: hand arithmetic, and simulated people."""

import math

import numpy as np
import pytest

from casewise.statistics import (
    fit_beta_binomial,
    one_person,
    oracle,
    reliability_icc,
)

A = np.array


def test_icc_by_hand() -> None:
    # Shares .75, 0, .5 of 4 votes: mean(p (1 - p)) = (.1875 + 0 + .25) / 3, over 3; the variance
    # is ((1/3)^2 + (5/12)^2 + (1/12)^2) / 2.
    reliability = reliability_icc(A([3.0, 0, 2]), A([1.0, 4, 2]))
    sampling = 0.4375 / 3 / 3
    between = ((1 / 3) ** 2 + (5 / 12) ** 2 + (1 / 12) ** 2) / 2
    assert reliability.sampling_variance == pytest.approx(sampling)
    assert reliability.icc == pytest.approx(1 - sampling / between)
    assert reliability.pcc == pytest.approx(math.sqrt(1 - sampling / between))
    assert reliability.votes == pytest.approx(4.0)
    assert reliability.cases == 3


def test_unequal_votes() -> None:
    # 1:1 and 3:0. Within a case: (2 / 4 + 0) * ... sum k p (1 - p) = .5, over 1 + 2; harmonic
    # mean of 2 and 3 is 2.4; shares .5 and 1 have variance .125.
    reliability = reliability_icc(A([1.0, 3]), A([1.0, 0]))
    assert reliability.votes == pytest.approx(2.4)
    assert reliability.sampling_variance == pytest.approx(0.5 / 3 / 2.4)
    assert reliability.icc == pytest.approx(1 - 0.5 / 3 / 2.4 / 0.125)


def test_one_person_by_hand() -> None:
    # 3:1 - each of three safe votes faces 2:1, right; the unsafe one faces 3:0, wrong: 3/4.
    assert one_person(A([3.0]), A([1.0])).accuracy == pytest.approx(3 / 4)
    # 2:2 - everybody faces 1:2 the other way.
    assert one_person(A([2.0]), A([2.0])).accuracy == 0.0
    # 2:1 - the safe votes face a tie, worth half; the unsafe one is wrong: (1/2 + 1/2 + 0) / 3.
    assert one_person(A([2.0]), A([1.0])).accuracy == pytest.approx(1 / 3)
    # A case counts once, however many voted; one vote has no others.
    both = one_person(A([3.0, 2, 1]), A([1.0, 1, 0]))
    assert both.accuracy == pytest.approx((3 / 4 + 1 / 3) / 2)
    assert both.cases == 2


def test_one_person_pooled_by_brute_force() -> None:
    safe, unsafe = A([3.0, 0, 2, 5]), A([2.0, 5, 3, 0])
    votes, others = [], []
    for s, u in zip(safe, unsafe, strict=True):
        votes += [1.0] * int(s) + [0.0] * int(u)
        others += [(s - 1) / 4] * int(s) + [s / 4] * int(u)
    assert one_person(safe, unsafe).pcc == pytest.approx(np.corrcoef(votes, others)[0, 1])


def test_oracle_by_hand() -> None:
    # The rates of one count are Beta(alpha + 3, beta + 1): the chance to exceed 1/2, and the
    # expected logarithms, by numerical integration.
    from scipy.integrate import quad
    from scipy.stats import beta as beta_distribution

    safe, unsafe = A([3.0, 3, 1, 0]), A([1.0, 1, 3, 4])
    fit = fit_beta_binomial(safe, unsafe)
    hits, losses = [], []
    for s, u in zip(safe, unsafe, strict=True):
        rate = beta_distribution(fit.alpha + s, fit.beta + u)
        hits.append(rate.sf(0.5) if s > u else rate.cdf(0.5))
        losses.append(
            quad(
                lambda t, rate=rate, s=s: (
                    -rate.pdf(t) * (s / 4 * math.log(t) + (1 - s / 4) * math.log(1 - t))
                ),
                0,
                1,
            )[0]
        )
    found = oracle(safe, unsafe)
    assert found.accuracy == pytest.approx(np.mean(hits))
    assert found.bce == pytest.approx(np.mean(losses), rel=1e-6)


def test_the_fit_is_the_likeliest() -> None:
    from scipy.stats import betabinom

    random = np.random.default_rng(8)
    safe = random.binomial(12, random.beta(1.5, 4.0, 500)).astype(float)
    fit = fit_beta_binomial(safe, 12 - safe)
    assert (fit.alpha, fit.beta) == pytest.approx((1.5, 4.0), rel=0.25)

    def likelihood(alpha: float, beta: float) -> float:
        return float(betabinom.logpmf(safe, 12, alpha, beta).sum())

    best = likelihood(fit.alpha, fit.beta)
    for a in (0.97, 1.0, 1.03):
        for b in (0.97, 1.0, 1.03):
            assert likelihood(fit.alpha * a, fit.beta * b) <= best + 1e-6


def test_votes_less_spread_than_chance() -> None:
    found = oracle(A([5.0, 5, 5]), A([5.0, 5, 5]))
    assert found.accuracy == 0.5
    assert found.bce == pytest.approx(math.log(2), abs=1e-5)
    # 6:4 throughout leaves no doubt that the rate is .6.
    assert oracle(A([6.0] * 50), A([4.0] * 50)).accuracy == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("safe", "unsafe"),
    [
        ([], []),
        ([math.nan], [math.nan]),
        ([0.0], [0.0]),
        ([1.0, 0.0], [0.0, 1.0]),
        ([5.0, 5.0], [0.0, 0.0]),
        ([1e9, 3.0], [0.0, 1e9]),
    ],
)
def test_degenerate_votes_never_fail(safe: list[float], unsafe: list[float]) -> None:
    s, u = A(safe, float), A(unsafe, float)
    reliability = reliability_icc(s, u)
    people = one_person(s, u)
    found = oracle(s, u)
    for figure in (reliability.pcc, people.accuracy, found.accuracy):
        assert math.isnan(figure) or 0 <= figure <= 1
    if not reliability.cases:
        assert people.cases == 0
        assert math.isnan(people.accuracy)
        assert math.isnan(found.bce)
    if len(s) < 2:
        for figure in (reliability.icc, people.pcc, found.accuracy):
            assert math.isnan(figure)


def test_a_negative_icc_reaches_nothing() -> None:
    reliability = reliability_icc(A([2.0, 2, 3]), A([2.0, 2, 1]))
    assert reliability.icc < 0
    assert math.isnan(reliability.pcc)
