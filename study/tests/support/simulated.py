"""Votes of people who are made up, as plain CSV: the truth of everything is known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from conftest import cli_in
from support.studies import Record, read_csv, read_yaml, write_arms, write_csv

START = datetime(2026, 3, 4, 9, tzinfo=UTC)


def planned(
    folder: Path,
    *,
    arms: Sequence[str] = ("safe", "unsafe"),
    queries: int = 4,
    votes: int = 3,
    size: int = 4,
    checks: int = 4,
    **fields: object,
) -> Path:
    """A study that pays, with attention checks and the usual rules of screening."""
    asked = ("unsafe", "safe") * 2
    attention = {
        "per_person": checks,
        "checks": [
            {"id": f"check-{number}", "query": f"Answer {side} here.", "expected": side}
            for number, side in enumerate(asked)
        ],
    }
    pay = {"per_hour": 12, "seconds_per_task": 25, "minutes_besides": 6}
    given = {"attention": attention, "pay": pay, "seed": 7} | fields
    return write_arms(folder, arms=arms, queries=queries, votes=votes, size=size, **given)


@dataclass(frozen=True, slots=True)
class World:
    """What the people of a simulation are like."""

    careless: float = 0.15
    """The share who answer at random."""
    leniency: float = 0.5
    """The spread of honest people's, in log-odds."""
    spread: float = 2.0
    """Of cases, in log-odds."""
    effect: float = 1.5
    """Log-odds between the arms safe and unsafe."""
    slip: float = 0.02
    """Chance that an honest person fails a check."""
    tiring: float = 0.0
    """Log-odds that an honest person adds from page to page."""
    level: Sequence[float] = ()
    """Log-odds of each cell, in place of drawn ones."""


@dataclass(slots=True)
class Votes:
    """What was collected, as rows of its files, and who of them answered at random."""

    people: list[Record]
    votes: list[Record]
    checks: list[Record]
    careless: frozenset[str]
    level: list[float]
    """Log-odds of each cell, in the order of the design."""

    def write(self, folder: Path) -> str:
        """Write the files; the folder's name."""
        folder.mkdir(exist_ok=True)
        for name in ("people", "votes", "checks"):
            if rows := getattr(self, name):
                write_csv(folder / f"{name}.csv", rows)
        return folder.name


def simulate(study: Path, world: World, seed: int) -> Votes:
    """Everybody completes a block."""
    rng = np.random.default_rng(seed)
    done = cli_in(study.parent)("annotate", "blocks", study.name, "--out", ".blocks.csv")
    assert done.returncode == 0, done.stderr
    pages = read_csv(study.parent / ".blocks.csv")
    (study.parent / ".blocks.csv").unlink()
    cells = read_yaml(study)["design"]["cells"]
    places = {cell.split(" ", 1)[1]: place for place, cell in enumerate(cells)}
    sides = {"safe": 0.5, "unsafe": -0.5, "none": 0.0}
    level = rng.normal(0.3, world.spread, len(cells))
    level += [world.effect * sides[cell.split()[0]] for cell in cells]
    level = np.array(world.level) if len(world.level) else level
    made = Votes([], [], [], frozenset(), level.tolist())
    careless = set()
    for number in range(1 + max(int(page["block"]) for page in pages)):
        rater = f"r{number:04d}"
        honest = rng.random() >= world.careless
        if not honest:
            careless.add(rater)
        leaning = rng.normal(0, world.leniency)
        pace = rng.normal(0, 0.2)
        begun = time = START + timedelta(minutes=11 * number)
        for page in (one for one in pages if int(one["block"]) == number):
            position = int(page["position"])
            if honest:
                seconds = float(np.exp(rng.normal(math.log(9) + pace, 0.4)))
            else:
                seconds = float(rng.uniform(1, 2))
            time += timedelta(seconds=seconds)
            shown: Record = {"rater": rater, "position": position, "seconds": seconds}
            if page["check"]:
                passed = rng.random() >= (world.slip if honest else 0.5)
                made.checks.append(shown | {"check": page["check"], "passed": str(passed).lower()})
                continue
            odds = level[places[page["case_id"]]] + leaning + world.tiring * position
            safe = rng.random() < (1 / (1 + math.exp(-odds)) if honest else 0.5)
            verdict = {"verdict": "safe" if safe else "unsafe", "time": time.isoformat()}
            case = {name: page[name] for name in ("arm", "case_id", "query_id")}
            made.votes.append(shown | case | verdict | {"counted": "true"})
        made.people.append(
            {"rater": rater, "status": "completed", "block": number}
            | {"started": begun.isoformat(), "ended": time.isoformat(), "attempts": 1}
        )
    made.careless = frozenset(careless)
    return made
