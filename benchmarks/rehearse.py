"""Rehearse a whole study on SQLite and on PostgreSQL, through storms: ``make rehearse``.

    python benchmarks/rehearse.py              # 100 queries x 3 arms x 21 votes, 50 people at once
    python benchmarks/rehearse.py --database sqlite --speed 4
    python benchmarks/rehearse.py --database postgresql --collection sequential

Simulated people take 1 to 3 seconds a page. Amid them the server is killed (``kill -9``) twice, and
the database is locked (SQLite) or gone (PostgreSQL) for 5 s. Ends with 1 if a vote is lost, doubled
or invented, anybody saw two arms of a query, or a cell lacks votes. On SQLite the study runs once
more, half as fast again, under sequential collection, where every case ends decided or with all its
votes. Prints how long pages took outside the storms beside the bounds (median 50 ms, 99 % within
250 ms), and writes JSON on request.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from casewise.cases import Case, Context, load_cases, write_cases
from casewise_study.simulation.simulated_people import marginal_rate
from casewise_study.study.planning import plan_study
from casewise_study.study.schema import Study, Timing
from casewise_study.study.study_file import load_study, write_study
from casewise_study.study.study_rules import Collection, StoppingRule
from casewise_study.votes.collected import Collected, vote_table
from casewise_study.votes.results import cell_votes

ROOT = Path(__file__).resolve().parents[1]
CASEBENCH = Path(os.environ.get("CASEWISE_CASEBENCH", ROOT.parent / "shared/data/casebench"))
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "study/tests")]

from rehearsal_visits import Mishaps  # noqa: E402
from storms import StudyServer, gone, killed, locked, rehearse, running  # noqa: E402
from support.postgres import Postgres  # noqa: E402

QUERIES, VOTES, TASKS = 100, 21, 30
MEDIAN_MS, P99_MS = 50, 250


def make_cases(queries: int) -> list[Case]:
    """The cases of so many published queries; where these are absent, invented ones."""
    if (CASEBENCH / "CASEBench_data.json").is_file():
        cases = load_cases(CASEBENCH / "CASEBench_data.json").cases
        chosen = list(dict.fromkeys(case.query_id for case in cases))[:: 450 // queries][:queries]
        return [case for case in cases if case.query_id in chosen]
    print(f"CASE-Bench's data is not at {CASEBENCH}: invented cases", file=sys.stderr)
    return [
        Case(
            query=f"How do people store {number} boxes of apples?",
            context=Context({"recipient": {"type": f"{who} who asks " + "at length " * 100}}),
            intended=side,
        )
        for number in range(queries)
        for side, who in (("safe", "a grocer"), ("unsafe", "a stranger"))
    ]


def make_study(folder: Path, collection: Collection) -> Path:
    """Plan the study: so many queries in three arms."""
    write_cases(make_cases(QUERIES), folder / "cases.jsonl")
    path = folder / "study.yaml"
    study = plan_study(
        load_cases(folder / "cases.jsonl"),
        folder / "cases.jsonl",
        path,
        title="A rehearsal",
        votes=VOTES,
        collection=collection,
        tasks=TASKS,
        attention=4,
        by="casewise",
        contact="us@example.org",
        ethics="none",
    )
    # Who leaves is replaced after a minute, not after half an hour.
    timing = Timing(least_seconds=0.5, lease_minutes=1)
    write_study(study.model_copy(update={"timing": timing}), path)
    return path


@contextlib.contextmanager
def database(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """An empty database, and what holds or stops it for 5 s."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'votes.db'}", locked(folder / "votes.db", 5)
        return
    with Postgres() as cluster:
        yield cluster.database(), gone(cluster, 5)


def against_fixed(study: Study, rates: Sequence[float], collected: Collected) -> dict[str, float]:
    """Compare sequential collection with what more people would have said, up to every vote.

    Args:
        study: The study.
        rates: For each cell, the share of people of mean leniency who say safe.
        collected: What was collected; cells without votes are left out.

    Returns:
        Votes saved, labels that change, and error of shares; nothing of fixed collection.
    """
    if not study.collection.is_sequential:
        return {}
    table = vote_table(study, collected)
    cells = [cell for cell in cell_votes(study, table) if cell.votes]
    random = np.random.default_rng((study.seed, 0xF011))
    full = np.zeros((len(cells), study.votes), np.int64)
    counts = np.array([cell.votes for cell in cells], np.int64)
    safe = np.zeros_like(counts)
    for row, cell in enumerate(cells):
        place = study.places[cell.case_id]
        given = table.safe[table.cell == place][: study.votes].astype(np.int64)
        more = random.random(study.votes - len(given)) < marginal_rate(rates[place])
        full[row], safe[row] = np.concatenate([given, more]), given.sum()
    before = np.sign(2 * full.sum(axis=1) - study.votes)
    is_changed = (before != 0) & (before != np.sign(2 * safe - counts))
    return {
        "saved": 1 - float(counts.sum()) / full.size,
        "labels": int((before != 0).sum()),
        "changed": int(is_changed.sum()),
        "undecided": sum(cell.decided_at is None for cell in cells),
        "share_error": float(np.abs(safe / counts - full.mean(axis=1)).mean()),
    }


def run(kind: str, speed: float, at_once: int, rule: StoppingRule) -> dict[str, object]:
    """One rehearsal; returns its figures."""
    # The storms come when so many of the blocks are done, and fewer are to be done if votes stop.
    share = 1.0 if rule is StoppingRule.FIXED else 0.5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = make_study(folder, Collection(rule=rule))
        with (
            database(kind, folder) as (address, trouble),
            running(StudyServer(study, address, speed)) as server,
        ):
            troubles = ((0.3, killed(server)), (0.5, trouble), (0.7, killed(server)))
            storms = [(share * when, what) for when, what in troubles]
            found = rehearse(
                [server],
                storms,
                at_once=at_once,
                speed=speed,
                seed=1,
                mishaps=Mishaps(),
            )
        savings = against_fixed(load_study(study), found.rates, found.collected)
    held = found.integrity
    return {
        "database": kind,
        "collection": rule.value,
        "speed": speed,
        "at_once": at_once,
        "votes": held.full * VOTES,
        **savings,
        "cells": held.cells,
        "full": held.full,
        "two_arms": held.two_arms,
        "lost": held.lost,
        "doubled": held.doubled,
        "invented": held.foreign,
        "oddities": list(held.oddities),
        "sound": held.sound,
        "outcomes": {str(name): count for name, count in sorted(found.outcomes.items())},
        "requests": len(found.waits),
        "sent_again": found.retries,
        "median_ms": round(1000 * found.wait(50), 1),
        "p99_ms": round(1000 * found.wait(99), 1),
        "seconds": round(found.seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--collection", choices=list(StoppingRule), help="this alone")
    parser.add_argument("--speed", type=float, default=1, help="time runs so much faster")
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--json", type=Path, help="write the figures there")
    given = parser.parse_args()
    kinds = ("sqlite", "postgresql") if given.database == "both" else (given.database,)
    rule = StoppingRule(given.collection or StoppingRule.FIXED)
    runs = [(kind, rule, given.speed) for kind in kinds]
    if given.collection is None and given.database != "postgresql":
        runs.append(("sqlite", StoppingRule.SEQUENTIAL, 1.5 * given.speed))
    found = []
    for kind, collection, speed in runs:
        figures = run(kind, speed, given.at_once, collection)
        found.append(figures)
        for name, value in figures.items():
            bound = {"median_ms": MEDIAN_MS, "p99_ms": P99_MS}.get(name)
            print(f"{name:>12}  {value}" + (f"  (bound {bound})" if bound else ""), flush=True)
        print(flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    sys.exit(not all(one["sound"] for one in found))


if __name__ == "__main__":
    main()
