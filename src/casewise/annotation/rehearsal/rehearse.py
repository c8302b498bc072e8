"""Rehearse a study: start a server with a faster clock, and send simulated people."""

import asyncio
import contextlib
import itertools
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from casewise.annotation.rehearsal.simulated_people import (
    Manner,
    Mixture,
    Trace,
    VisitLog,
    VisitOutcome,
    make_person,
)
from casewise.annotation.rehearsal.visit import Scene, Visit
from casewise.annotation.store.database import steady_clock
from casewise.annotation.store.study_store import Store
from casewise.annotation.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise.annotation.votes.collected import Collected
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
    secret: str
    admin: str
    process: int
    """Its id, for those who want to kill it."""


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
    secret, admin = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
    keys = {SECRET_VARIABLE: secret, ADMIN_VARIABLE: admin}
    with tempfile.TemporaryDirectory(prefix="casewise-") as folder:
        address = database or f"sqlite:///{Path(folder) / 'rehearsal.db'}"
        command = [sys.executable, "-m", "casewise", "annotate", "serve", str(study)]
        command += ["--database", address, "--port", "0", "--rate", "none", "--speed", f"{speed:g}"]
        said = Path(folder) / "said"
        with said.open("wb") as errors:
            process = subprocess.Popen(
                command,
                env=os.environ | keys,
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
            yield Served(first[1].rstrip("/"), address, secret, admin, process.pid)
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
