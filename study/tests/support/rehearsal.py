"""Rehearsals of a study by simulated people over HTTP: whether its rules hold."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan

import numpy as np
from support.visit import Scene, Visit, VisitLog, VisitOutcome, Words, split_words

from casewise.contexts import render_text
from casewise_study.simulation.simulated_people import (
    Manner,
    Mixture,
    Trace,
    make_person,
    marginal_rate,
)
from casewise_study.statistics.savings import Savings
from casewise_study.store import study_store
from casewise_study.store.database import steady_clock
from casewise_study.store.study_store import Store
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.cells import Stopped, cell_stops, decided_cases
from casewise_study.votes.collected import Collected, VoteRecord, vote_table


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
    savings: Savings | None
    """Sequential collection beside every vote; None of fixed collection."""
    waits: tuple[float, ...]
    """Seconds of every request, as people waited for it."""
    retries: int
    seconds: float
    """How long the rehearsal took."""

    def wait(self, percent: float) -> float:
        """A percentile of the waits, in seconds; NaN without any."""
        return float(np.percentile(self.waits, percent)) if self.waits else nan


def sum_up(
    study: Study,
    rates: Sequence[float],
    logs: Sequence[VisitLog],
    collected: Collected,
    raters: Mapping[str, str],
    *,
    seconds: float,
) -> Rehearsal:
    """Everything that a rehearsal shows.

    Args:
        study: The study.
        rates: For each cell, the share of people of mean leniency who say safe.
        logs: Of every visit.
        collected: What the study's database holds.
        raters: The pseudonym of each platform id.
        seconds: How long it took.
    """
    return Rehearsal(
        outcomes=Counter(log.outcome for log in logs),
        integrity=check_integrity(study, logs, collected, raters),
        savings=against_fixed(study, rates, collected),
        waits=tuple(wait for log in logs for wait in log.waits),
        retries=sum(log.retries for log in logs),
        seconds=seconds,
    )


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
    sequential = study.collection.is_sequential
    stops = cell_stops(study, vote_table(study, collected)) if sequential else ()
    decided = decided_cases(stops)
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


def against_fixed(study: Study, rates: Sequence[float], collected: Collected) -> Savings | None:
    """Compare sequential collection with what more people would have said, up to every vote.

    Args:
        study: The study.
        rates: For each cell, the share of people of mean leniency who say safe.
        collected: What was collected; cells without votes are left out.

    Returns:
        None of fixed collection.
    """
    if not study.collection.is_sequential:
        return None
    table = vote_table(study, collected)
    stops = [stop for stop in cell_stops(study, table) if stop.votes]
    random = np.random.default_rng((study.seed, 0xF011))
    full = np.zeros((len(stops), study.votes), np.int64)
    counts = np.array([stop.votes for stop in stops], np.int64)
    safe = np.zeros_like(counts)
    for row, stop in enumerate(stops):
        place = study.places[stop.case_id]
        given = table.safe[table.cell == place][: study.votes].astype(np.int64)
        more = random.random(study.votes - len(given)) < marginal_rate(rates[place])
        full[row], safe[row] = np.concatenate([given, more]), given.sum()
    undecided = sum(stop.stopped is not Stopped.POSTERIOR for stop in stops)
    return Savings.of(counts, safe, full, undecided)


_ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
"""Fixed, so that a server that is started again tells the same time."""


def fast_clock(speed: float) -> Callable[[], datetime]:
    """Make a clock that runs ``speed`` times as fast.

    People who think for 10 seconds do so in ``10 / speed``; leases, least times and recorded times
    are in the study's own time.
    """
    steady = steady_clock()

    def now() -> datetime:
        return _ANCHOR + (steady() - _ANCHOR) * speed

    return now


def hasten(speed: float) -> None:
    """Let studies that this process serves run ``speed`` times as fast."""
    clock = fast_clock(speed)
    vars(study_store)["steady_clock"] = lambda: clock


def read_back(store: Store, logs: Iterable[VisitLog]) -> tuple[Collected, dict[str, str]]:
    """Read what was collected, and the pseudonym of each known visitor's account."""
    platform = store.study.recruitment.platform
    raters = {}
    for log in logs:
        key = store.keys.platform_key(platform, log.platform_id)
        person = store.person_of_platform(key)
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


PANELS = 3
"""Waves of recruitment; those of a biased panel come in one of their own."""


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
            biased = person.manner is Manner.BIASED
            panel = "biased" if biased else f"wave-{1 + number % PANELS}"
            log = await Visit(scene, person, panel).run()
            complete = complete or log.outcome is VisitOutcome.FULL
            logs.append(log)
            progress(log)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(come_one_after_another())
    return logs
