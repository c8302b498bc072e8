"""Answers that are a model's, by hand."""

import numpy as np
import pytest

from casewise_study.statistics.copied import copied
from casewise_study.statistics.unread import Answers


def test_a_person_who_says_what_a_model_says() -> None:
    # Two people, two votes each, of a chance of .5 and .8: the first says what the model says,
    # the second the opposite once, and the model has no verdict of the third case.
    safe, cell, rater = np.array([1.0, 1, 1, 0]), np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1])
    known = np.full(4, np.nan), np.ones(4)
    answers = Answers(safe, cell, rater, np.zeros(4, int), *known, cells=3, raters=2)
    own = np.array([0.5, 0.8, 0.8, 0.5])
    odds = np.array([0.95 / 0.5 * 0.95 / 0.8, 0.05 / 0.5]) * 0.05 / 0.95
    found = copied(answers, own, np.array([[1, 1, np.nan]]))
    assert found[:, 0] == pytest.approx(odds / (1 + odds))
    # A second model that has judged nothing shares the chance of having been copied.
    both = copied(answers, own, np.array([[1, 1, np.nan], [np.nan] * 3]))
    half = odds / 2, np.full(2, 0.05 / 0.95 / 2)
    assert pytest.approx(np.array(half) / (1 + sum(half))) == both.T
