"""McNemar's test, its clustered form, Holm's adjustment: by hand and by enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from casewise.statistics import (
    benjamini_hochberg,
    holm,
    mcnemar,
    number_clusters,
    sign_flip_p,
)

A = np.array


def test_mcnemar_exact_by_hand() -> None:
    # 1 against 6: two-sided 2 (C(7,0) + C(7,1)) / 2^7 = 2 x 8 / 128.
    first = A([True] * 1 + [False] * 6 + [True] * 5)
    second = A([False] * 1 + [True] * 6 + [True] * 5)
    found = mcnemar(first, second, number_clusters(np.arange(12)))
    assert (found.b, found.c) == (1, 6)
    assert found.p == pytest.approx(16 / 128)
    assert found.p_clustered == pytest.approx(16 / 128)


def test_mcnemar_by_chi_square() -> None:
    # 150 and 86 discordant (approval ratings, Agresti, Categorical Data Analysis, section 10.1):
    # (|150 - 86| - 1)^2 / (150 + 86) with continuity correction.
    first = A([True] * 150 + [False] * 86)
    found = mcnemar(first, ~first, number_clusters(np.arange(236)))
    assert (found.b, found.c) == (150, 86)
    chi_square = (abs(150 - 86) - 1) ** 2 / (150 + 86)
    assert found.p == pytest.approx(math.erfc(math.sqrt(chi_square / 2)))


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_against_statsmodels(b: int, c: int) -> None:
    first = A([True] * b + [False] * c + [True])
    second = A([False] * b + [True] * c + [True])
    found = mcnemar(first, second, number_clusters(np.arange(b + c + 1)))
    there = contingency_tables.mcnemar([[0, b], [c, 0]], exact=b + c <= 25, correction=True)
    assert found.p == pytest.approx(there.pvalue if b + c else 1.0)


def test_no_discordant_cases() -> None:
    right = A([True, False, True])
    found = mcnemar(right, right, number_clusters(np.arange(3)))
    assert (found.b, found.c, found.p, found.p_clustered) == (0, 0, 1.0, 1.0)


def test_twins_count_as_one() -> None:
    # Three queries, both cases of each gained by the second: six cases, but three coin tosses.
    second = A([True] * 6)
    found = mcnemar(~second, second, number_clusters(np.arange(3).repeat(2)))
    assert found.p == pytest.approx(2 / 2**6)
    assert found.p_clustered == pytest.approx(2 / 2**3)


@given(st.lists(st.integers(-3, 3), max_size=9))
def test_sign_flips_against_enumeration(sums: list[int]) -> None:
    signs = product([-1, 1], repeat=len(sums))
    totals = [abs(sum(s * v for s, v in zip(sign, sums, strict=True))) for sign in signs]
    expected = np.mean([total >= abs(sum(sums)) for total in totals])
    assert sign_flip_p(A(sums, dtype=np.int64)) == pytest.approx(expected)


def test_many_sign_flips_are_normal() -> None:
    few, many = A([1] * 2030 + [-1] * 1970), A([1] * 2060 + [-1] * 1970)
    assert sign_flip_p(few) == pytest.approx(
        2 * 0.5 * math.erfc(59 / math.sqrt(4000) / 2**0.5), rel=1e-3
    )
    assert sign_flip_p(many) == pytest.approx(math.erfc(90 / math.sqrt(4030) / 2**0.5))


def test_holm_by_hand() -> None:
    # Sorted .01 x 3, .02 x 2, .04 x 1, each at least the one before; NaN is not counted.
    found = holm([0.04, math.nan, 0.01, 0.02])
    assert [found[0], found[2], found[3]] == pytest.approx([0.04, 0.03, 0.04])
    assert math.isnan(found[1])
    assert math.isnan(holm([math.nan])[0])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_against_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist())


def test_benjamini_and_hochberg() -> None:
    # .01 * 4 / 1, .02 * 4 / 2, .03 * 4 / 3, .5: from the largest down, none above the next.
    found = benjamini_hochberg(A([0.02, np.nan, 0.5, 0.01, 0.03]))
    assert found == pytest.approx([0.04, np.nan, 0.5, 0.04, 0.04], nan_ok=True)
    p = np.random.default_rng(2).random(50) ** 3
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert len(benjamini_hochberg(np.empty(0))) == 0
