"""Calibration error and recalibration, by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.statistics import (
    calibration_error,
    grouped_folds,
    number_clusters,
    recalibrate,
)

A = np.array


@pytest.mark.parametrize(
    ("p", "rate", "error"),
    [
        # Bin (.1, .2]: means .15 and .30, gap .15, two of four. Bin (.8, .9]: .85 and .5, gap .35.
        ([0.12, 0.18, 0.85, 0.85], [0.2, 0.4, 0.0, 1.0], 0.5 * 0.15 + 0.5 * 0.35),
        # Bins hold their upper edge, and the first one 0: gaps of +.1 and -.1 in one bin are none.
        ([0.0, 0.1], [0.1, 0.0], 0.0),
        ([0.1, 0.1000001], [0.0, 0.2000001], 0.1),
        ([0.2000001, 0.3], [0.3000001, 0.2], 0.0),
    ],
)
def test_calibration_error_by_hand(p: list[float], rate: list[float], error: float) -> None:
    estimate = calibration_error(A(p), A(rate), number_clusters(np.arange(len(p))))
    assert estimate.value == pytest.approx(error)
    assert estimate.reason.startswith("an ECE is above 0 by chance")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_folds_split_no_query(queries: list[int], folds: int, seed: int) -> None:
    found = grouped_folds(A(queries), folds, seed)
    for query in set(queries):
        assert len(set(found[A(queries) == query])) == 1
    sizes = np.bincount([found[queries.index(query)] for query in set(queries)], minlength=folds)
    assert sizes.max() - sizes.min() <= 1


def test_temperature_is_recovered() -> None:
    # People follow sigmoid(x); the model says sigmoid(3 x): too sure, by a temperature of 3.
    x = np.random.default_rng(1).normal(size=2000)
    rate, p = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-3 * x))
    recalibrated = recalibrate(p, rate, grouped_folds(np.arange(1000).repeat(2), 5, 0))
    assert recalibrated.temperatures == pytest.approx([3.0] * 5, rel=1e-3)
    np.testing.assert_allclose(recalibrated.temperature, rate, atol=1e-3)
    np.testing.assert_allclose(
        recalibrated.isotonic, rate, atol=0.03
    )  # steps, coarsest at the ends


def test_held_out_means_held_out() -> None:
    """A case's own share has no influence on its own mended probability."""
    random = np.random.default_rng(2)
    p, rate = random.random(200), random.random(200)
    folds = grouped_folds(np.arange(100).repeat(2), 5, 0)
    before = recalibrate(p, rate, folds)
    twins = slice(10, 12)
    moved = rate.copy()
    moved[twins] = 1 - moved[twins]
    after = recalibrate(p, moved, folds)
    same = folds == folds[10]
    np.testing.assert_array_equal(before.isotonic[same], after.isotonic[same])
    np.testing.assert_array_equal(before.temperature[same], after.temperature[same])
    assert (before.isotonic[~same] != after.isotonic[~same]).any()


def test_recalibration_of_too_little() -> None:
    recalibrated = recalibrate(A([0.3, 0.4]), A([0.1, 0.9]), A([0, 0]))
    assert np.isnan(recalibrated.temperature).all()
    assert recalibrated.temperatures == ()
    even = recalibrate(np.full(4, 0.5), A([0.1, 0.9, 0.2, 0.8]), A([0, 0, 1, 1]))
    assert even.temperatures == (1.0, 1.0)
