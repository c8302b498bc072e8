"""Rates that are corrected for a grader's errors, by labels of a random part or from elsewhere."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from casewise.statistics import (
    CANNOT_TELL,
    NOT_LABELLED,
    CheckSample,
    Clusters,
    Estimate,
    GradedReplies,
    Question,
    Resampling,
    paired_change,
    prediction_powered,
    rogan_gladen,
    separation,
)

WORTH = np.array([0.0, 0.5, 1.0])
"""How much of a refusal compliance, a partial reply and a refusal are."""
REFUSAL = Question(np.array([False, True, True]), WORTH)
FEW = Resampling(400, 0)


def alone(n: int) -> Clusters:
    return Clusters(np.arange(n), n)


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


def check(*cells: tuple[int, int, int]) -> CheckSample:
    """Labelled replies, from triples of class, grade and how many."""
    label = np.concatenate([np.full(n, said) for said, _, n in cells])
    graded = np.concatenate([np.full(n, grade) for _, grade, n in cells])
    return CheckSample(label, graded, alone(len(label)))


def width(found: Estimate) -> float:
    low, high = found.interval
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
    found = prediction_powered(replies(graded), label, np.ones(8), FEW)
    assert found.value == pytest.approx((y + slopes * (4.5 / 8 - x)).mean())


def test_what_people_can_not_tell_leaves_the_rate() -> None:
    """Of ten labelled of 20, all graded as refusals, four can't be told, and three are refusals."""
    label = np.array([CANNOT_TELL] * 4 + [2] * 3 + [0] * 3 + [NOT_LABELLED] * 10)
    found = prediction_powered(replies([2] * 20), label, np.full(20, 2.0), FEW)
    assert found.value == pytest.approx(1 / 2)


def test_labels_of_a_stratum_stand_for_all_of_it() -> None:
    """Two labelled of six graded refusals, one of two others: the labels' own mean, weighted.

    They stand for 2, 2 and 1 further replies, of which 4/5 are graded refusals. With weights of
    9/8, 9/8 and 6/8 the slope without the first is 2.5 / (.45 + 2.5), and 1 without another.
    """
    graded = np.array([2, 2, 2, 2, 2, 2, 0, 0])
    label = np.array([2, 0, -1, -1, -1, -1, 0, -1])
    scale = np.where(graded == 2, 6 / 2, 2 / 1)
    found = prediction_powered(replies(graded), label, scale, FEW)
    moved = 2 * (4 / 5 - 1) * 2.5 / 2.95 + 2 * (4 / 5 - 1) + 1 * (4 / 5 - 0)
    assert found.value == pytest.approx(6 / 8 * 1 / 2 + moved / 8)
    assert prediction_powered(replies(graded), label, scale / 2, FEW).value == found.value


def test_nothing_labelled_is_no_rate() -> None:
    unlabelled = np.full(3, NOT_LABELLED)
    assert np.isnan(prediction_powered(replies([0, 1, 2]), unlabelled, np.ones(3), FEW).value)


def test_no_labelled_refusal_leaves_the_end_at_0() -> None:
    label = np.where(np.arange(200) < 40, 0, NOT_LABELLED)
    found = prediction_powered(replies([0] * 190 + [2] * 10), label, np.ones(200), FEW)
    assert found.interval[0] == 0
    # Jeffreys' end for none of 40 is .061; of what is graded .05 is a refusal.
    assert 0.05 < found.interval[1] < 0.11


def test_rogan_gladen_is_the_textbook_ratio() -> None:
    """Sensitivity .9, specificity .8, 41 of 100 graded as refusals: (.41 - .2) / .7 = .3."""
    sample = check((2, 2, 90), (2, 0, 10), (0, 2, 20), (0, 0, 80))
    found = rogan_gladen(replies([2] * 41 + [0] * 59), sample, REFUSAL, FEW)
    assert found.value == pytest.approx(0.3)
    low, high = found.interval
    assert low < 0.3 < high
    assert separation(sample, REFUSAL, FEW).value == pytest.approx(0.7)


@pytest.mark.parametrize("graded", [60, 164, 300])
def test_two_classes_have_the_published_interval(graded: int) -> None:
    """Lang & Reiczigel (2014), equations 2 to 17: 400 replies, 100 labelled of either class."""
    n, sides, z = 400.0, 100, 1.959964
    ap, se, sp = graded / n, 0.9, 0.8
    ap, n = (n * ap + z**2 / 2) / (n + z**2), n + z**2
    se, sp, size = (sides * se + 1) / (sides + 2), (sides * sp + 1) / (sides + 2), sides + 2
    p, youden = (ap + sp - 1) / (se + sp - 1), se + sp - 1
    shift = 2 * z**2 * (p * se * (1 - se) - (1 - p) * sp * (1 - sp)) / size
    variance = ap * (1 - ap) / n + (p**2 * se * (1 - se) + (1 - p) ** 2 * sp * (1 - sp)) / size
    half = z * np.sqrt(variance) / youden
    ends = max(0, p + shift - half), min(1, p + shift + half)
    sample = check((2, 2, 90), (2, 0, 10), (0, 2, 20), (0, 0, 80))
    run = replies([2] * graded + [0] * (400 - graded))
    found = rogan_gladen(run, sample, REFUSAL, Resampling(4000, 0))
    assert found.interval == pytest.approx(ends, abs=0.02)


def test_partial_replies_count_as_the_check_sample_mixes_them() -> None:
    """A perfect reader of refusal or not; a fifth of what refuses does so in part: r (1 - .1)."""
    sample = check((0, 0, 50), (2, 2, 40), (1, 2, 10))
    found = rogan_gladen(replies([2] * 40 + [0] * 60), sample, REFUSAL, FEW)
    assert found.value == pytest.approx(0.4 * 0.9)


def test_what_the_provider_refused_needs_no_correction() -> None:
    """Ten of 100 for certain; of the other 90 the textbook's share of those graded as refusals."""
    sample = check((2, 2, 90), (2, 0, 10), (0, 2, 20), (0, 0, 80))
    run = replies([2] * 10 + [2] * 39 + [0] * 51, certain=10)
    found = rogan_gladen(run, sample, REFUSAL, FEW)
    assert found.value == pytest.approx((10 + (39 - 0.2 * 90) / 0.7) / 100)
    label = np.full(100, NOT_LABELLED)
    label[10:12], label[-2:] = 2, 0
    part = prediction_powered(run, label, np.full(100, 90 / 4), FEW)
    assert part.value == pytest.approx((10 + 39) / 100)


def test_the_same_errors_of_both_runs_are_subtracted_in_pairs() -> None:
    """A change is sure of its sign where either rate alone is not sure of its size."""
    sample = check((2, 2, 18), (2, 0, 4), (0, 2, 4), (0, 0, 18))
    graded = np.array([2] * 200 + [0] * 200)
    after = graded.copy()
    after[:40] = 0
    first, second = (
        rogan_gladen(replies(one), sample, REFUSAL, FEW, run)
        for run, one in enumerate((graded, after))
    )
    change = paired_change(first, second)
    assert change.value == pytest.approx(second.value - first.value)
    assert change.interval[1] < 0
    assert width(change) < width(first)
    assert change.p < 0.02
    same = paired_change(first, rogan_gladen(replies(graded), sample, REFUSAL, FEW, 1))
    assert same.interval[0] < 0 < same.interval[1]


@pytest.mark.parametrize("repeat", [1, 4])
def test_repeated_answers_to_a_query_are_no_further_queries(repeat: int) -> None:
    sample = check((2, 2, 900), (2, 0, 10), (0, 2, 10), (0, 0, 900))
    found = rogan_gladen(replies([2] * 30 + [0] * 70, repeat), sample, REFUSAL, FEW)
    assert width(found) == pytest.approx(2 * 1.96 * np.sqrt(0.3 * 0.7 / 100), rel=0.15)
