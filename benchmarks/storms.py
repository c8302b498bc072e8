"""A study's server that is killed, and databases that are locked or gone, while people judge."""

import asyncio
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal import Rehearsal, check_integrity, known_pages, read_back, send_people
from rehearsal_visits import Mishaps, Scene, VisitLog, VisitOutcome
from support.postgres import Postgres
from support.serving import free_port
from support.starts import Start

from casewise_study.simulation.simulated_people import Mixture, true_rates
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE, Secrets
from casewise_study.study.study_file import load_study

KEYS = Secrets("the secret of a rehearsal", "the token of its administrator")
ENV = {SECRET_VARIABLE: KEYS.secret, ADMIN_VARIABLE: KEYS.admin}
PEOPLE = Mixture(honest=0.8, careless=0.1, adversarial=0.02, biased=0.08)


def done(*arguments: str | Path) -> str:
    """What ``casewise annotate`` says at its end, which must be a good one."""
    process = Start(["annotate", *arguments], Path.cwd(), os.environ | ENV)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out + err


class StudyServer:
    """``casewise annotate serve`` in a process of its own, on one port however often it starts."""

    def __init__(self, study: Path, database: str, speed: float) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.study, self.database = study, database
        here = str(Path(__file__).parent)
        self._first = f"import sys; sys.path.insert(0, {here!r}); "
        self._first += f"from rehearsal import hasten; hasten({speed!r})"
        self._process: Start | None = None

    def start(self) -> None:
        port = ("--port", str(self.port), "--rate", "none")
        call = ["annotate", "serve", self.study, "--database", self.database, *port]
        self._process = Start(call, Path.cwd(), os.environ | ENV, first=self._first)
        assert self._process.line().startswith("study"), "the server does not start"

    def kill(self, with_signal: int = signal.SIGKILL) -> None:
        assert self._process is not None
        self._process.send_signal(with_signal)
        self._process.wait(30)


@dataclass
class Storms:
    """What goes wrong, and when: shares of the blocks that are done, and what happens then."""

    plan: list[tuple[float, Callable[[], None]]]
    blocks: int
    done: int = 0
    raging: bool = False
    calm_since: float = 0.0
    threads: list[threading.Thread] = field(default_factory=list)

    def progress(self, log: VisitLog) -> None:
        self.done += log.outcome is VisitOutcome.COMPLETED
        if self.plan and not self.raging and self.done >= self.plan[0][0] * self.blocks:
            _, happen = self.plan.pop(0)
            self.raging = True
            thread = threading.Thread(target=self._rage, args=(happen,))
            self.threads.append(thread)
            thread.start()

    def _rage(self, happen: Callable[[], None]) -> None:
        try:
            happen()
        finally:
            self.calm_since = time.monotonic() + 2
            self.raging = False

    def calm(self) -> bool:
        """Not in a storm, nor in the two seconds after."""
        return not self.raging and time.monotonic() > self.calm_since


def killed(server: StudyServer) -> Callable[[], None]:
    """``kill -9``, and a new start."""

    def happen() -> None:
        server.kill()
        time.sleep(0.5)
        server.start()

    return happen


def locked(path: Path, seconds: float) -> Callable[[], None]:
    """An SQLite file that another program holds."""

    def happen() -> None:
        with sqlite3.connect(path, timeout=30, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            other.execute("ROLLBACK")
        other.close()

    return happen


def gone(cluster: Postgres, seconds: float) -> Callable[[], None]:
    """A PostgreSQL server that crashes and comes back."""

    def happen() -> None:
        cluster.stop()
        time.sleep(seconds)
        cluster.start()

    return happen


def moved(servers: Sequence[StudyServer], folder: Path, new: str | None) -> Callable[[], None]:
    """``kill -9`` of all, a backup, and a new start on what is restored from it.

    Args:
        servers: Of one study.
        folder: For the backup, and the study that is restored.
        new: The address of an empty PostgreSQL; None is SQLite in the folder.
    """

    def happen() -> None:
        for server in servers:
            server.kill()
        study, old = servers[0].study, servers[0].database
        backup, restored = folder / "backup", folder / "restored"
        done("backup", study, "--database", old, "--out", backup)
        done("restore", backup, "--out", restored, *(("--database", new) if new else ()))
        for server in servers:
            server.database = new or f"sqlite:///{restored / study.stem}.db"
            server.start()

    return happen


@contextmanager
def running(server: StudyServer) -> Iterator[StudyServer]:
    server.start()
    try:
        yield server
    finally:
        server.kill(signal.SIGINT)


def rehearse(
    servers: Sequence[StudyServer],
    storms: Sequence[tuple[float, Callable[[], None]]],
    *,
    at_once: int,
    speed: float,
    seed: int,
    mishaps: Mishaps,
    most: int = 4000,
) -> Rehearsal:
    """Simulated people judge through the storms; returns what it shows.

    Args:
        servers: Of one study on one database.
        storms: Shares of the blocks that are done, and what happens then.
        at_once: People at the same time.
        speed: So many times as fast as the study's own time.
        seed: Draws the people and what they do.
        mishaps: Of the people.
        most: People in all.
    """
    study = load_study(servers[0].study)
    rates = true_rates(study, seed)
    weather = Storms(list(storms), len(study.design.blocks))
    scene = Scene(
        tuple(server.url for server in servers),
        study,
        known_pages(study),
        rates,
        mishaps,
        speed,
        calm=weather.calm,
    )
    start = time.monotonic()
    logs = asyncio.run(
        send_people(scene, PEOPLE, seed=seed, at_once=at_once, most=most, progress=weather.progress)
    )
    seconds = time.monotonic() - start
    for thread in weather.threads:
        thread.join()
    assert not weather.plan, "the study was complete before every storm had come"
    with Store(study, servers[0].database, KEYS) as store:
        collected, raters = read_back(store, logs)
    return Rehearsal(
        Counter(log.outcome for log in logs),
        check_integrity(study, logs, collected, raters),
        rates,
        collected,
        tuple(wait for log in logs for wait in log.waits),
        sum(log.retries for log in logs),
        seconds,
    )
