"""Agreement by hand arithmetic, against published examples, and against statsmodels."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from casewise.statistics import COEFFICIENTS, Agreement, agreement

A = np.array
FloatArray = NDArray[np.float64]


def values(found: Agreement) -> dict[str, float]:
    return {name: getattr(found, name).value for name in COEFFICIENTS}


def counted(rows: list[str]) -> tuple[FloatArray, FloatArray]:
    """Safe and unsafe votes of cases, each given as text: 1 safe, 0 unsafe."""
    return A([row.count("1") for row in rows], float), A([row.count("0") for row in rows], float)


def test_by_hand() -> None:
    # Votes 3:1, 0:4, 2:2. Agreeing pairs of 6 each: 3, 6, 2.
    found = values(agreement(A([3.0, 0, 2]), A([1.0, 4, 2])))
    observed = (3 + 6 + 2) / 18
    assert found["pairwise"] == pytest.approx(observed)
    q = 5 / 12
    chance = q**2 + (1 - q) ** 2
    assert found["fleiss_kappa"] == pytest.approx((observed - chance) / (1 - chance))
    # Coincidences off the diagonal: 2*3*1/3 + 0 + 2*2*2/3; expected 2*5*7/11.
    assert found["krippendorff_alpha"] == pytest.approx(1 - (2 + 8 / 3) / (70 / 11))
    chance = 2 * q * (1 - q)
    assert found["gwet_ac1"] == pytest.approx((observed - chance) / (1 - chance))


def test_krippendorff_2011_binary_data() -> None:
    # Krippendorff (2011), section A: ten units, two observers; alpha = .095.
    jon, han = "0100000010", "1110010000"
    found = agreement(*counted([a + b for a, b in zip(jon, han, strict=True)]))
    assert found.krippendorff_alpha.value == pytest.approx(1 - 19 * 4 / (14 * 6))
    assert round(found.krippendorff_alpha.value, 3) == 0.095


def test_gwet_where_kappa_fails() -> None:
    # Two raters, 125 subjects: both yes 118, only one 5 + 2, both no 0. They agree on .944, and
    # chance-corrected agreement is about 0 by kappa and .94078 by AC1, with q = (123 + 120) / 250.
    found = values(agreement(*counted(["11"] * 118 + ["10"] * 7)))
    assert found["pairwise"] == pytest.approx(0.944)
    chance = 2 * 0.972 * 0.028
    assert found["gwet_ac1"] == pytest.approx((0.944 - chance) / (1 - chance))
    assert round(found["gwet_ac1"], 5) == 0.94078
    assert found["fleiss_kappa"] == pytest.approx(-0.02881, abs=1e-5)


def test_missing_votes() -> None:
    # 2:1, 1:1, one vote, none. Pairs agree 1/3 and 0; coincidences off the diagonal 2*2/2 + 2.
    found = agreement(A([2.0, 1, 1, math.nan]), A([1.0, 1, 0, math.nan]))
    assert (found.cases, found.votes) == (2, 5)
    assert found.pairwise.value == pytest.approx(1 / 6)
    # Expected 2 * 3 * 2 / 4: the case with one vote is no unit to pair in.
    assert found.krippendorff_alpha.value == pytest.approx(1 - 4 / 3)
    # AC1's chance rests on every case with a vote: (2/3 + 1/2 + 1) / 3.
    q = (2 / 3 + 1 / 2 + 1) / 3
    chance = 2 * q * (1 - q)
    assert found.gwet_ac1.value == pytest.approx((1 / 6 - chance) / (1 - chance))


@pytest.mark.parametrize(
    ("safe", "unsafe", "undefined"),
    [
        ([], [], set(COEFFICIENTS)),
        ([math.nan], [math.nan], set(COEFFICIENTS)),
        ([1.0, 0.0], [0.0, 1.0], set(COEFFICIENTS)),
        ([5.0, 5.0], [0.0, 0.0], {"fleiss_kappa", "krippendorff_alpha"}),
        ([0.0], [7.0], {"fleiss_kappa", "krippendorff_alpha"}),
        ([2.0], [2.0], set()),
    ],
)
def test_degenerate(safe: list[float], unsafe: list[float], undefined: set[str]) -> None:
    found = agreement(A(safe, float), A(unsafe, float))
    assert {name for name, value in values(found).items() if math.isnan(value)} == undefined
    for name in undefined:
        assert math.isnan(getattr(found, name).interval[0])


def test_queries_are_whole() -> None:
    """Twice the same cases in a query tell as much as once; in queries of their own, more."""
    random = np.random.default_rng(0)
    safe = random.binomial(10, random.beta(2, 2, 60)).astype(float)
    twice = np.repeat(safe, 2)
    query = np.repeat(np.arange(60), 2)
    alone = agreement(safe, 10 - safe, np.arange(60)).pairwise
    whole = agreement(twice, 10 - twice, query).pairwise
    apart = agreement(twice, 10 - twice).pairwise
    assert whole.interval == pytest.approx(alone.interval)
    assert apart.interval[1] - apart.interval[0] < 0.85 * (whole.interval[1] - whole.interval[0])
    assert whole.interval[0] < whole.value < whole.interval[1]


def test_intervals_by_hand() -> None:
    """Pairs agree in m of each case; the error is that of leaving out one, of 20, against t."""
    safe = A([5.0, 4, 3, 3, 4] * 4)
    estimate = agreement(safe, 6 - safe).pairwise
    each = 1 - safe * (6 - safe) / 15
    error = each.std(ddof=1) / math.sqrt(20)
    # Leaving one out moves a mean by (m - mean) / 19; 19 / 20 of the squares is error squared.
    assert estimate.value == pytest.approx(each.mean())
    half = (estimate.interval[1] - estimate.interval[0]) / 2
    assert half == pytest.approx(t.ppf(0.975, estimate.degrees) * error)


def test_few_disagreements_withhold_the_interval() -> None:
    """Of 150 cases three are split: a study could well have drawn one of them, or seven."""
    safe = A([5.0] * 3 + [10.0] * 147)
    found = agreement(safe, 10 - safe)
    for name in COEFFICIENTS:
        one = getattr(found, name)
        assert math.isnan(one.interval[0])
        assert one.reason == "3 queries make the figure; an interval needs 10"
