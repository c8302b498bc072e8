"""Rehearse a small study on two servers through storms: ``python two_servers.py``.

A recruitment platform's exports confirm people meanwhile, and all of it moves to a backup's copy.
The whole study of 6,300 votes is rehearsed by rehearse.py.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "study/tests")]

from rehearsal_visits import ACCOUNTS, Mishaps, VisitOutcome  # noqa: E402
from storms import (  # noqa: E402
    KEYS,
    StudyServer,
    done,
    gone,
    locked,
    moved,
    rehearse,
    running,
)
from support.exchanged import write_prolific  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.studies import write_arms  # noqa: E402

from casewise_study.store.places import Vacancy  # noqa: E402
from casewise_study.store.study_store import Store  # noqa: E402
from casewise_study.study.schema import Platform  # noqa: E402
from casewise_study.study.study_file import load_study  # noqa: E402

SPEED = 20
Trouble = Callable[[], None]
MISHAPS = Mishaps(leave=0.1, withdraw=0.05, double=0.05, back=0.05, tabs=0.05)


def study_of(folder: Path, rule: str) -> Path:
    codes = {"completed": "C1", "screened_out": "S1", "withdrawn": "W1"}
    # 8 queries by 3 arms by 8 votes, in 24 blocks of 8.
    return write_arms(
        folder,
        queries=8,
        votes=8,
        timing={"least_seconds": 0.5, "lease_minutes": 1},
        collection={"rule": rule},
        recruitment={"platform": "prolific", "return_url": "https://x/{code}", **codes},
    )


def around(kind: str, folder: Path, postgres: Postgres, seconds: float) -> tuple[str, Trouble]:
    """An empty database, and what takes it away for a while."""
    if kind == "sqlite":
        path = folder / "votes.db"
        return f"sqlite:///{path}", locked(path, seconds)
    return postgres.database(), gone(postgres, seconds)


def reconciled(server: StudyServer, to: Path, *, every: int = 1) -> Callable[[], None]:
    """``annotate reconcile`` of an export with each so many of those who have finished so far."""

    def happen() -> None:
        with Store(load_study(server.study), server.database, KEYS) as store:
            ids = [ACCOUNTS[Platform.PROLIFIC].format(number) for number in range(100)]
            came = (
                (id, store.person(platform_key=store.keys.platform_key("prolific", id)))
                for id in ids
            )
            finished = [id for id, one in came if one is not None and one.status == "completed"]
        write_prolific(to, *((id, "APPROVED", "C1") for id in finished[::every]))
        said = done("reconcile", server.study, to, "--database", server.database)
        assert "people confirmed" in said

    return happen


def through_storms(folder: Path, kind: str, rule: str, postgres: Postgres) -> None:
    study = study_of(folder, rule)
    export = folder / "export.csv"
    database, away = around(kind, folder, postgres, 3)
    new = None if kind == "sqlite" else postgres.database()
    servers = [StudyServer(study, database, SPEED) for _ in range(2)]
    with running(servers[0]) as server, running(servers[1]):
        half = reconciled(server, export, every=2)
        storms = [half, away, moved(servers, folder, new), half]
        found = rehearse(
            servers,
            [(0.2 * place, happen) for place, happen in enumerate(storms, 1)],
            at_once=8,
            speed=SPEED,
            seed=4,
            mishaps=MISHAPS,
            most=60 if rule == "fixed" else 40,
        )
        reconciled(server, export)()
    with Store(load_study(study), server.database, KEYS) as store:
        before, places = store.collected(), store.places()
    held = found.integrity
    assert (held.two_arms, held.lost, held.doubled, held.foreign) == (0, 0, 0, 0)
    assert held.oddities == (), held.oddities
    assert found.outcomes[VisitOutcome.FAILED] == 0
    # Some left or withdrew, and were replaced.
    assert found.outcomes[VisitOutcome.LEFT] + found.outcomes[VisitOutcome.WITHDRAWN] > 0
    assert found.retries > 0, "the storms were not felt"
    counted = Counter(vote.case_id for vote in before.votes if vote.counted)
    assert max(counted.values()) <= 8
    if rule == "fixed":
        # More finished than there are places: every answer is kept, and each case has its votes.
        assert found.outcomes[VisitOutcome.COMPLETED] > 24
        finished = {one.rater for one in before.people if one.status == "completed"}
        given = Counter(vote.rater for vote in before.votes)
        assert {given[rater] for rater in finished} == {8}
        assert (places, set(counted.values())) == (Vacancy.COMPLETE, {8})


def main() -> None:
    with Postgres() as postgres:
        for kind, rule in (("sqlite", "sequential"), ("postgresql", "fixed")):
            with tempfile.TemporaryDirectory() as name:
                through_storms(Path(name), kind, rule, postgres)
            print(f"{kind}, {rule}: every promise was kept", flush=True)


if __name__ == "__main__":
    main()
