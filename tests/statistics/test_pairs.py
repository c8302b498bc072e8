"""Shares and correlations over contexts of a query, by hand."""

import numpy as np
import pytest

from casewise.statistics import number_clusters, shift_pcc

A = np.array


def test_shifts_by_hand() -> None:
    p_safe = A([[0.9, 0.1], [0.6, 0.6], [0.2, 0.3], [0.8, 0.4]])
    rate = A([[0.9, 0.3], [0.8, 0.2], [0.5, 0.5], [0.7, 0.1]])
    expected = np.corrcoef([0.8, 0, -0.1, 0.4], [0.6, 0.6, 0, 0.6])[0, 1]
    found = shift_pcc(p_safe, rate, number_clusters(np.arange(4)))
    assert found.value == pytest.approx(expected)
