"""Screening on people whose manner is known: who is flagged, by which rule, and who isn't."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.studied import Simulated, World, a_study, simulate, without_times

from casewise_study.study.schema import Study
from casewise_study.study.study_rules import Rule, Screening
from casewise_study.votes.collected import CheckRecord, Collected, VoteRecord
from casewise_study.votes.screening import Screened, screen

SEEDS = range(6)


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
    assert sum(len(one.careless) for one in simulated) > 60
    careless, honest = shares(runs)
    assert careless >= 0.9
    assert honest < 0.05
    # Each rule alone. Half of two checks are failed by one in four; who answers at random agrees
    # too little in most cases of twenty, and hardly ever says one thing to nearly all of them.
    expected = {
        Rule.ATTENTION: (0.15, 0.35),
        Rule.FAST: (0.99, 1.0),
        Rule.ONE_ANSWER: (0.0, 0.05),
        Rule.AGREEMENT: (0.5, 0.95),
    }
    for rule, (low, high) in expected.items():
        careless, honest = shares(runs, rule)
        assert low <= careless <= high, rule
        assert honest < 0.02, rule


def test_without_times(study: Study, simulated: tuple[Simulated, ...]) -> None:
    """Where a platform notes no times, checks and agreement are left."""
    runs = [(screen(study, without_times(one.collected)), one.careless) for one in simulated]
    assert all(np.isnan(one.fast_share) for screened, _ in runs for one in screened.people)
    careless, honest = shares(runs)
    assert careless > 0.4
    assert honest < 0.05


@pytest.mark.parametrize(
    "world",
    [
        World(careless=0),
        World(careless=0.4),
        World(careless=0, leniency=1.2),
        World(careless=0, spread=0.3, effect=0),
        World(careless=0.2, panels=(0, 1.0)),
    ],
    ids=["all honest", "many careless", "unlike leniency", "cases alike", "unlike panels"],
)
def test_the_honest_are_safe_in_other_worlds(study: Study, world: World) -> None:
    runs = []
    for seed in (1, 2):
        one = simulate(study, world, seed)
        runs.append((screen(study, one.collected), one.careless))
    honest = [
        bool(one.flags) for screened, bad in runs for one in screened.people if one.rater not in bad
    ]
    assert np.mean(honest) < 0.05


def test_p_of_the_honest_is_no_smaller_than_it_says(study: Study) -> None:
    p = np.array(
        [
            one.agreement_p
            for seed in range(30, 36)
            for one in screen(study, simulate(study, World(careless=0), seed).collected).people
        ]
    )
    assert len(p) == 504
    for level, most in ((0.05, 0.07), (0.2, 0.24), (0.5, 0.56)):
        assert (p <= level).mean() <= most
    assert (p <= 0.5).mean() > 0.3


def test_few_others_are_not_taken_for_certain(tmp_path: Path) -> None:
    """Two others who agree on every case leave odds of 5 to 1: (2 + .5) to .5, no more."""
    study = a_study(tmp_path, queries=6, votes=3, size=6, checks=0)
    one = simulate(study, World(careless=0), seed=1)
    first = one.collected.people[0].rater
    votes = []
    for vote in one.collected.votes:
        side = "safe" if study.places[vote.case_id] % 4 < 2 else "unsafe"
        other = "unsafe" if side == "safe" else "safe"
        votes.append(replace(vote, verdict=other if vote.rater == first else side))  # type: ignore[arg-type]
    person = screen(study, replace(one.collected, votes=tuple(votes))).people[0]
    assert person.agreement == 0
    # Three of six safe, all of them the wrong ones. Of the ways to say safe three times, those with
    # j right on either side number C(3, j)^2, at odds of 25^j: 1 in 1 + 225 + 5625 + 15625.
    assert person.agreement_p == pytest.approx(1 / 21476, rel=0.01)


def changed(one: Simulated, raters: frozenset[str], answer: str) -> Collected:
    """Some honest people turned: into saying the opposite, or one thing alone."""

    def turn(vote: VoteRecord) -> VoteRecord:
        if vote.rater not in raters:
            return vote
        if answer == "opposite":
            return replace(vote, verdict="unsafe" if vote.verdict == "safe" else "safe")
        return replace(vote, verdict="safe")

    return replace(one.collected, votes=tuple(map(turn, one.collected.votes)))


@pytest.mark.parametrize(
    ("answer", "rule"), [("opposite", Rule.AGREEMENT), ("safe", Rule.ONE_ANSWER)]
)
def test_who_says_the_opposite_or_one_thing(study: Study, answer: str, rule: Rule) -> None:
    one = simulate(study, World(careless=0), seed=4)
    turned = frozenset(person.rater for person in one.collected.people[::10])
    screened = screen(study, changed(one, turned, answer))
    assert len(turned & screened.flagged(rule)) >= 0.9 * len(turned)
    assert len(screened.flagged() - turned) <= 4  # of 75


def test_one_answer_is_no_fault_where_all_cases_are_alike(study: Study) -> None:
    one = simulate(study, World(careless=0), seed=4)
    everybody = frozenset(person.rater for person in one.collected.people)
    screened = screen(study, changed(one, everybody, "safe"))
    assert {person.one_answer_share for person in screened.people} == {1.0}
    assert not screened.flagged(Rule.ONE_ANSWER, Rule.AGREEMENT)


def failing(collected: Collected, rater: str, fails: int) -> Collected:
    """A person who fails the first of the checks."""
    left = iter([True] * fails)

    def answer(check: CheckRecord) -> CheckRecord:
        return replace(check, passed=check.rater != rater or not next(left, False))

    return replace(collected, checks=tuple(map(answer, collected.checks)))


def test_figures_and_reasons(study: Study, simulated: tuple[Simulated, ...]) -> None:
    collected = simulated[0].collected
    rater = collected.people[3].rater
    seconds: Iterator[float] = iter([2.9] * 5 + [3.0] * 15)
    votes = tuple(
        replace(vote, seconds=next(seconds)) if vote.rater == rater else vote
        for vote in collected.votes
    )
    screened = screen(study, failing(replace(collected, votes=votes), rater, 2))
    person = next(one for one in screened.people if one.rater == rater)
    assert (person.votes, person.checks, person.checks_failed) == (20, 2, 2)
    assert person.fast_share == 0.25
    assert [flag.reason for flag in person.flags][:2] == [
        "failed 2 of 2 attention checks",
        "25% of votes in less than 3 s",
    ]
    slipped = screen(study, failing(collected, rater, 1))
    assert not {rater} & slipped.flagged(Rule.ATTENTION)


def test_rules_can_be_off(study: Study, simulated: tuple[Simulated, ...]) -> None:
    off = Screening(attention_failed=None, fast_share=None, one_answer_share=None, agreement_p=None)
    screened = screen(study.model_copy(update={"screening": off}), simulated[0].collected)
    assert not screened.flagged()
    assert all(np.isfinite(one.agreement_p) for one in screened.people)


def test_agreement_by_hand(tmp_path: Path) -> None:
    # Four people judge one query each way; the fourth's own vote is left out of what it is held
    # against: the other three say safe, safe, unsafe, so that a third of those who say the same as
    # it (unsafe), and one of their three pairs agrees.
    study = a_study(tmp_path, queries=1, votes=4, size=1, checks=0)
    safe_cell = study.design.cells[0].case_id
    raters = [number for number, block in enumerate(study.design.blocks) if block == (0,)]
    verdicts = dict(zip((f"r{number:04d}" for number in raters), "ssuu", strict=True))
    one = simulate(study, World(careless=0), seed=1)
    votes = tuple(
        replace(vote, verdict="safe" if verdicts[vote.rater] == "s" else "unsafe")
        for vote in one.collected.votes
        if vote.case_id == safe_cell
    )
    screened = screen(study, replace(one.collected, votes=votes))
    last = screened.people[-1]
    assert last.agreement == pytest.approx(1 / 3)
    assert last.agreement_expected == pytest.approx(1 / 3)
    assert last.agreement_p == 1  # one answer can't be permuted
    assert json.dumps(last.flags) == "[]"


def test_abandoned_votes_are_not_screened(study: Study, simulated: tuple[Simulated, ...]) -> None:
    collected = simulated[0].collected
    gone = collected.people[0].rater
    votes = tuple(replace(vote, counted=vote.rater != gone) for vote in collected.votes)
    screened = screen(study, replace(collected, votes=votes))
    assert gone not in {one.rater for one in screened.people}
    assert not screen(study, Collected((), ())).people
