"""Rehearse a study: people sent to a server with a faster clock, or drawn without a server."""

import asyncio
import contextlib
import itertools
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from casewise.annotation.rehearsal.rehearsal_result import Flagged, count_flagged
from casewise.annotation.rehearsal.simulated_people import (
    Manner,
    Mixture,
    SimulatedPerson,
    Trace,
    VisitLog,
    VisitOutcome,
    machine_rates,
    make_person,
    true_rates,
)
from casewise.annotation.rehearsal.visit import Scene, Visit, Words, split_words
from casewise.annotation.store.database import steady_clock
from casewise.annotation.store.study_store import Store
from casewise.annotation.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE, Secrets
from casewise.annotation.study.page_signals import PageSignals, sum_signals
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
from casewise.contexts import render_text
from casewise.errors import UsageError

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


_STOP_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Served:
    """Where a rehearsal's server is reached, and what its database needs."""

    url: str
    database: str
    keys: Secrets


@contextlib.contextmanager
def served(study: Path, *, speed: float, database: str | None = None) -> Iterator[Served]:
    """Serve a study for a rehearsal, with secrets that are forgotten afterwards.

    Args:
        study: The study's file.
        speed: Time runs so many times as fast.
        database: None is an SQLite file that is deleted afterwards.

    Raises:
        UsageError: The server doesn't start; with what it said.
    """
    keys = Secrets(secrets.token_urlsafe(32), secrets.token_urlsafe(24))
    with tempfile.TemporaryDirectory(prefix="casewise-") as folder:
        address = database or f"sqlite:///{Path(folder) / 'rehearsal.db'}"
        command = [sys.executable, "-m", "casewise", "annotate", "serve", str(study)]
        command += ["--database", address, "--port", "0", "--rate", "none", "--speed", f"{speed:g}"]
        said = Path(folder) / "said"
        with said.open("wb") as errors:
            process = subprocess.Popen(
                command,
                env=os.environ | {SECRET_VARIABLE: keys.secret, ADMIN_VARIABLE: keys.admin},
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
            )
        assert process.stdout is not None
        try:
            first = process.stdout.readline().split()
            if len(first) != 2:
                process.wait(_STOP_SECONDS)
                raise UsageError(said.read_text("utf-8", "replace").strip().removeprefix("error: "))
            yield Served(first[1].rstrip("/"), address, keys)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


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
    traces: Sequence[Trace] = (Trace.NONE,),
    at_once: int,
    most: int,
    progress: Callable[[VisitLog], None],
) -> list[VisitLog]:
    """Have simulated people visit a study until it is complete.

    Args:
        scene: Where, and how fast.
        mixture: Who comes.
        seed: Draws the people and what they do.
        traces: What machines leave behind, in turns.
        at_once: People at the same time.
        most: People in all; a study that nobody completes ends too.
        progress: Called at the end of each visit.

    Returns:
        A log of each visit, in the order of their ends.
    """
    numbers, turns = itertools.count(), itertools.cycle(traces)
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
    seen = list[tuple[Manner, Trace, bool]]()
    told = 0
    for number in range(studies):
        people, collected = draw_study(study, mixture, traces, seed + number)
        screened = screen(study, collected)
        told += groups_of(vote_table(study, collected), screened, study.seed).told is not None
        flags = screened.flagged()
        seen += [(one.manner, one.trace, name_of(one) in flags) for one in people]
    return DrawnStudies(studies, count_flagged(seen), told)


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
    turns = itertools.cycle(traces)
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
    watched = [person.watched() for _ in range(pages)]
    return replace(
        record, **sum_signals([PageSignals(person.follows(), watch) for watch in watched])
    )
