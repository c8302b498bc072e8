"""Rates that are corrected for a grader's errors, by labels of a random part."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from casewise.statistics import (
    CANNOT_TELL,
    NOT_LABELLED,
    Clusters,
    Estimate,
    GradedReplies,
    Resampling,
    prediction_powered,
)

WORTH = np.array([0.0, 0.5, 1.0])
"""How much of a refusal compliance, a partial reply and a refusal are."""
FEW = Resampling(400, 0)


def replies(
    graded: Sequence[int] | NDArray[np.int64], repeat: int = 1, certain: int = 0
) -> GradedReplies:
    """Replies to a query each; repeated, so many to each query. The first few are certain."""
    grades = np.repeat(np.array(graded, np.int64), repeat)
    n = len(grades)
    clusters = Clusters(np.arange(n) // repeat, n // repeat)
    return GradedReplies(
        grades, np.tile(WORTH, (n, 1)), np.ones(n), clusters, np.arange(n) < certain
    )


def width(estimate: Estimate) -> float:
    low, high = estimate.interval
    return high - low


def test_a_random_part_gives_the_regression_estimator() -> None:
    """By hand: labels of four of eight, 4.5 of which are graded as refusals.

    Of x = 0, 1, 0, 1 and y = 0, 1, 0, 0 the slopes without each are those of three labels and ten
    that agree, whose squares and products are 2.5: without the first (1/6 + 2.5) / (2/3 + 2.5),
    without the second 0 + 2.5 by 2/3 + 2.5, and so on.
    """
    graded = np.array([0, 2, 0, 2, 2, 2, 0, 1])
    label = np.array([0, 2, 0, 0, -1, -1, -1, -1])
    slopes = np.array([1 / 3 + 2.5, 0 + 2.5, 1 / 3 + 2.5, 2 / 3 + 2.5]) / (2 / 3 + 2.5)
    x, y = np.array([0, 1, 0, 1]), np.array([0, 1, 0, 0])
    estimate = prediction_powered(replies(graded), label, np.ones(8), FEW)
    assert estimate.value == pytest.approx((y + slopes * (4.5 / 8 - x)).mean())


def test_what_people_can_not_tell_leaves_the_rate() -> None:
    """Of ten labelled of 20, all graded as refusals, four can't be told, and three are refusals."""
    label = np.array([CANNOT_TELL] * 4 + [2] * 3 + [0] * 3 + [NOT_LABELLED] * 10)
    estimate = prediction_powered(replies([2] * 20), label, np.full(20, 2.0), FEW)
    assert estimate.value == pytest.approx(1 / 2)


def test_labels_of_a_stratum_stand_for_all_of_it() -> None:
    """Two labelled of six graded refusals, one of two others: the labels' own mean, weighted.

    They stand for 2, 2 and 1 further replies, of which 4/5 are graded refusals. With weights of
    9/8, 9/8 and 6/8 the slope without the first is 2.5 / (.45 + 2.5), and 1 without another.
    """
    graded = np.array([2, 2, 2, 2, 2, 2, 0, 0])
    label = np.array([2, 0, -1, -1, -1, -1, 0, -1])
    scale = np.where(graded == 2, 6 / 2, 2 / 1)
    estimate = prediction_powered(replies(graded), label, scale, FEW)
    moved = 2 * (4 / 5 - 1) * 2.5 / 2.95 + 2 * (4 / 5 - 1) + 1 * (4 / 5 - 0)
    assert estimate.value == pytest.approx(6 / 8 * 1 / 2 + moved / 8)
    assert prediction_powered(replies(graded), label, scale / 2, FEW).value == estimate.value


def test_nothing_labelled_is_no_rate() -> None:
    unlabelled = np.full(3, NOT_LABELLED)
    assert np.isnan(prediction_powered(replies([0, 1, 2]), unlabelled, np.ones(3), FEW).value)


def test_no_labelled_refusal_leaves_the_end_at_0() -> None:
    label = np.where(np.arange(200) < 40, 0, NOT_LABELLED)
    estimate = prediction_powered(replies([0] * 190 + [2] * 10), label, np.ones(200), FEW)
    assert estimate.interval[0] == 0
    # Jeffreys' end for none of 40 is .061; of what is graded .05 is a refusal.
    assert 0.05 < estimate.interval[1] < 0.11


def test_what_the_provider_refused_needs_no_label() -> None:
    """Ten of 100 for certain; of the other 90 half of four labelled are refusals."""
    run = replies([2] * 10 + [2] * 45 + [0] * 45, certain=10)
    label = np.full(100, NOT_LABELLED)
    label[10:12], label[-2:] = 2, 0
    part = prediction_powered(run, label, np.full(100, 90 / 4), FEW)
    assert part.value == pytest.approx((10 + 45) / 100)


def test_the_same_errors_of_both_runs_are_subtracted_in_pairs() -> None:
    """A change is sure of its sign where either rate alone is not sure of its size."""
    label = np.where(np.arange(400) % 10 == 0, np.repeat([2, 0], 200), NOT_LABELLED)
    graded = np.repeat([2, 0], 200)
    after, later = graded.copy(), label.copy()
    after[:40], later[:40] = 0, np.where(label[:40] < 0, NOT_LABELLED, 0)
    first, second = (
        prediction_powered(replies(one), said, np.full(400, 10.0), FEW, run)
        for run, (one, said) in enumerate(((graded, label), (after, later)))
    )
    change = second - first
    assert change.value == pytest.approx(second.value - first.value)
    assert change.interval[1] < 0
    assert change.p < 0.05
    same = prediction_powered(replies(graded), label, np.full(400, 10.0), FEW, 1) - first
    assert same.interval[0] < 0 < same.interval[1]


@pytest.mark.parametrize("repeat", [1, 4])
def test_repeated_answers_to_a_query_are_no_further_queries(repeat: int) -> None:
    graded = [2] * 30 + [0] * 70
    run = replies(graded, repeat)
    estimate = prediction_powered(run, run.graded, np.ones(len(run.graded)), FEW)
    assert width(estimate) == pytest.approx(2 * 1.96 * np.sqrt(0.3 * 0.7 / 100), rel=0.15)
