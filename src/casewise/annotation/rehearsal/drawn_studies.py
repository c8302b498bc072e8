"""Whom the screening flags, over many drawn studies: people without a server between."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product

from casewise.annotation.rehearsal.rehearsal_result import Flagged
from casewise.annotation.rehearsal.simulated_people import (
    Manner,
    Mixture,
    SimulatedPerson,
    Trace,
    machine_rates,
    make_person,
    true_rates,
)
from casewise.annotation.study.reading_times import QUESTION, count_words, pages_of, reading
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_file import study_cases
from casewise.annotation.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
    vote_table,
)
from casewise.annotation.votes.screening import groups_of, screen


@dataclass(frozen=True, slots=True)
class DrawnStudies:
    """Whom the screening flags in several studies."""

    studies: int
    flagged: tuple[Flagged, ...]
    told: int
    """Studies in which two groups of people are told of."""


def screen_drawn(
    study: Study, mixture: Mixture, traces: Sequence[Trace], seed: int, studies: int
) -> DrawnStudies:
    """Screen so many studies, of everybody who completes a block.

    Args:
        study: With its rules.
        mixture: Who comes.
        traces: What machines leave behind, in turns.
        seed: Draws the first study; the others follow.
        studies: How many.
    """
    came = Counter[tuple[Manner, Trace]]()
    flagged = Counter[tuple[Manner, Trace]]()
    told = 0
    for number in range(studies):
        people, collected = draw_study(study, mixture, traces, seed + number)
        screened = screen(study, collected)
        told += groups_of(vote_table(study, collected), screened, study.seed).told is not None
        flags = screened.flagged()
        for person in people:
            came[person.manner, person.trace] += 1
            flagged[person.manner, person.trace] += name_of(person) in flags
    rows = (Flagged(*key, came[key], flagged[key]) for key in product(Manner, Trace) if came[key])
    return DrawnStudies(studies, tuple(rows), told)


def name_of(person: SimulatedPerson) -> str:
    """The pseudonym of a simulated person."""
    return f"r{person.number:04d}"


def draw_study(
    study: Study, mixture: Mixture, traces: Sequence[Trace], seed: int
) -> tuple[list[SimulatedPerson], Collected]:
    """Draw the people of a study, one a block, and what they leave behind."""
    rates = true_rates(study, seed)
    asked, read, cases = machine_rates(rates, seed), reading(study), study_cases(study)
    expected = {check.id: check.expected for check in study.attention.checks}
    turns = cycle(traces)
    people, records, votes, checks = [], [], list[VoteRecord](), list[CheckRecord]()
    for number in range(len(study.design.blocks)):
        person = make_person(number, mixture, seed, turns)
        rater, pages = name_of(person), pages_of(study, number)
        for page in pages:
            at, place = page.position, page.place
            words = read.checks[page.check or ""] if place is None else read.cells[place]
            # The server takes no sooner answer.
            thought = person.seconds(words + count_words(QUESTION))
            seconds = max(thought, read.least_seconds(page))
            if place is None:
                check = page.check or ""
                passed = person.check(expected[check]) == expected[check]
                checks.append(CheckRecord(rater, check, passed, at, seconds))
            else:
                cell, query = study.design.cells[place], cases[place].query_id
                said = person.verdict(rates[place], asked[place])
                vote = VoteRecord(rater, cell.case_id, query, cell.arm, said, at, seconds=seconds)
                votes.append(vote)
        people.append(person)
        records.append(_record(study, person, len(pages)))
    return people, Collected(tuple(records), tuple(votes), tuple(checks))


def _record(study: Study, person: SimulatedPerson, pages: int) -> PersonRecord:
    """A person who completed so many pages, with their signals summed up."""
    record = PersonRecord(name_of(person), PersonStatus.COMPLETED, block=person.number)
    if study.tool_question:
        record = replace(record, tool=person.tool)
    if not study.screening.watches:
        return record
    watched = [[float(count) for count in person.watched().split()] for _ in range(pages)]
    return replace(
        record,
        trap_pages=pages,
        trapped=sum(person.follows() for _ in range(pages)),
        watched=pages,
        left=sum(left > 0 for left, *_ in watched),
        away_seconds=sum(away for _, away, *_ in watched),
        copied=sum(copied + pasted > 0 for *_, copied, pasted in watched),
    )
