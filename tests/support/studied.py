"""Studies and the people who answer them, made up: the truth of everything is known."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from casewise.annotation.study import (
    Arm,
    Attention,
    AttentionCheck,
    Block,
    Cell,
    Consent,
    Design,
    Screening,
    Study,
    by_arm,
    load_study,
)
from casewise.annotation.votes import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise.cases import Case, Context, Side, load_cases, write_cases

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


def blocks_of(queries: int, arms: int, votes: int, size: int) -> Iterator[Block]:
    """Everybody judges ``size`` queries; arms take turns over people and queries.

    Cells lie as query times arms plus arm.
    """
    for start in range(0, queries, size):
        group = range(start, min(start + size, queries))
        for person in range(votes * arms):
            yield tuple(query * arms + (person + query) % arms for query in group)


def a_study(
    folder: Path,
    *,
    queries: int = 4,
    arms: Sequence[Arm] = (Arm.SAFE, Arm.UNSAFE),
    votes: int = 3,
    size: int = 4,
    checks: int = 4,
    screening: Screening | None = None,
) -> Study:
    """A study with its files in a folder, as it is loaded from there."""
    write_cases(some_cases(queries), folder / "cases.jsonl")
    loaded = load_cases(folder / "cases.jsonl")
    cells = sorted(
        by_arm(loaded.cases).items(),
        key=lambda one: list(arms).index(one[0][0]) if one[0][0] in arms else 99,
    )
    of_query: dict[str, list[Cell]] = {}
    for (arm, case_id), case in cells:
        if arm in arms:
            of_query.setdefault(case.query_id, []).append(Cell(arm, case_id))
    study = Study(
        id="desks",
        title="Which forms may be explained",
        cases="cases.jsonl",
        cases_hash=loaded.hash,
        arms=tuple(arms),
        votes=votes,
        seed=7,
        consent=Consent(text="We ask you.", warning="Nothing here.", contact="ada@example.org"),
        instructions="Say whether it is safe to answer.",
        attention=Attention(
            checks=tuple(
                AttentionCheck(id=f"check-{number}", query="Say safe.", expected="safe")
                for number in range(checks)
            ),
            per_person=checks,
        ),
        screening=screening or Screening(),
        design=Design(
            cells=tuple(cell for group in of_query.values() for cell in group),
            blocks=tuple(blocks_of(queries, len(arms), votes, size)),
        ),
    )
    path = folder / "study.yaml"
    text = yaml.safe_dump(study.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    path.write_text(text, "utf-8")
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
    queries = query_ids(study)
    people, votes, checks, careless = [], [], [], set()
    for number, block in enumerate(study.design.blocks):
        rater = f"r{number:04d}"
        panel = number % len(world.panels)
        honest = rng.random() >= world.careless
        if not honest:
            careless.add(rater)
        leaning = rng.normal(0, world.leniency) + world.panels[panel]
        pace = rng.normal(0, 0.2)
        begun = START + timedelta(minutes=11 * number)
        pages: list[int | None] = [*rng.permutation(block).tolist(), *[None] * checks_of(study)]
        order = rng.permutation(len(pages))
        time = begun
        asked = 0
        for position, place in enumerate(pages[one] for one in order):
            if honest:
                seconds = float(np.exp(rng.normal(math.log(9) + pace, 0.4)))
            else:
                seconds = float(rng.uniform(1, 2))
            time += timedelta(seconds=seconds)
            if place is None:
                passed = rng.random() >= (world.slip if honest else 0.5)
                check = study.attention.checks[asked].id
                checks.append(CheckRecord(rater, check, bool(passed), position, seconds))
                asked += 1
                continue
            odds = level[place] + leaning + world.tiring * position
            safe = rng.random() < (1 / (1 + math.exp(-odds)) if honest else 0.5)
            cell = cells[place]
            side: Side = "safe" if safe else "unsafe"
            votes.append(
                VoteRecord(
                    rater,
                    cell.case_id,
                    queries[cell.case_id],
                    cell.arm,
                    side,
                    position,
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


def checks_of(study: Study) -> int:
    return study.attention.per_person


def query_ids(study: Study) -> dict[str, str]:
    """The query of each case, by its id."""
    assert study.path is not None
    loaded = load_cases(study.path.parent / study.cases)
    return {case_id: case.query_id for (_, case_id), case in by_arm(loaded.cases).items()}


def without_times(collected: Collected) -> Collected:
    """As a platform that notes none gives them."""
    votes = tuple(replace(vote, time=None, seconds=None) for vote in collected.votes)
    return replace(collected, votes=votes)
