"""Dawid & Skene's model: a step by hand, a known truth, and where nothing is known."""

import math

import numpy as np
import pytest

from casewise_study.statistics import dawid_skene


def fit(rows: list[tuple[int, int, int]], most: int = 1000) -> dawid_skene.DawidSkene:
    """Rows of item, rater, verdict."""
    item, rater, verdict = np.array(rows).T
    return dawid_skene.dawid_skene(
        verdict.astype(float),
        item,
        rater,
        items=int(item.max()) + 1,
        raters=int(rater.max()) + 1,
        most=most,
    )


TABLE = [(0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 0, 0), (1, 1, 0), (1, 2, 1)]
"""Three raters: item 0 is safe to all of them, item 1 to the last alone."""


def test_one_step_by_hand() -> None:
    # Start: T = (1, 1/3). A vote added to each: prevalence (4/3 + 1) / (2 + 2) = 7/12; raters 0
    # and 1 right on safe (1 + 1) / (4/3 + 2) = 3/5, on unsafe (2/3 + 1) / (2/3 + 2) = 5/8; rater 2
    # right on safe (4/3 + 1) / (4/3 + 2) = 7/10, on unsafe 1 / (8/3) = 3/8.
    found = fit(TABLE, most=1)
    assert found.prevalence == pytest.approx(7 / 12)
    assert found.specificity == pytest.approx([3 / 5, 3 / 5, 7 / 10])
    assert found.sensitivity == pytest.approx([5 / 8, 5 / 8, 3 / 8])
    safe = 7 / 12 * 2 / 5 * 2 / 5 * 7 / 10
    unsafe = 5 / 12 * 5 / 8 * 5 / 8 * 5 / 8
    assert found.p_safe[1] == pytest.approx(safe / (safe + unsafe))
    assert (found.iterations, found.converged) == (1, False)


def test_a_known_truth() -> None:
    rng = np.random.default_rng(3)
    items, raters, votes = 600, 40, 9
    truth = rng.random(items) < 0.6
    right = np.stack([rng.uniform(0.5, 0.98, raters), rng.uniform(0.5, 0.98, raters)])
    item = np.repeat(np.arange(items), votes)
    rater = np.concatenate([rng.permutation(raters)[:votes] for _ in range(items)])
    kept = truth[item]
    verdict = np.where(
        kept, rng.random(len(item)) < right[0][rater], rng.random(len(item)) > right[1][rater]
    )
    found = dawid_skene.dawid_skene(verdict.astype(float), item, rater, items=items, raters=raters)
    assert found.converged
    # Better than the majority.
    majority = np.bincount(item, verdict) / votes > 0.5
    assert ((found.p_safe > 0.5) == truth).mean() > (majority == truth).mean()
    assert found.prevalence == pytest.approx(truth.mean(), abs=0.02)
    # Some 70 votes on either class: errors of about .05, and the smoothing on top.
    for estimated, rate in ((found.specificity, right[0]), (found.sensitivity, right[1])):
        assert np.sqrt(((estimated - rate) ** 2).mean()) < 0.06


def test_nothing_is_known_without_votes() -> None:
    none = np.empty(0)
    found = dawid_skene.dawid_skene(none, none.astype(int), none.astype(int), items=2, raters=1)
    assert np.isnan(found.p_safe).all()
    assert math.isnan(found.prevalence)
    some = dawid_skene.dawid_skene(np.ones(1), np.array([1]), np.array([0]), items=3, raters=2)
    assert np.isnan(some.p_safe).tolist() == [True, False, True]
    assert np.isnan(some.sensitivity).tolist() == [False, True]
