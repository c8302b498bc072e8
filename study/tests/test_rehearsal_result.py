"""What a rehearsal shows, by hand: simulated people, broken rules, recovered rates."""

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from support.rehearsal import Integrity, check_integrity, recover
from support.studies import write_three_arms
from support.visit import VisitLog, VisitOutcome

from casewise.cases import Case, Side
from casewise_study.simulation.simulated_people import (
    Manner,
    Mixture,
    make_person,
    marginal_rate,
)
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import Collected, PersonRecord, PersonStatus, VoteRecord


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_three_arms(tmp_path, queries=2, votes=1)


@pytest.fixture
def cases(study: Study) -> tuple[Case, ...]:
    return study_cases(study)


def honest_visits(study: Study) -> list[VisitLog]:
    """One person a block, who says safe to everything."""
    return [
        VisitLog(
            number,
            f"id{number}",
            Manner.HONEST,
            "",
            VisitOutcome.COMPLETED,
            shown=list(block),
            given=[(place, "safe") for place in block],
        )
        for number, block in enumerate(study.design.blocks)
    ]


def stored(study: Study, cases: tuple[Case, ...], logs: list[VisitLog]) -> Collected:
    votes = [
        VoteRecord(
            f"r{log.number}",
            cases[place].id,
            cases[place].query_id,
            study.design.cells[place].arm,
            verdict,
            position,
        )
        for log in logs
        for position, (place, verdict) in enumerate(log.given)
        if place is not None
    ]
    people = tuple(PersonRecord(f"r{log.number}", PersonStatus.COMPLETED) for log in logs)
    return Collected(people, tuple(votes))


RATERS = {f"id{number}": f"r{number}" for number in range(9)}


def test_a_sound_study(study: Study, cases: tuple[Case, ...]) -> None:
    logs = honest_visits(study)
    found = check_integrity(study, logs, stored(study, cases, logs), RATERS)
    assert found.sound
    assert (found.cells, found.full) == (6, 6)


def test_each_broken_rule_is_seen(study: Study, cases: tuple[Case, ...]) -> None:
    logs = honest_visits(study)
    whole = stored(study, cases, logs)
    first, *rest = whole.votes

    def check(votes: list[VoteRecord], said: list[VisitLog] = logs) -> Integrity:
        return check_integrity(study, said, Collected(whole.people, tuple(votes)), RATERS)

    missing = check(rest)
    assert (missing.lost, missing.full) == (1, 5)
    twice = check([first, first, *rest])
    assert (twice.doubled, twice.full) == (1, 5)
    changed = check([replace(first, verdict="unsafe"), *rest])
    assert (changed.lost, changed.foreign) == (1, 1)
    invented = check([*whole.votes, replace(first, rater="nobody")])
    assert (invented.foreign, invented.full) == (1, 5)
    uncounted = check([replace(first, counted=False), *rest])
    assert (uncounted.lost, uncounted.full) == (1, 5)
    both = honest_visits(study)
    both[0].shown = [0, 1]
    assert check(list(whole.votes), both).two_arms == 1
    both[1].oddities.append("an answered page was shown again")
    assert not check(list(whole.votes), both).sound


def test_who_left_has_no_vote_to_lose(study: Study, cases: tuple[Case, ...]) -> None:
    logs = honest_visits(study)
    whole = stored(study, cases, logs)
    gone = VisitLog(
        3,
        "id3",
        Manner.HONEST,
        "",
        VisitOutcome.LEFT,
        shown=[0],
        given=[(0, "safe")],
    )
    assert check_integrity(study, [*logs, gone], whole, RATERS).sound


def said(safe: bool) -> Side:
    return "safe" if safe else "unsafe"


def test_recovered_rates(tmp_path: Path) -> None:
    study = write_three_arms(tmp_path, queries=1, votes=10)
    cases = study_cases(study)
    shares = {"none": 5, "safe": 9, "unsafe": 1}
    votes = tuple(
        VoteRecord(f"r{n}", cell.case_id, case.query_id, cell.arm, said(n < shares[cell.arm]), 0)
        for cell, case in zip(study.design.cells, cases, strict=True)
        for n in range(10)
    )
    found = recover(study, (0.5, 0.5, 0.1), Collected((), votes))
    # Wilson at 9 of 10: .596 to .982, without .5; at 5 of 10 with .5; at 1 of 10: .018 to .404.
    assert (found.cells, found.covered) == (3, 2)
    assert (found.pairs, found.told_apart) == (1, 1)
    truths = [marginal_rate(rate) for rate in (0.5, 0.5, 0.1)]
    errors = [abs(share / 10 - truth) for share, truth in zip(shares.values(), truths, strict=True)]
    assert found.mean_error == pytest.approx(np.mean(errors))
    empty = recover(study, (0.5, 0.5, 0.1), Collected((), ()))
    assert empty.cells == 0
    assert np.isnan([empty.coverage, empty.power, empty.mean_error]).all()


def test_the_rate_over_leniencies() -> None:
    assert marginal_rate(0.5) == pytest.approx(0.5)
    assert [marginal_rate(0.0), marginal_rate(1.0)] == pytest.approx([0, 1])
    people = [make_person(number, Mixture(), seed=3) for number in range(20_000)]
    said = np.mean([person.verdict(0.9) == "safe" for person in people])
    # The standard error is .002; without leniencies the share would be .900.
    assert said == pytest.approx(marginal_rate(0.9), abs=0.007)


def test_people_are_drawn_by_seed_and_number() -> None:
    mixture = Mixture(honest=0.4, careless=0.3, adversarial=0.2, biased=0.1)
    people = [make_person(number, mixture, seed=1) for number in range(4000)]
    for manner, share in zip(Manner, astuple(mixture), strict=True):
        found = np.mean([person.manner is manner for person in people])
        assert found == pytest.approx(share, abs=0.03), manner
    again = make_person(7, mixture, seed=1)
    assert (again.manner, again.leniency) == (people[7].manner, people[7].leniency)
    assert [again.seconds(90) for _ in range(3)] == [people[7].seconds(90) for _ in range(3)]
    assert make_person(7, mixture, seed=2).leniency != again.leniency


def test_how_each_manner_judges() -> None:
    def share_safe(mixture: Mixture) -> float:
        people = (make_person(number, mixture, seed=5) for number in range(4000))
        return float(np.mean([person.verdict(0.9) == "safe" for person in people]))

    assert share_safe(Mixture(0, careless=1)) == pytest.approx(0.5, abs=0.03)
    assert share_safe(Mixture(0, adversarial=1)) == pytest.approx(1 - marginal_rate(0.9), abs=0.02)
    assert share_safe(Mixture(0, biased=1)) > 0.94
    careless = [make_person(number, Mixture(0, careless=1), seed=5) for number in range(2000)]
    missed = np.mean([person.check("safe") == "unsafe" for person in careless])
    assert missed == pytest.approx(0.5, abs=0.04)
