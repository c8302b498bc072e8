"""Shares and correlations over contexts of a query, by hand."""

import numpy as np
import pytest

from casewise.statistics import label_flips, number_clusters, shift_pcc

A = np.array


def test_shifts_by_hand() -> None:
    p_safe = A([[0.9, 0.1], [0.6, 0.6], [0.2, 0.3], [0.8, 0.4]])
    rate = A([[0.9, 0.3], [0.8, 0.2], [0.5, 0.5], [0.7, 0.1]])
    expected = np.corrcoef([0.8, 0, -0.1, 0.4], [0.6, 0.6, 0, 0.6])[0, 1]
    found = shift_pcc(p_safe, rate, number_clusters(np.arange(4)))
    assert found.value == pytest.approx(expected)


def test_labels_that_flip_by_hand() -> None:
    # Down, up, no change, and a tie, which is half safe.
    safe = A([[1.0, 0], [0, 1], [1, 1], [0.5, 1]])
    found = label_flips(safe, number_clusters(np.arange(4)))
    assert found.value == pytest.approx(2.5 / 4)
