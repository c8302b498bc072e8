"""Agreement of two classifications: by hand, against scikit-learn, and where it is undefined."""

import math
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from casewise.statistics import (
    AgreementOfTwo,
    Clusters,
    agreement_of_two,
    number_clusters,
)

IntArray = NDArray[np.int64]


def each(n: int) -> Clusters:
    return number_clusters(np.arange(n))


def compare(truth: list[int], said: list[int], classes: int = 4) -> AgreementOfTwo:
    return agreement_of_two(np.array(truth, int), np.array(said, int), classes, each(len(truth)))


def from_table(table: list[list[int]]) -> tuple[IntArray, IntArray]:
    """Truth and said of a table of counts, rows the truth."""
    rows = [
        (t, s) for t, row in enumerate(table) for s, count in enumerate(row) for _ in [0] * count
    ]
    pairs = np.array(rows)
    return pairs[:, 0], pairs[:, 1]


def test_by_hand() -> None:
    # 50 rows: 20 + 15 agree, 5 and 10 don't. Observed .7; the margins are 25/25 and 30/20, so
    # that chance gives .5 * .6 + .5 * .4 = .5; kappa (.7 - .5) / (1 - .5) = .4.
    truth, said = from_table([[20, 5], [10, 15]])
    two = agreement_of_two(truth, said, 2, each(50))
    assert two.kappa.value == pytest.approx(0.4)
    assert two.accuracy.value == pytest.approx(0.7)
    assert two.confusion.tolist() == [[20, 5, 0], [10, 15, 0]]
    assert [estimate.value for estimate in two.precision] == pytest.approx([20 / 30, 15 / 20])
    assert [estimate.value for estimate in two.recall] == pytest.approx([20 / 25, 15 / 25])
    assert (two.n, two.coverage.value) == (50, 1.0)


def test_the_error_of_kappa() -> None:
    # Fleiss, Cohen & Everitt (1969), doi:10.1037/h0028106, the large-sample variance:
    # [sum p_ii (1 - (r_i + c_i)(1 - k))^2 + (1 - k)^2 sum_{i!=j} p_ij (c_i + r_j)^2
    #  - (k - chance (1 - k))^2] / (n (1 - chance)^2), with rows r, columns c.
    table = np.array([[20.0, 5], [10, 15]])
    p, n, k, chance = table / 50, 50, 0.4, 0.5
    r, c = p.sum(axis=1), p.sum(axis=0)
    same = sum(p[i, i] * (1 - (r[i] + c[i]) * (1 - k)) ** 2 for i in range(2))
    other = sum(p[i, 1 - i] * (c[i] + r[1 - i]) ** 2 for i in range(2))
    variance = (same + (1 - k) ** 2 * other - (k - chance * (1 - k)) ** 2) / (n * (1 - chance) ** 2)
    truth, said = from_table([[20, 5], [10, 15]])
    assert agreement_of_two(truth, said, 2, each(50)).kappa.se == pytest.approx(math.sqrt(variance))


def test_what_is_left_open_lowers_coverage_alone() -> None:
    found = compare([0, 0, 1, 1, 2], [0, -1, 1, 0, -1])
    assert found.coverage.value == pytest.approx(3 / 5)
    assert found.accuracy.value == pytest.approx(2 / 3)
    assert found.confusion[:, -1].tolist() == [1, 0, 1, 0]
    assert [estimate.value for estimate in found.recall] == pytest.approx(
        [1, 1 / 2, math.nan, math.nan], nan_ok=True
    )
    # Over the three classed: observed 2/3; chance (1 * 2 + 2 * 1) / 9.
    assert found.kappa.value == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))


@pytest.mark.parametrize(("truth", "said"), [([], []), ([1, 2], [-1, -1]), ([3, 3], [3, 3])])
def test_undefined_is_nan(truth: list[int], said: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two = agreement_of_two(np.array(truth, int), np.array(said, int), 4, each(len(truth)))
    assert math.isnan(two.kappa.value)
    assert math.isnan(two.precision[0].value)
    assert math.isnan(two.recall[0].value)
    assert math.isnan(two.accuracy.value) == (3 not in said)
    assert math.isnan(two.coverage.value) == (not truth)


def test_repeated_rows_tell_no_more() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=60)
    said = np.where(rng.random(60) < 0.7, truth, rng.integers(3, size=60))
    once = agreement_of_two(truth, said, 3, each(60))
    repeated = number_clusters(np.repeat(np.arange(60), 10))
    often = agreement_of_two(np.repeat(truth, 10), np.repeat(said, 10), 3, repeated)
    for name in ("kappa", "accuracy", "coverage"):
        one, other = getattr(once, name), getattr(often, name)
        assert one.se == pytest.approx(other.se)
