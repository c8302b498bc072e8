"""Holm's and Benjamini and Hochberg's adjustments, by hand and against statsmodels."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from casewise.statistics import holm

A = np.array


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
