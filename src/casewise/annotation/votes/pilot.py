"""The times of a pilot, for the plan of the study that follows it."""

from collections import defaultdict
from statistics import median

from casewise.annotation.study.planning import Measured
from casewise.annotation.study.reading_times import (
    QUESTION,
    USUAL,
    count_words,
    pages_of,
    reading,
)
from casewise.annotation.study.schema import Study
from casewise.annotation.votes.collected import Collected, PersonRecord, PersonStatus
from casewise.annotation.votes.typed_csv import to_utc
from casewise.errors import UsageError


def measured_times(pilot: Study, collected: Collected) -> Measured:
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
    pages = defaultdict[str, list[float]](list)
    timed = [(vote.rater, vote.seconds) for vote in collected.votes]
    timed += [(check.rater, check.seconds) for check in collected.checks]
    for rater, seconds in timed:
        if seconds is not None:
            pages[rater].append(seconds)
    done = [
        person
        for person in collected.people
        if person.status is PersonStatus.COMPLETED
        and person.block is not None
        and person.started
        and person.ended
        and len(pages[person.rater]) == len(pages_of(pilot, person.block))
    ]
    if not done:
        raise UsageError(
            f"--from-pilot: nobody has finished the pilot {pilot.id!r} with known times"
        )
    expected = _expected(pilot)
    unclocked = read.unclocked_minutes(USUAL)
    factors, besides, sessions = [], [], []
    for person in done:
        spent = pages[person.rater]
        judging = sum(min(seconds, pilot.timing.most_seconds) for seconds in spent)
        rest = unclocked + max(0.0, _session(person) - sum(spent)) / 60
        factors.append(judging / expected[person.block or 0])
        besides.append(rest)
        sessions.append(judging / 60 + rest)
    return Measured(
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


def _expected(pilot: Study) -> list[float]:
    """Seconds that the pages of each block take at the usual pace."""
    read = reading(pilot)
    question = count_words(QUESTION)
    blocks = []
    for number in range(len(pilot.design.blocks)):
        shown = pages_of(pilot, number)
        words = sum(
            read.checks[page.check or ""] if page.place is None else read.cells[page.place]
            for page in shown
        )
        blocks.append(read.seconds(USUAL, words + question * len(shown), len(shown)))
    return blocks
