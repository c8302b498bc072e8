"""Who doesn't read: parts by hand, and people whose manner is known."""

import numpy as np
import pytest

from casewise_study.statistics import copied, unread

RNG = np.random.default_rng


def test_checks_by_hand() -> None:
    found = unread.check_ratio(np.array([0, 2, 2]), np.array([0, 0, 2]))
    assert found[0] == 0
    assert found[1] == pytest.approx(np.log((0.7 / 4 + 0.3) / 0.97**2))
    assert found[2] == pytest.approx(np.log(0.7 / 4 / 0.03**2))


def test_most_people_within_an_error() -> None:
    # .99 and .95 are wrong in .03 of cases on average; with .8 in .0867. NaN is nobody.
    chance = np.array([0.8, 0.99, np.nan, 0.95, 0.1])
    assert unread.within_error(chance, 0.05).tolist() == [False, True, False, True, False]
    assert unread.within_error(chance, 0.09).tolist() == [True, True, False, True, False]
    assert not unread.within_error(np.array([0.4]), 0.9).any()


def people(seed: int) -> unread.Answers:
    """60 people judge 30 of 90 cases."""
    rng, readers = RNG(seed), 60
    level = rng.normal(0, 2, 90)
    cell = np.concatenate([rng.permutation(90)[:30] for _ in range(readers)])
    rater = np.repeat(np.arange(readers), 30)
    odds = level[cell] + rng.normal(0, 0.5, readers)[rater]
    words = rng.uniform(100, 400, 90)[cell]
    seconds = words / 4 * np.exp(0.4 * rng.normal(size=len(cell)))
    safe = (rng.random(len(cell)) < 1 / (1 + np.exp(-odds))).astype(float)
    return unread.Answers(safe, cell, rater, np.zeros(len(cell), int), seconds, words, 90, readers)


def test_nobody_is_flagged_where_all_read_or_all_cases_are_alike() -> None:
    answers = people(9)
    nothing = np.zeros(60, int)
    assert not unread.within_error(unread.unread(answers, nothing, nothing).chance, 0.05).any()
    alike = unread.Answers(
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
    found = unread.unread(alike, one_more, one_more)
    assert np.isnan(found.chance[60])
    assert not unread.within_error(found.chance, 0.05).any()


def test_a_person_who_says_what_a_model_says() -> None:
    # Two people, two votes each, of a chance of .5 and .8: the first says what the model says,
    # the second the opposite once, and the model has no verdict of the third case.
    safe, cell, rater = np.array([1.0, 1, 1, 0]), np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1])
    known = np.full(4, np.nan), np.ones(4)
    answers = unread.Answers(safe, cell, rater, np.zeros(4, int), *known, cells=3, raters=2)
    own = np.array([0.5, 0.8, 0.8, 0.5])
    odds = np.array([0.95 / 0.5 * 0.95 / 0.8, 0.05 / 0.5]) * 0.05 / 0.95
    found = copied.copied(answers, own, np.array([[1, 1, np.nan]]))
    assert found[:, 0] == pytest.approx(odds / (1 + odds))
    # A second model that has judged nothing shares the chance of having been copied.
    both = copied.copied(answers, own, np.array([[1, 1, np.nan], [np.nan] * 3]))
    half = odds / 2, np.full(2, 0.05 / 0.95 / 2)
    assert pytest.approx(np.array(half) / (1 + sum(half))) == both.T
