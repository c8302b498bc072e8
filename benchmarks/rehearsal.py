"""Rehearsals of a study by simulated people over HTTP: whether its rules hold."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan

import numpy as np
from rehearsal_visits import Scene, Visit, VisitLog, VisitOutcome, Words, split_words

from casewise.contexts import render_text
from casewise_study.simulation.simulated_people import (
    Mixture,
    Trace,
    make_person,
)
from casewise_study.store import study_store
from casewise_study.store.database import steady_clock
from casewise_study.store.study_store import Store
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import Collected, VoteRecord, vote_table
from casewise_study.votes.results import decided_cases


@dataclass(frozen=True, slots=True)
class Integrity:
    """Counts of what must not happen (all 0 in a sound study), and how full the cells are."""

    two_arms: int
    """People who were shown two cells of one query."""
    lost: int
    """Answers that the server took from somebody who finished, and that are not among the votes;
    without a platform, not among those that count."""
    doubled: int
    """Votes of one person on one query beyond the first."""
    foreign: int
    """Votes that count, and that nobody gave."""
    oddities: tuple[str, ...]
    cells: int
    full: int
    """Cells with exactly the planned number of votes that count; under sequential collection also
    those that were decided with fewer."""

    @property
    def sound(self) -> bool:
        """Whether every rule held, and every cell is full."""
        broken = self.two_arms + self.lost + self.doubled + self.foreign + len(self.oddities)
        return not broken and self.full == self.cells


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Everything that a rehearsal shows."""

    outcomes: Mapping[VisitOutcome, int]
    integrity: Integrity
    rates: tuple[float, ...]
    """For each cell, the share of people of mean leniency who say safe."""
    collected: Collected
    waits: tuple[float, ...]
    """Seconds of every request, as people waited for it."""
    retries: int
    seconds: float
    """How long the rehearsal took."""

    def wait(self, percent: float) -> float:
        """A percentile of the waits, in seconds; NaN without any."""
        return float(np.percentile(self.waits, percent)) if self.waits else nan


def check_integrity(
    study: Study,
    logs: Sequence[VisitLog],
    collected: Collected,
    raters: Mapping[str, str],
) -> Integrity:
    """Compare what was collected with what people saw and answered.

    Args:
        study: The study.
        logs: Of every visit.
        collected: What the study's database holds.
        raters: The pseudonym of each platform id.
    """
    cases = study_cases(study)
    by_rater: dict[str, list[VoteRecord]] = {}
    for vote in collected.votes:
        by_rater.setdefault(vote.rater, []).append(vote)
    lost = foreign = two_arms = 0
    known = set()
    for log in logs:
        queries = [cases[place].query_id for place in log.shown]
        two_arms += len(queries) != len(set(queries))
        rater = raters.get(log.platform_id)
        known.add(rater)
        own = by_rater.get(rater or "", ())
        stored = {vote.case_id: vote.verdict for vote in own if vote.counted}
        # On a platform votes count once its export has the person, and are kept until then.
        here = study.recruitment.platform is Platform.NONE
        kept = stored if here else {vote.case_id: vote.verdict for vote in own}
        given = {
            study.design.cells[place].case_id: verdict
            for place, verdict in log.given
            if place is not None
        }
        if log.outcome is VisitOutcome.COMPLETED:
            lost += sum(kept.get(case) != verdict for case, verdict in given.items())
        foreign += sum(given.get(case) != verdict for case, verdict in stored.items())
    foreign += sum(vote.counted and vote.rater not in known for vote in collected.votes)
    doubled = sum(
        count - 1
        for count in Counter((vote.rater, vote.query_id) for vote in collected.votes).values()
    )
    counts = Counter(vote.case_id for vote in collected.votes if vote.counted)
    decided = decided_cases(study, vote_table(study, collected))
    missing = {cell.case_id: study.votes - counts[cell.case_id] for cell in study.design.cells}
    return Integrity(
        two_arms,
        lost,
        doubled,
        foreign,
        tuple(oddity for log in logs for oddity in log.oddities),
        len(study.design.cells),
        sum(not lack or (lack > 0 and case_id in decided) for case_id, lack in missing.items()),
    )


_ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
"""Fixed, so that a server that is started again tells the same time."""


def hasten(speed: float) -> None:
    """Let studies that this process serves run ``speed`` times as fast.

    People who think for 10 seconds do so in ``10 / speed``; leases, least times and recorded times
    are in the study's own time.
    """
    steady = steady_clock()
    vars(study_store)["steady_clock"] = lambda: lambda: _ANCHOR + (steady() - _ANCHOR) * speed


def read_back(store: Store, logs: Iterable[VisitLog]) -> tuple[Collected, dict[str, str]]:
    """Read what was collected, and the pseudonym of each known visitor's account."""
    platform = store.study.recruitment.platform
    raters = {}
    for log in logs:
        key = store.keys.platform_key(platform, log.platform_id)
        person = store.person(platform_key=key)
        if person is not None:
            raters[log.platform_id] = person.rater
    return store.collected(), raters


def known_pages(study: Study) -> dict[Words, int | str]:
    """Map the words of each page to its cell's place, or to its attention check's id.

    A person knows nothing of ids and arms, so a page is known by its words alone: what the
    database says was shown is held against what was shown.
    """
    pages: dict[Words, int | str] = {}
    for check in study.attention.checks:
        context = render_text(check.context) if check.context else ""
        pages[split_words(check.query), split_words(context)] = check.id
    for place, case in enumerate(study_cases(study)):
        context = render_text(case.context) if case.context and case.context.root else ""
        pages[split_words(case.query), split_words(context)] = place
    return pages


async def send_people(
    scene: Scene,
    mixture: Mixture,
    *,
    seed: int,
    at_once: int,
    most: int,
    progress: Callable[[VisitLog], None],
) -> list[VisitLog]:
    """Have simulated people visit a study until it is complete.

    Args:
        scene: Where, and how fast.
        mixture: Who comes.
        seed: Draws the people and what they do.
        at_once: People at the same time.
        most: People in all; a study that nobody completes ends too.
        progress: Called at the end of each visit.

    Returns:
        A log of each visit, in the order of their ends.
    """
    numbers, turns = itertools.count(), itertools.repeat(Trace.NONE)
    logs: list[VisitLog] = []
    complete = False

    async def come_one_after_another() -> None:
        nonlocal complete
        while not complete and (number := next(numbers)) < most:
            person = make_person(number, mixture, seed, turns)
            log = await Visit(scene, person).run()
            complete = complete or log.outcome is VisitOutcome.FULL
            logs.append(log)
            progress(log)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(come_one_after_another())
    return logs
