"""The times of a pilot, for the plan of the study that follows it."""

from collections import Counter, defaultdict
from statistics import median

from casewise.annotation.study.planning import PilotTimes
from casewise.annotation.study.reading_times import (
    QUESTION,
    USUAL,
    count_words,
    pages_of,
    reading,
)
from casewise.annotation.study.schema import Study
from casewise.annotation.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise.annotation.votes.typed_csv import to_utc
from casewise.errors import UsageError


def measured_times(pilot: Study, collected: Collected) -> PilotTimes:
    """Measure how long the people of a pilot took, of those who finished it.

    A page counts for ``timing.most_seconds`` at most, since whoever takes longer has paused. What
    is read before the clock runs and after it, consent and debriefing, is taken by its words.

    Args:
        pilot: As it was served, with its cases.
        collected: What it collected.

    Raises:
        UsageError: Nobody finished it with known times.
    """
    read = reading(pilot)
    pages, words = defaultdict[str, list[float]](list), Counter[str]()
    timed: list[tuple[VoteRecord | CheckRecord, int]] = [
        *((vote, read.cells[pilot.places[vote.case_id]]) for vote in collected.votes),
        *((check, read.checks[check.check]) for check in collected.checks),
    ]
    for answer, count in timed:
        if answer.seconds is not None:
            pages[answer.rater].append(answer.seconds)
            words[answer.rater] += count
    done = [
        person
        for person in collected.people
        if person.status is PersonStatus.COMPLETED
        and person.started
        and person.ended
        and _is_whole(pilot, person, len(pages[person.rater]))
    ]
    if not done:
        raise UsageError(
            f"--from-pilot: nobody has finished the pilot {pilot.id!r} with known times"
        )
    question = count_words(QUESTION)
    unclocked = read.unclocked_minutes(USUAL)
    factors, besides, sessions = [], [], []
    for person in done:
        spent = pages[person.rater]
        judging = sum(min(seconds, pilot.timing.most_seconds) for seconds in spent)
        rest = unclocked + max(0.0, _session(person) - sum(spent)) / 60
        read_words = words[person.rater] + question * len(spent)
        factors.append(judging / read.seconds(USUAL, read_words, len(spent)))
        besides.append(rest)
        sessions.append(judging / 60 + rest)
    return PilotTimes(
        len(done),
        median(factors),
        median(besides),
        median(sessions),
        (min(sessions), max(sessions)),
    )


def _session(person: PersonRecord) -> float:
    """Seconds from the consent to the last answer."""
    assert person.started is not None
    assert person.ended is not None
    return (to_utc(person.ended) - to_utc(person.started)).total_seconds()


def _is_whole(pilot: Study, person: PersonRecord, pages: int) -> bool:
    """Whether so many pages with times are all that the person was shown."""
    if person.block is None:
        return pilot.collection.is_sequential and pages > 0
    return pages == len(pages_of(pilot, person.block))
