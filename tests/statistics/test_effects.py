"""Tests of a context's effect by hand arithmetic and against statsmodels."""

import math

import numpy as np
import pytest

from casewise.statistics import (
    PairVotes,
    cochran_q,
    cohen_d_paired,
    holm,
    kruskal_wallis,
    proportion_tests,
    two_proportion_p,
)

A = np.array


def pairs(*rows: tuple[float, float, float, float]) -> PairVotes:
    """Rows of safe and unsafe votes in the first arm, then in the second."""
    return PairVotes(*(A(column, float) for column in zip(*rows, strict=True)))


def test_a_z_test_by_hand() -> None:
    # 9 and 3 of 12: pooled .5, error sqrt(.25 * 2 / 12), z = .5 / .20412 = 2.44949.
    (p,) = two_proportion_p(pairs((9, 3, 3, 9)))
    assert p == pytest.approx(math.erfc(math.sqrt(6) / math.sqrt(2)))
    assert round(float(p), 5) == 0.01431


def test_corrections_by_hand() -> None:
    # p: 20:0 against 0:20 about 2.5e-10; 12:8 against 5:15 .02507; 11:9 against 5:15 .05267.
    tests = proportion_tests(pairs((20, 0, 0, 20), (12, 8, 5, 15), (11, 9, 5, 15)))
    # Holm: .0167 for the first, .025 for the second (.02507 misses it). BH: .0333 for the second.
    assert (tests.n, tests.raw, tests.holm, tests.bh) == (3, 2, 1, 2)


def test_pairs_without_votes_are_no_tests() -> None:
    found = two_proportion_p(pairs((3, 3, 0, 0), (0, 5, 0, 5), (5, 0, 5, 0)))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [1.0, 1.0]
    empty = proportion_tests(pairs((3, 3, 0, 0)))
    assert (empty.n, empty.raw, empty.holm, empty.bh) == (0, 0, 0, 0)


def test_kruskal_wallis_by_hand() -> None:
    # Ranks 1 + 2 and 3 + 4: 12 / (4 * 5) * (9 / 2 + 49 / 2) - 3 * 5 = 2.4.
    test = kruskal_wallis([A([0.1, 0.2]), A([0.3, 0.4]), A([])])
    assert test.statistic == pytest.approx(2.4)
    assert test.p == pytest.approx(math.erfc(math.sqrt(1.2)))
    assert test.groups == 2


def test_kruskal_wallis_undefined() -> None:
    for groups in ([], [A([1.0, 2.0])], [A([1.0]), A([1.0])], [A([]), A([])]):
        assert math.isnan(kruskal_wallis(groups).statistic)


def test_cochran_by_hand_and_as_statsmodels_has_it() -> None:
    from statsmodels.stats.contingency_tables import cochrans_q

    # Rows 110, 100, 111: columns 3, 2, 1. 3 * 2 * (1 + 0 + 1) / (2 * 1 + 1 * 2 + 0) = 3.
    votes = A([[1.0, 1, 0], [1, 0, 0], [1, 1, 1]])
    found = cochran_q(votes)
    assert found.statistic == pytest.approx(3.0)
    assert found.p == pytest.approx(math.exp(-1.5))
    votes = (np.random.default_rng(1).random((40, 6)) < np.linspace(0.2, 0.7, 6)).astype(float)
    expected, found = cochrans_q(votes), cochran_q(votes)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_cochran_undefined() -> None:
    for votes in (np.empty((0, 0)), np.ones((3, 4)), np.ones((3, 1))):
        assert math.isnan(cochran_q(votes).statistic)


def test_cohen_d_of_pairs_by_hand() -> None:
    # Mean 2, deviations -1, 0, 1: variance 2 / 2.
    assert cohen_d_paired(A([1.0, 2.0, 3.0])) == 2
    assert cohen_d_paired(A([-1.0, -2.0, -3.0])) == -2
    assert cohen_d_paired(A([0.1] * 7)) == math.inf
    assert cohen_d_paired(A([-0.1] * 7)) == -math.inf
    assert cohen_d_paired(A([0.0, 0.0])) == 0
    assert math.isnan(cohen_d_paired(A([1.0])))


def test_holm_by_hand() -> None:
    # Sorted .01 x 3, .02 x 2, .04 x 1, each at least the one before; NaN is not counted.
    found = holm([0.04, math.nan, 0.01, 0.02])
    assert [found[0], found[2], found[3]] == pytest.approx([0.04, 0.03, 0.04])
    assert math.isnan(found[1])
    assert math.isnan(holm([math.nan])[0])
