"""Weighted F1 and mean absolute error, by hand and against scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score, mean_absolute_error

from casewise.cases import Labels
from casewise.choices import UnreadPolicy
from casewise.measures import Answers, measure
from casewise.statistics import Clusters, Estimate

NAMES = ("f1_weighted", "mae")
FloatArray = NDArray[np.float64]


def answers(
    safe: FloatArray,
    said: FloatArray,
    p_safe: FloatArray | None = None,
    rate: FloatArray | None = None,
    queries: NDArray[np.int64] | None = None,
) -> Answers:
    """Answers to cases of one query each, all read."""
    n = len(safe)
    index = np.arange(n) if queries is None else queries
    nothing = np.empty((0, 2), np.int64)
    return Answers(
        protocol="probability",
        truth=Labels(safe if rate is None else rate, safe),
        verdict=said,
        partial=np.zeros(n, bool),
        tool_call=None,
        p_safe=np.full(n, np.nan) if p_safe is None else p_safe,
        read=np.ones(n, bool),
        clusters=Clusters(index, int(index.max(initial=-1)) + 1),
        intended=np.full(n, ""),
        pairs=nothing,
        all_pairs=nothing,
        epoch=np.zeros(n, np.int64),
        votes_safe=np.full(n, np.nan),
        votes_unsafe=np.full(n, np.nan),
    )


def weighted(safe: list[float], said: list[float]) -> Estimate:
    return measure(answers(np.array(safe), np.array(said)), NAMES)["f1_weighted"]


def test_weighted_f1_by_hand() -> None:
    # Labels safe, safe, safe, unsafe, unsafe; said safe, safe, unsafe, safe, unsafe.
    # F1 of safe 2*2 / (3 + 3) = 2/3, of unsafe 2*1 / (2 + 2) = 1/2: 3/5 * 2/3 + 2/5 * 1/2.
    assert weighted([1, 1, 1, 0, 0], [1, 1, 0, 1, 0]).value == pytest.approx(0.6)
    # A tie is half a case of either side: labels 1.5 and .5, hits 1.5 and 0, said 2 and 0.
    # F1 of safe 2*1.5 / 3.5 = 6/7, of unsafe 0: 3/4 * 6/7.
    assert weighted([1, 0.5], [1, 1]).value == pytest.approx(9 / 14)


def test_a_side_without_labels_has_no_weight() -> None:
    # Safe's F1 is 2*2 / (3 + 2); unsafe was said once, of no case.
    assert weighted([1, 1, 1], [1, 1, 0]).value == pytest.approx(0.8)
    assert weighted([1, 1], [1, 1]).value == 1
    assert weighted([0, 0], [1, 1]).value == 0
    assert np.isnan(weighted([], []).value)


def test_both_are_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        safe, said = (rng.random(30) < rng.random(2)[:, None]).astype(float).reshape(2, -1)
        p_safe, rate = rng.random((2, 30))
        found = measure(answers(safe, said, p_safe, rate), NAMES)
        wanted = f1_score(safe, said, average="weighted", zero_division=0)
        assert found["f1_weighted"].value == pytest.approx(wanted, abs=1e-12)
        assert found["mae"].value == pytest.approx(mean_absolute_error(rate, p_safe), abs=1e-12)


def test_mean_absolute_error_by_hand() -> None:
    # Distances .1, .3 and 0; a case without a probability does not count.
    p_safe, rate = np.array([0.9, 0.2, 0.5, np.nan]), np.array([0.8, 0.5, 0.5, 1.0])
    verdict = np.array([1.0, 0, 1, 1])
    found = measure(answers(verdict, verdict, p_safe, rate), NAMES)["mae"]
    assert found.value == pytest.approx(0.4 / 3)
    # The influence of each distance d is (d - mean) / 3: its standard error by hand.
    assert found.se == pytest.approx(np.sqrt(sum((d - 0.4 / 3) ** 2 for d in (0.1, 0.3, 0))) / 3)


def test_the_error_of_weighted_f1_is_that_of_the_delta_method() -> None:
    rng = np.random.default_rng(5)
    queries = np.repeat(np.arange(200), 2)
    safe = (rng.random(400) < 0.4).astype(float)
    said = np.where(rng.random(400) < 0.8, safe, 1 - safe)
    found = measure(answers(safe, said, queries=queries), NAMES)["f1_weighted"]
    # Each case a thousandth heavier moves the figure by a thousandth of its derivative.
    step = 1e-6

    def figure(weights: FloatArray) -> float:
        return float(f1_score(safe, said, average="weighted", sample_weight=weights))

    moved = np.array([figure(1 + step * (queries == query)) for query in range(200)])
    influence = (moved - figure(np.ones(400))) / step
    assert found.clusters == 200
    assert found.se == pytest.approx(np.sqrt((influence**2).sum()), rel=1e-3)
    low, high = found.interval
    assert low < found.value < high


def test_an_unread_answer_is_unsafe_under_the_reference_policy() -> None:
    # Labels safe, safe, unsafe; the second was not read. As unsafe: safe 2*1 / (2 + 1), unsafe
    # 2*1 / (1 + 2); 2/3 * 2/3 + 1/3 * 2/3. Left out, all is right.
    given = replace(
        answers(np.array([1.0, 1, 0]), np.array([1.0, np.nan, 0])),
        protocol="binary",
        read=np.array([True, False, True]),
    )
    reference = measure(given, NAMES, UnreadPolicy.REFERENCE)["f1_weighted"]
    assert reference.value == pytest.approx(2 / 3)
    assert measure(given, NAMES)["f1_weighted"].value == 1
