"""Studies drawn without a server: whom the screening flags, and what it takes to replace them."""

from collections import Counter
from dataclasses import dataclass

from casewise_study.simulation.simulated_people import Manner, Mixture, make_person, true_rates
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
    """Number of people of one manner who were flagged, of those who completed."""

    manner: Manner
    n: int
    flagged: int


def screen_drawn(study: Study, mixture: Mixture, seed: int) -> tuple[Flagged, ...]:
    """Screen everybody who completes a block of a drawn study.

    Args:
        study: With its rules.
        mixture: Who comes.
        seed: Draws the study.
    """
    manners, collected = draw_study(study, mixture, seed)
    came = Counter(manners.values())
    out = Counter(manners[rater] for rater in screen(study, collected).flagged())
    return tuple(Flagged(manner, came[manner], out[manner]) for manner in Manner if came[manner])


def draw_study(study: Study, mixture: Mixture, seed: int) -> tuple[dict[str, Manner], Collected]:
    """Draw the people of a study, one a block: their manners, and what they leave behind.

    Their pages record no signals.
    """
    rates, times, cases = true_rates(study, seed), reading(study), study_cases(study)
    manners, records = dict[str, Manner](), []
    votes, checks = list[VoteRecord](), list[CheckRecord]()
    for number in range(len(study.design.blocks)):
        person = make_person(number, mixture, seed)
        rater = person.name
        for page in pages_of(study, number):
            at, place = page.position, page.place
            # The server takes no sooner answer.
            thought = person.seconds(times.page_words(page) + count_words(QUESTION))
            seconds = max(thought, times.least_seconds(page))
            if place is None:
                check = study.check(page.check)
                passed = person.check(check.expected) == check.expected
                checks.append(CheckRecord(rater, check.id, passed, at, seconds))
            else:
                cell, query = study.design.cells[place], cases[place].query_id
                verdict = person.verdict(rates[place])
                vote = VoteRecord(
                    rater, cell.case_id, query, cell.arm, verdict, at, seconds=seconds
                )
                votes.append(vote)
        manners[rater] = person.manner
        records.append(PersonRecord(rater, PersonStatus.COMPLETED, block=number))
    return manners, Collected(tuple(records), tuple(votes), tuple(checks))
