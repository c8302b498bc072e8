"""Studies and the people who answer them, made up: the truth of everything is known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.planned import a_plan, on_disk

from casewise.cases import Case, Context, Side
from casewise_study.study.reading_times import pages_of
from casewise_study.study.schema import Arm, Pay, Study
from casewise_study.study.study_file import load_study, study_cases, write_study
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)

START = datetime(2026, 3, 4, 9, tzinfo=UTC)
FloatArray = NDArray[np.float64]


def some_cases(queries: int) -> list[Case]:
    """Two cases a query, harmless and short."""
    return [
        Case(
            query=f"Which form do I need for matter {number}?",
            context=Context({"sender": {"platform_type": desk}}),
            intended=side,
            category=f"desk {number % 3}",
        )
        for number in range(queries)
        for side, desk in (("safe", "a town hall"), ("unsafe", "a forum"))
    ]


def a_study(
    folder: Path,
    *,
    queries: int = 4,
    arms: Sequence[Arm] = (Arm.SAFE, Arm.UNSAFE),
    votes: int = 3,
    size: int = 4,
    checks: int = 4,
    **changes: object,
) -> Study:
    """A study as it is planned, with its files in a folder, by its rules."""
    path = folder / "study.yaml"
    pay = Pay(per_hour=12, seconds_per_task=25, minutes_besides=6)
    plan = a_plan(votes, size, arms=tuple(arms), attention=checks, seed=7, pay=pay)
    planned = on_disk(folder, some_cases(queries), plan)
    write_study(planned.model_copy(update=changes), path)
    return load_study(path)


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
    panels: Sequence[float] = (0.0,)
    """What each panel adds to the log-odds of its people."""
    tiring: float = 0.0
    """Log-odds that an honest person adds from page to page."""
    level: Sequence[float] = ()
    """Log-odds of each cell, in place of drawn ones."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was collected, and what is true."""

    collected: Collected
    careless: frozenset[str]
    truth: FloatArray
    """The share of honest people who would call the cell safe. Shape ``(cells,)``."""


def simulate(study: Study, world: World, seed: int) -> Simulated:
    """Everybody completes a block."""
    rng = np.random.default_rng(seed)
    cells = study.design.cells
    sides = {Arm.SAFE: 0.5, Arm.UNSAFE: -0.5, Arm.NONE: 0.0}
    level = rng.normal(0.3, world.spread, len(cells))
    level += [world.effect * sides[cell.arm] for cell in cells]
    level = np.array(world.level) if len(world.level) else level
    queries = {case.id: case.query_id for case in study_cases(study)}
    people, votes, checks, careless = [], [], [], set()
    for number in range(len(study.design.blocks)):
        rater = f"r{number:04d}"
        panel = number % len(world.panels)
        honest = rng.random() >= world.careless
        if not honest:
            careless.add(rater)
        leaning = rng.normal(0, world.leniency) + world.panels[panel]
        pace = rng.normal(0, 0.2)
        begun = START + timedelta(minutes=11 * number)
        time = begun
        for page in pages_of(study, number):
            if honest:
                seconds = float(np.exp(rng.normal(math.log(9) + pace, 0.4)))
            else:
                seconds = float(rng.uniform(1, 2))
            time += timedelta(seconds=seconds)
            if page.place is None:
                passed = rng.random() >= (world.slip if honest else 0.5)
                check = page.check or ""
                checks.append(CheckRecord(rater, check, bool(passed), page.position, seconds))
                continue
            odds = level[page.place] + leaning + world.tiring * page.position
            safe = rng.random() < (1 / (1 + math.exp(-odds)) if honest else 0.5)
            cell = cells[page.place]
            side: Side = "safe" if safe else "unsafe"
            votes.append(
                VoteRecord(
                    rater,
                    cell.case_id,
                    queries[cell.case_id],
                    cell.arm,
                    side,
                    page.position,
                    time=time,
                    seconds=seconds,
                )
            )
        people.append(
            PersonRecord(
                rater,
                PersonStatus.COMPLETED,
                panel=f"wave {panel + 1}",
                block=number,
                started=begun,
                ended=time,
                attempts=1,
            )
        )
    leanings = np.random.default_rng(0).normal(0, world.leniency, 4000)
    truth = np.array([(1 / (1 + np.exp(-(one + leanings)))).mean() for one in level])
    return Simulated(
        Collected(tuple(people), tuple(votes), tuple(checks)), frozenset(careless), truth
    )


def among_machines(
    one: Simulated, study: Study, chances: Sequence[float], share: float, seed: int
) -> Simulated:
    """A share of the people answer as one language model does, and are the careless ones now.

    Args:
        chances: That the model calls a cell safe. Shape ``(cells,)``.
    """
    rng = np.random.default_rng((seed, 99))
    machines = frozenset(person.rater for person in one.collected.people if rng.random() < share)

    def asked(vote: VoteRecord) -> VoteRecord:
        safe = rng.random() < chances[study.places[vote.case_id]]
        said: Side = "safe" if safe else "unsafe"
        return replace(vote, verdict=said) if vote.rater in machines else vote

    votes = tuple(map(asked, one.collected.votes))
    return replace(one, collected=replace(one.collected, votes=votes), careless=machines)


def without_times(collected: Collected) -> Collected:
    """As a platform that notes none gives them."""
    votes = tuple(replace(vote, time=None, seconds=None) for vote in collected.votes)
    return replace(collected, votes=votes)
