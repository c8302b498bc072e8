"""Studies drawn without a server: whom the screening flags, and what it takes to replace them."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from casewise_study.simulation.simulated_people import (
    Manner,
    Mixture,
    SimulatedPerson,
    Trace,
    machine_rates,
    make_person,
    true_rates,
)
from casewise_study.study.page_signals import PageSignals, sum_signals
from casewise_study.study.reading_times import QUESTION, count_words, pages_of, reading
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise_study.votes.screening import screen


@dataclass(frozen=True, slots=True)
class Flagged:
    """Number of people of one manner and trace who were flagged, of those who completed."""

    name: str
    """The manner, and what it leaves behind."""
    n: int
    flagged: int


def screen_drawn(
    study: Study, mixture: Mixture, traces: Sequence[Trace], seed: int, studies: int
) -> tuple[Flagged, ...]:
    """Screen so many studies, of everybody who completes a block, and add up who is flagged.

    Args:
        study: With its rules.
        mixture: Who comes.
        traces: What machines leave behind, in turns.
        seed: Draws the first study; the others follow.
        studies: How many.
    """
    seen = defaultdict[tuple[Manner, Trace], list[bool]](list)
    for number in range(studies):
        people, collected = draw_study(study, mixture, traces, seed + number)
        flags = screen(study, collected).flagged()
        for one in people:
            seen[one.manner, one.trace].append(one.name in flags)
    return tuple(
        Flagged(
            manner if trace is Trace.NONE else f"{manner}: {trace}",
            len(seen[manner, trace]),
            sum(seen[manner, trace]),
        )
        for manner, trace in itertools.product(Manner, Trace)
        if (manner, trace) in seen
    )


def draw_study(
    study: Study, mixture: Mixture, traces: Sequence[Trace], seed: int
) -> tuple[list[SimulatedPerson], Collected]:
    """Draw the people of a study, one a block, and what they leave behind."""
    rates = true_rates(study, seed)
    asked, read, cases = machine_rates(rates, seed), reading(study), study_cases(study)
    turns = itertools.cycle(traces)
    people, records, votes, checks = [], [], list[VoteRecord](), list[CheckRecord]()
    for number in range(len(study.design.blocks)):
        person = make_person(number, mixture, seed, turns)
        rater, pages = person.name, pages_of(study, number)
        for page in pages:
            at, place = page.position, page.place
            # The server takes no sooner answer.
            thought = person.seconds(read.page_words(page) + count_words(QUESTION))
            seconds = max(thought, read.least_seconds(page))
            if place is None:
                check = study.check(page.check)
                passed = person.check(check.expected) == check.expected
                checks.append(CheckRecord(rater, check.id, passed, at, seconds))
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
    signals: dict[str, Any] = {"tool": person.tool} if study.tool_question else {}
    if study.screening.watches:
        watched = [person.watched() for _ in range(pages)]
        signals |= sum_signals([PageSignals(person.follows(), watch) for watch in watched])
    rater, block = person.name, person.number
    return PersonRecord(rater, PersonStatus.COMPLETED, block=block, **signals)
