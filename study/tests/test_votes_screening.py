"""Screening on people whose manner is known: who is flagged, by which rule, and who isn't."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.studied import Simulated, World, a_study, simulate, without_times

from casewise_study.study.schema import Study
from casewise_study.study.study_rules import Rule, Screening
from casewise_study.votes.collected import CheckRecord, Collected, VoteRecord
from casewise_study.votes.screening import Screened, screen

SEEDS = range(4)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """As planned by default, with fewer queries: 20 cases and 2 checks a person, 84 people."""
    folder = tmp_path_factory.mktemp("study")
    return a_study(folder, queries=40, votes=21, size=20, checks=2)


@pytest.fixture(scope="module")
def simulated(study: Study) -> tuple[Simulated, ...]:
    return tuple(simulate(study, World(), seed) for seed in SEEDS)


def shares(runs: Sequence[tuple[Screened, frozenset[str]]], *rules: Rule) -> tuple[float, float]:
    """The shares of the careless and of the honest who are flagged."""
    careless: list[bool] = []
    honest: list[bool] = []
    for screened, bad in runs:
        flagged = screened.flagged(*rules)
        for one in screened.people:
            (careless if one.rater in bad else honest).append(one.rater in flagged)
    return float(np.mean(careless)), float(np.mean(honest))


def test_the_careless_are_flagged_and_the_honest_are_not(
    study: Study, simulated: tuple[Simulated, ...]
) -> None:
    runs = [(screen(study, one.collected), one.careless) for one in simulated]
    assert sum(len(one.careless) for one in simulated) > 30
    careless, honest = shares(runs)
    assert careless >= 0.9
    assert honest < 0.05
    # Nobody fails more than two of two checks; all are fast, and most tell by their votes too.
    expected = {Rule.ATTENTION: (0.0, 0.0), Rule.FAST: (0.99, 1.0), Rule.UNREAD: (0.8, 1.0)}
    for rule, (low, high) in expected.items():
        careless, honest = shares(runs, rule)
        assert low <= careless <= high, rule
        assert honest < 0.02, rule
    # Where a platform notes no times, votes and checks are left.
    untimed = [(screen(study, without_times(one.collected)), one.careless) for one in simulated]
    assert all(np.isnan(one.fast_share) for screened, _ in untimed for one in screened.people)
    careless, honest = shares(untimed)
    assert careless > 0.4
    assert honest < 0.05


def changed(one: Simulated, raters: frozenset[str], answer: str) -> Collected:
    """Some honest people turned: into saying the opposite, or one thing alone."""

    def turn(vote: VoteRecord) -> VoteRecord:
        if vote.rater not in raters:
            return vote
        if answer == "opposite":
            return replace(vote, verdict="unsafe" if vote.verdict == "safe" else "safe")
        return replace(vote, verdict="safe")

    return replace(one.collected, votes=tuple(map(turn, one.collected.votes)))


@pytest.mark.parametrize("answer", ["opposite", "safe"])
def test_who_says_the_opposite_or_one_thing(study: Study, answer: str) -> None:
    one = simulate(study, World(careless=0), seed=4)
    turned = frozenset(person.rater for person in one.collected.people[::10])
    screened = screen(study, changed(one, turned, answer))
    assert len(turned & screened.flagged(Rule.UNREAD)) >= 0.9 * len(turned)
    assert len(screened.flagged() - turned) <= 4  # of 75


def failing(collected: Collected, rater: str, fails: int) -> Collected:
    """A person who fails the first of the checks."""
    left = iter([True] * fails)

    def answer(check: CheckRecord) -> CheckRecord:
        return replace(check, passed=check.rater != rater or not next(left, False))

    return replace(collected, checks=tuple(map(answer, collected.checks)))


def test_figures_and_reasons(study: Study, simulated: tuple[Simulated, ...]) -> None:
    collected = simulated[0].collected
    rater = collected.people[3].rater
    seconds: Iterator[float] = iter([2.9] * 11 + [3.0] * 9)
    votes = tuple(
        replace(vote, seconds=next(seconds)) if vote.rater == rater else vote
        for vote in collected.votes
    )
    ruled = Screening(attention_failed=1)
    study = study.model_copy(update={"screening": ruled})
    screened = screen(study, failing(replace(collected, votes=votes), rater, 2))
    person = next(one for one in screened.people if one.rater == rater)
    assert (person.votes, person.checks, person.checks_failed) == (20, 2, 2)
    assert person.fast_share == 0.55
    assert [flag.reason for flag in person.flags][:3] == [
        "failed 2 of 2 attention checks",
        "55% of votes in less than 3 s",
        "times hardly vary: 2.9 s, spread of logarithms 0.02",
    ]
    assert rater in screened.flagged(Rule.TIMES)
    slipped = screen(study, failing(collected, rater, 1))
    assert not {rater} & slipped.flagged(Rule.ATTENTION)


def test_rules_can_be_off(study: Study, simulated: tuple[Simulated, ...]) -> None:
    off = Screening.model_validate(dict.fromkeys(Screening.model_fields))
    screened = screen(study.model_copy(update={"screening": off}), simulated[0].collected)
    assert not screened.flagged()
    assert all(0 <= one.chance_unread <= 1 for one in screened.people)
