"""Rehearse studies on SQLite and on PostgreSQL, through storms: ``make rehearse``.

    python benchmarks/rehearse.py              # 100 queries x 3 arms x 21 votes, 50 people at once
    python benchmarks/rehearse.py --only sqlite --speed 4
    python benchmarks/rehearse.py --only small-sqlite small-postgresql     # a minute or two

Simulated people judge on two servers of one database. Amid them the servers are killed
(``kill -9``), the database is locked (SQLite) or gone (PostgreSQL) for a while, and all moves to
what is restored from a backup; in the small studies a recruitment platform's exports confirm
people meanwhile. Ends with 1 if a vote is lost, doubled or invented, anybody met two contexts of a
query, a case has too many votes, or too few that were not decided before.
"""

import argparse
import asyncio
import itertools
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "study/tests")]

from support.exchanged import ON_PROLIFIC, write_prolific  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.serving import free_port  # noqa: E402
from support.starts import Start  # noqa: E402
from support.studies import KEYS, some_cases, write_cases  # noqa: E402
from visits import Outcome, Scene, Visit, VisitLog, known_pages  # noqa: E402

from casewise.cases import load_cases  # noqa: E402
from casewise_study.simulation.simulated_people import Mixture, make_person, true_rates  # noqa: E402
from casewise_study.store.study_store import Store  # noqa: E402
from casewise_study.study.accounts import Secrets  # noqa: E402
from casewise_study.study.planning import plan_study  # noqa: E402
from casewise_study.study.schema import Platform, Recruitment, Timing  # noqa: E402
from casewise_study.study.study_file import load_study, study_cases, write_study  # noqa: E402
from casewise_study.study.study_rules import Collection, StoppingRule  # noqa: E402
from casewise_study.votes.collected import VoteRecord, vote_table  # noqa: E402
from casewise_study.votes.results import decided_cases  # noqa: E402

PEOPLE = Mixture(honest=0.8, careless=0.1, adversarial=0.02, biased=0.08)
SEED = 4
LEASE_MINUTES = 1
"""Who leaves is replaced after a minute, not after half an hour."""
OUTAGE_S = 4

HASTE = """
from datetime import UTC, datetime
from casewise_study.store import study_store
began, steady = datetime(2026, 1, 1, tzinfo=UTC), study_store.steady_clock()
study_store.steady_clock = lambda: lambda: began + (steady() - began) * {speed}
"""
"""Lets a server's time run faster; a server that is started again tells the same time."""

Happen = Callable[[], None]


@dataclass(frozen=True)
class Plan:
    """A study and its people."""

    rule: StoppingRule = StoppingRule.FIXED
    platform: Platform = Platform.NONE
    queries: int = 100
    votes: int = 21
    tasks: int = 30
    at_once: int = 50
    most: int = 4000
    """People in all."""
    hurry: float = 1
    """So many times as fast as the others."""


SMALL: dict[str, Any] = {"queries": 8, "votes": 8, "tasks": 8, "at_once": 8, "hurry": 20}
PLANS = {
    "sqlite": Plan(),
    "postgresql": Plan(),
    "sequential-sqlite": Plan(StoppingRule.SEQUENTIAL, hurry=1.5),
    "small-sqlite": Plan(StoppingRule.SEQUENTIAL, Platform.PROLIFIC, most=40, **SMALL),
    "small-postgresql": Plan(StoppingRule.FIXED, Platform.PROLIFIC, most=60, **SMALL),
}
"""By name, whose last word is the database."""


def make_study(plan: Plan, folder: Path) -> Path:
    """Plan the study over invented cases, their contexts as long as published ones."""
    cases = some_cases(plan.queries)
    for case in cases:
        case["context"]["recipient"]["background"] += " at length" * 100
    file, path = write_cases(folder, cases), folder / "study.yaml"
    study = plan_study(
        load_cases(file),
        file,
        path,
        title="A rehearsal",
        votes=plan.votes,
        collection=Collection(rule=plan.rule),
        tasks=plan.tasks,
        attention=4,
        by="casewise",
        contact="us@example.org",
        ethics="none",
    )
    timing = Timing(least_seconds=0.5, lease_minutes=LEASE_MINUTES)
    codes = ON_PROLIFIC if plan.platform is Platform.PROLIFIC else {"completed": "DONE"}
    changed = {"timing": timing, "recruitment": Recruitment.model_validate(codes)}
    write_study(study.model_copy(update=changed), path)
    return path


def annotate(*arguments: str | Path) -> str:
    """What ``casewise annotate`` says at its end, which must be a good one."""
    process = Start(["annotate", *arguments], Path.cwd(), os.environ | KEYS)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out + err


class Servers:
    """Two ``casewise annotate serve`` of a study, on the same ports however often they start."""

    def __init__(self, study: Path, database: str, speed: float) -> None:
        self.ports = free_port(), free_port()
        self.study, self.database = study, database
        self._first = HASTE.format(speed=speed)
        self._running: list[Start] = []

    def start(self) -> None:
        for port in self.ports:
            options = ("--database", self.database, "--port", str(port), "--rate", "none")
            call = ["annotate", "serve", self.study, *options]
            started = Start(call, Path.cwd(), os.environ | KEYS, first=self._first)
            assert started.line().startswith("study"), "the server does not start"
            self._running.append(started)

    def stop(self, way: int = signal.SIGINT) -> None:
        for server in self._running:
            server.send_signal(way)
            server.wait(30)
        self._running.clear()

    def store(self) -> Store:
        keys = Secrets(*KEYS.values())
        return Store(load_study(self.study), self.database, keys)

    # Storms.

    def killed(self) -> None:
        """``kill -9`` of both, and a new start."""
        self.stop(signal.SIGKILL)
        time.sleep(0.5)
        self.start()

    def moved(self, new: str | None) -> None:
        """``kill -9`` of both, a backup, and a new start on what is restored from it.

        Args:
            new: The address of an empty PostgreSQL; None is SQLite.
        """
        self.stop(signal.SIGKILL)
        backup, restored = (self.study.parent / name for name in ("backup", "restored"))
        annotate("backup", self.study, "--database", self.database, "--out", backup)
        annotate("restore", backup, "--out", restored, *(("--database", new) if new else ()))
        self.database = new or f"sqlite:///{restored / self.study.stem}.db"
        self.start()

    def confirmed(self, logs: Sequence[VisitLog], every: int = 1) -> None:
        """``annotate reconcile`` of an export with each so many of those who have finished."""
        export = self.study.with_name("export.csv")
        write_prolific(
            export,
            *(
                (account, "APPROVED", ON_PROLIFIC["completed"])
                for account in accounts(logs)[::every]
            ),
        )
        message = annotate("reconcile", self.study, export, "--database", self.database)
        assert "people confirmed" in message, message


def locked(path: Path) -> None:
    """Hold an SQLite file as another program does."""
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(OUTAGE_S)
        other.execute("ROLLBACK")


def gone(cluster: Postgres) -> None:
    """Crash a PostgreSQL server, and start it again."""
    with cluster.stopped():
        time.sleep(OUTAGE_S)


async def send_people(
    plan: Plan, scene: Scene, storms: Sequence[Happen], logs: list[VisitLog]
) -> None:
    """Have simulated people visit a study until it is complete, through storms.

    Args:
        plan: How many come.
        scene: Where, and how fast.
        storms: They come one after another, as the blocks are done.
        logs: Takes the log of each visit at its end.
    """
    numbers, ended = itertools.count(), asyncio.Event()
    # Fewer blocks are to be done if votes stop.
    blocks = len(scene.study.design.blocks) * (1 if plan.rule is StoppingRule.FIXED else 0.5)

    async def come_one_after_another() -> None:
        while not ended.is_set() and (number := next(numbers)) < plan.most:
            logs.append(await Visit(scene, make_person(number, PEOPLE, SEED)).run())
            if logs[-1].outcome is Outcome.FULL:
                ended.set()

    async def rage() -> None:
        for number, storm in enumerate(storms, 1):
            while len(accounts(logs)) < number / (len(storms) + 1) * blocks:
                assert not ended.is_set(), "the study was complete before every storm had come"
                await asyncio.sleep(0.05)
            await asyncio.to_thread(storm)

    async with asyncio.TaskGroup() as group:
        group.create_task(rage())
        await asyncio.gather(*(come_one_after_another() for _ in range(plan.at_once)))
        ended.set()


def accounts(logs: Sequence[VisitLog]) -> list[str]:
    """Accounts of those who have finished."""
    return [log.account for log in logs if log.outcome is Outcome.COMPLETED]


def check(plan: Plan, store: Store, logs: Sequence[VisitLog]) -> Counter[str]:
    """Counts of what must not happen: what was collected beside what people saw and answered."""
    study, collected, found = store.study, store.collected(), Counter[str]()
    cases = study_cases(study)
    votes: dict[str, list[VoteRecord]] = {}
    for vote in collected.votes:
        votes.setdefault(vote.rater, []).append(vote)
    known = set()
    for log in logs:
        queries = Counter(cases[place].query_id for place in log.shown)
        found["met two contexts of a query"] += len(queries) < queries.total()
        key = store.keys.platform_key(plan.platform, log.account)
        person = store.person(platform_key=key)
        own = votes.get(person.rater, []) if person else []
        known |= {one.rater for one in own}
        given = {study.design.cells[place].case_id: one for place, one in log.given.items()}
        kept = {vote.case_id: vote.verdict for vote in own}
        if log.outcome is Outcome.COMPLETED:
            found["votes lost"] += sum(kept.get(case) != one for case, one in given.items())
        found["votes doubled"] += len(own) - len({vote.query_id for vote in own})
        found["votes invented"] += sum(
            given.get(vote.case_id) != vote.verdict for vote in own if vote.counted
        )
        found["visits failed"] += log.outcome is Outcome.FAILED
        found["odd answers"] += len(log.oddities)
    counted = Counter(vote.case_id for vote in collected.votes if vote.counted)
    found["votes invented"] += sum(
        vote.counted and vote.rater not in known for vote in collected.votes
    )
    decided = decided_cases(study, vote_table(study, collected))
    for cell in study.design.cells:
        lack = study.votes - counted[cell.case_id]
        found["cases with too many votes"] += lack < 0
        # Of those whom a platform's export has not confirmed yet, votes don't count.
        is_whole = plan.rule is StoppingRule.FIXED or plan.platform is Platform.NONE
        found["cases with too few votes"] += is_whole and lack > 0 and cell.case_id not in decided
    found["storms not felt"] += not any(log.retries for log in logs)
    found["nobody left or withdrew"] += not {Outcome.LEFT, Outcome.WITHDRAWN} & {
        log.outcome for log in logs
    }
    return found


def rehearse(name: str, speed: float) -> bool:
    """Rehearse one plan, and print what came of it.

    Returns:
        Whether it is sound.
    """
    plan, logs = PLANS[name], list[VisitLog]()
    speed *= plan.hurry
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path, new = make_study(plan, folder), None
        if name.endswith("sqlite"):
            database, away = (
                f"sqlite:///{folder / 'votes.db'}",
                partial(locked, folder / "votes.db"),
            )
        else:
            cluster = stack.enter_context(Postgres())
            database, new, away = cluster.database(), cluster.database(), partial(gone, cluster)
        servers = Servers(path, database, speed)
        storms = [servers.killed, away, partial(servers.moved, new), servers.killed]
        if plan.platform is Platform.PROLIFIC:
            half = partial(servers.confirmed, logs, 2)
            storms = [half, away, partial(servers.moved, new), half]
        servers.start()
        stack.callback(servers.stop)
        study, start = load_study(path), time.monotonic()
        urls = tuple(f"http://127.0.0.1:{port}" for port in servers.ports)
        scene = Scene(urls, study, known_pages(study), true_rates(study, SEED), speed)
        asyncio.run(send_people(plan, scene, storms, logs))
        seconds = time.monotonic() - start
        if plan.platform is Platform.PROLIFIC:
            servers.confirmed(logs)
        with servers.store() as store:
            found, given = check(plan, store, logs), len(store.collected().votes)
    bad = {what: number for what, number in found.items() if number}
    ends = ", ".join(f"{n} {end}" for end, n in Counter(log.outcome for log in logs).most_common())
    print(f"{name}: {given:,} votes in {seconds:.0f} s; {ends}; {bad or 'every promise was kept'}")
    print(*(oddity for log in logs for oddity in log.oddities), sep="\n", flush=True)
    return not bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PLANS, default=list(PLANS)[:3])
    parser.add_argument("--speed", type=float, default=1, help="time runs so much faster")
    given = parser.parse_args()
    unsound = [name for name in given.only if not rehearse(name, given.speed)]
    return 1 if unsound else 0


if __name__ == "__main__":
    sys.exit(main())
