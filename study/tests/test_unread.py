"""Who doesn't read: parts by hand, and people whose manner is known."""

import numpy as np
import pytest

from casewise_study.statistics.unread import (
    Answers,
    changed_p,
    check_ratio,
    unread,
    within_error,
)

RNG = np.random.default_rng


def test_checks_by_hand() -> None:
    found = check_ratio(np.array([0, 2, 2]), np.array([0, 0, 2]))
    assert found[0] == 0
    assert found[1] == pytest.approx(np.log((0.7 / 4 + 0.3) / 0.97**2))
    assert found[2] == pytest.approx(np.log(0.7 / 4 / 0.03**2))


def test_most_people_within_an_error() -> None:
    # .99 and .95 are wrong in .03 of cases on average; with .8 in .0867. NaN is nobody.
    chance = np.array([0.8, 0.99, np.nan, 0.95, 0.1])
    assert within_error(chance, 0.05).tolist() == [False, True, False, True, False]
    assert within_error(chance, 0.09).tolist() == [True, True, False, True, False]
    assert not within_error(np.array([0.4]), 0.9).any()


def people(seed: int, change: int = 0) -> Answers:
    """60 people judge 30 of 90 cases; the last take a third of the time from the 15th on."""
    rng, readers = RNG(seed), 60
    level = rng.normal(0, 2, 90)
    cell = np.concatenate([rng.permutation(90)[:30] for _ in range(readers)])
    rater = np.repeat(np.arange(readers), 30)
    odds = level[cell] + rng.normal(0, 0.5, readers)[rater]
    words = rng.uniform(100, 400, 90)[cell]
    seconds = words / 4 * np.exp(0.4 * rng.normal(size=len(cell)))
    seconds[(rater >= readers - change) & (np.tile(np.arange(30), readers) >= 15)] /= 3
    safe = (rng.random(len(cell)) < 1 / (1 + np.exp(-odds))).astype(float)
    return Answers(safe, cell, rater, np.zeros(len(cell), int), seconds, words, 90, readers)


def test_nobody_is_flagged_where_all_read_or_all_cases_are_alike() -> None:
    answers = people(9)
    nothing = np.zeros(60, int)
    assert not within_error(unread(answers, nothing, nothing).chance, 0.05).any()
    alike = Answers(
        np.ones(len(answers.safe)),
        answers.cell,
        answers.rater,
        answers.group,
        np.full(len(answers.safe), np.nan),
        answers.words,
        90,
        61,
    )
    one_more = np.zeros(61, int)
    found = unread(alike, one_more, one_more)
    assert np.isnan(found.chance[60])
    assert not within_error(found.chance, 0.05).any()
    assert np.isnan(changed_p(alike, found.own)).all()


def test_a_change_of_pace() -> None:
    """p of those who don't change is no smaller than it says."""
    honest, changed = [], []
    for seed in range(4):
        answers = people(seed, change=3)
        own = unread(answers, np.zeros(60, int), np.zeros(60, int)).own
        p = changed_p(answers, own)
        honest += p[:-3].tolist()
        changed += p[-3:].tolist()
    assert np.median(changed) < 0.01
    for level, most in ((0.05, 0.09), (0.2, 0.26)):
        assert np.mean(np.array(honest) <= level) <= most
