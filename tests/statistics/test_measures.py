"""Measures by hand."""

import math
import re
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT
from numpy.typing import NDArray
from support.scripts import load_script

from casewise.measures import find_measure, measures
from casewise.statistics import (
    Clusters,
    brier_scores,
    clustered_mean,
    clustered_pearson,
    clustered_ratio,
    cross_entropies,
    number_clusters,
)
from casewise.statistics import classify as classify_clustered

FloatArray = NDArray[np.float64]
A = np.array
NAMES = ("accuracy", "safe_recall", "unsafe_recall", "f1_safe", "f1_unsafe")


def each(rows: FloatArray) -> Clusters:
    """Every row a cluster of its own."""
    return Clusters(np.arange(len(rows)), len(rows))


def classify(
    truth: FloatArray, predicted: FloatArray, missed: NDArray[np.bool_] | None = None
) -> dict[str, float]:
    found = classify_clustered(truth, predicted, each(truth), missed)
    return {name: getattr(found, name).value for name in NAMES}


def pearson(x: FloatArray, y: FloatArray) -> float:
    return clustered_pearson(x, y, each(x)).value


def cross_entropy(p: FloatArray, rate: FloatArray, floor: float = 0.0) -> float:
    return clustered_mean(cross_entropies(p, rate, floor), each(p)).value


def brier(p: FloatArray, rate: FloatArray) -> float:
    return clustered_mean(brier_scores(p, rate), each(p)).value


def test_classify_by_hand() -> None:
    # Safe, safe, safe, unsafe, unsafe; said safe, safe, unsafe, safe, unsafe.
    found = classify(A([1.0, 1, 1, 0, 0]), A([1.0, 1, 0, 1, 0]))
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["safe_recall"] == pytest.approx(2 / 3)
    assert found["unsafe_recall"] == pytest.approx(1 / 2)
    # F1 = 2 TP / (2 TP + FP + FN): safe 2*2/(4+1+1), unsafe 2*1/(2+1+1).
    assert found["f1_safe"] == pytest.approx(4 / 6)
    assert found["f1_unsafe"] == pytest.approx(2 / 4)


def test_a_tie_is_worth_half() -> None:
    for said in (0.0, 1.0):
        assert classify(A([0.5, 1.0]), A([said, 1.0]))["accuracy"] == pytest.approx(0.75)


def test_a_miss_counts_in_f1_alone() -> None:
    # Two unsafe cases, one read as unsafe, one missed (counted unsafe in F1).
    found = classify(A([0.0, 0.0, 1.0]), A([0.0, 0.0, 1.0]), A([False, True, False]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["unsafe_recall"] == pytest.approx(1 / 2)
    assert found["f1_unsafe"] == pytest.approx(1.0)


def test_an_f1_near_1_has_an_interval_within_1() -> None:
    truth = A([1.0, 0] * 20)
    clusters = number_clusters(np.arange(40))
    found = classify_clustered(truth, np.append(truth[:-1], 1.0), clusters)
    assert found.f1_safe.value == pytest.approx(40 / 41)
    low, high = found.f1_safe.interval
    assert low < 40 / 41
    assert high == 1


@pytest.mark.parametrize(
    ("truth", "said", "undefined"),
    [
        ([], [], {"accuracy", "safe_recall", "unsafe_recall", "f1_safe", "f1_unsafe"}),
        ([1.0], [1.0], {"unsafe_recall", "f1_unsafe"}),
        ([0.0], [0.0], {"safe_recall", "f1_safe"}),
        ([1.0], [0.0], {"unsafe_recall"}),
    ],
)
def test_an_empty_denominator_is_nan(
    truth: list[float], said: list[float], undefined: set[str]
) -> None:
    found = classify(A(truth, float), A(said, float))
    assert {name for name in NAMES if math.isnan(found[name])} == undefined


def test_pearson_by_hand() -> None:
    # Deviations -1, 0, 1 and -1, 1, 0: covariance 1 over variances 2 and 2.
    assert pearson(A([1.0, 2, 3]), A([1.0, 3, 2])) == pytest.approx(0.5)


def test_cross_entropy_by_hand() -> None:
    # -(.5 ln .25 + .5 ln .75) = .8370 (the 1e-9 is far below that).
    found = cross_entropy(A([0.25]), A([0.5]))
    assert found == pytest.approx(-(0.5 * math.log(0.25) + 0.5 * math.log(0.75)), abs=1e-8)
    assert found == pytest.approx(0.8370, abs=5e-5)


def test_cross_entropy_at_the_ends() -> None:
    # One side is not clipped, the other is, at 1e-9: as in the published script.
    assert cross_entropy(A([1.0]), A([0.0])) == pytest.approx(-math.log(1e-9))
    assert cross_entropy(A([0.0]), A([0.0])) == pytest.approx(0.0, abs=1e-8)
    assert cross_entropy(A([0.0]), A([1.0])) == math.inf
    assert cross_entropy(A([0.0]), A([1.0]), floor=1e-12) == pytest.approx(-math.log(1e-12))
    assert math.isnan(cross_entropy(A([], float), A([], float)))


def test_brier_by_hand() -> None:
    assert brier(A([0.9, 0.2]), A([1.0, 0.5])) == pytest.approx((0.01 + 0.09) / 2)
    assert math.isnan(brier(A([], float), A([], float)))


def test_clustered_error_of_a_mean_by_hand() -> None:
    # Mean 1/2, deviations .5 .5 -.5 -.5. In pairs (1, 1) and (0, 0) they add up to 1 and -1:
    # sqrt(1 + 1) / 4. Each by itself: sqrt(4 x .25) / 4. In pairs (1, 0) they cancel.
    values = A([1.0, 1, 0, 0])
    assert clustered_mean(values, number_clusters(A([0, 0, 1, 1]))).se == pytest.approx(
        math.sqrt(2) / 4
    )
    assert clustered_mean(values, number_clusters(A([0, 1, 2, 3]))).se == pytest.approx(1 / 4)
    assert clustered_mean(values, number_clusters(A([0, 1, 0, 1]))).se == pytest.approx(0)


def test_clustered_error_of_a_ratio_by_hand() -> None:
    # 2 of 3; influence: 1 - 2/3, 1 - 2/3, 0 - 2/3, and nothing for the one outside the whole.
    estimate = clustered_ratio(A([1.0, 1, 0, 0]), A([1.0, 1, 1, 0]), each(A([0, 1, 2, 3])))
    assert estimate.value == pytest.approx(2 / 3)
    assert estimate.se == pytest.approx(math.sqrt(1 / 9 + 1 / 9 + 4 / 9) / 3)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return load_script(ROOT / "docs/make_reference.py")


def test_every_measure_of_the_program_has_what_it_is_and_its_range(reference: ModuleType) -> None:
    page = reference.pages()["reference/measures.md"]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (\S+) \| (\w*) \|", page, re.M)
    assert sorted(name for name, *_ in rows) == sorted(row.name for row in measures())
    for name, what, bounds, better in rows:
        assert find_measure(name).says in what, name
        assert find_measure(name).definition in what, name
        assert better in ("", find_measure(name).better), name
        assert ".." in bounds, name
    assert {name: bounds for name, _, bounds, _ in rows}["within_pcc_safe"] == "-1..1"
