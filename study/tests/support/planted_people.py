"""People planted among honest ones, drawn by nothing that screening or simulation know of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.planned import a_plan, on_disk

from casewise.cases import load_cases
from casewise_study.study.reading_times import pages_of, reading
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import load_study, study_cases, write_study
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)

FloatArray = NDArray[np.float64]
START = datetime(2026, 3, 4, 9, tzinfo=UTC)
KINDS = ("clicker", "fast", "always", "pattern", "copies", "two")
UNREAD = KINDS[:4]
"""Kinds who don't read."""
PATTERNS = ("su", "ssuu", "sssuuu", "ssu", "suu")


@dataclass(frozen=True, slots=True)
class Town:
    """Honest people."""

    leniency: float = 0.5
    """Spread in log-odds."""
    slip: float = 0.03
    """Share of cases answered at random, and of checks missed."""
    minds: float = 0.0
    """Share of people of another mind, who shift each case by log-odds of their own."""
    apart: float = 1.5
    """Spread of that shift."""
    pace: float = 0.3
    """Spread of the logarithm of people's pace."""
    jitter: float = 0.5
    """The same of single pages."""
    hurry: float = 0.3
    """Fall of the logarithm of times over the session, on average."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A study's answers, and what its people are: ``honest`` or one of ``KINDS``."""

    collected: Collected
    kinds: dict[str, str] = field(default_factory=dict)


def planted_study(casebench: Path, folder: Path, seed: int) -> tuple[Study, FloatArray]:
    """A study of 63 people with 30 cases and 8 checks each, and the share of safe votes by cell.

    Its 45 queries, in two contexts each, are drawn from CASE-Bench's.
    """
    cases = load_cases(casebench / "CASEBench_data.json").cases
    queries = list(dict.fromkeys(case.query_id for case in cases))
    chosen = set(np.random.default_rng(seed).permutation(queries)[:45].tolist())
    plan = a_plan(votes=21, tasks=30, arms=(Arm.SAFE, Arm.UNSAFE), attention=8)
    folder.mkdir(exist_ok=True)
    some = [case for case in cases if case.query_id in chosen]
    write_study(on_disk(folder, some, plan), folder / "study.yaml")
    study = load_study(folder / "study.yaml")
    assert len(study.design.blocks) == 63
    cells = study_cases(study)
    safe, unsafe = (
        np.array([getattr(case, f"votes_{side}") for case in cells], float)
        for side in ("safe", "unsafe")
    )
    return study, (safe + 0.5) / (safe + unsafe + 1)


def knowing(study: Study, *runs: Path) -> Study:
    """The study with runs that its screening knows."""
    rules = study.screening.model_copy(update={"models": tuple(map(str, runs))})
    return study.model_copy(update={"screening": rules})


def logit(share: FloatArray) -> FloatArray:
    return np.asarray(np.log(share / (1 - share)))


def plant(
    study: Study,
    share: FloatArray,
    seed: int,
    town: Town | None = None,
    each: int = 4,
    kinds: Sequence[str] = KINDS,
    model: FloatArray | None = None,
) -> Planted:
    """Have everybody answer a block: so many people of each kind, the others honest.

    Args:
        study: Whose pages they see.
        share: Of people who say safe, by cell. Strictly in 0..1.
        model: Verdicts by cell, above 0 safe, that copies give but for 3 in 100; drawn if not
            given.
    """
    town, rng = town or Town(), np.random.default_rng(seed)
    people = len(study.design.blocks)
    named = np.array(["honest"] * people, dtype=object)
    where = rng.permutation(people)[: each * len(kinds)]
    named[where] = np.repeat(list(kinds), each)
    level = logit(share)
    other = level + rng.normal(0, town.apart, len(level))
    agrees = np.where(rng.random(len(level)) < 0.8, level, rng.permutation(level))
    drawn = agrees > np.median(level)
    copied = drawn if model is None else model > 0
    read, cases = reading(study), study_cases(study)
    records, votes, checks = [], [], []

    def honest() -> Callable[[int], bool]:
        lean, mind = rng.normal(0, town.leniency), rng.random() < town.minds
        odds = (other if mind else level) + lean

        def says(place: int) -> bool:
            if rng.random() < town.slip:
                return bool(rng.random() < 0.5)
            return bool(rng.random() < 1 / (1 + np.exp(-odds[place])))

        return says

    def paced(words: int, pace: float, spread: float, along: float) -> float:
        usual = 60 * words / 238 + 5.3
        return float(usual * np.exp(pace - town.hurry * along + spread * rng.normal()))

    for number in range(people):
        rater, kind = f"p{number:03d}", named[number]
        pages = pages_of(study, number)
        pace, says = rng.normal(0, town.pace), honest()
        turn = len(pages) + 1
        if kind == "two":
            turn, second = int(rng.integers(8, len(pages) - 8)), honest()
            second_pace = pace + rng.choice([-1, 1]) * rng.uniform(0.7, 1.2)
        patient = rng.uniform(12, 60)
        rate, safely = rng.uniform(0.35, 0.65), rng.random() < 0.5
        pattern = _pattern(rng)
        time = START + timedelta(minutes=7 * number)
        for page in pages:
            words = read.page_words(page) + 12
            along = page.position / len(pages) - 0.5
            random = bool(rng.random() < rate)
            if kind in ("honest", "copies"):
                seconds = paced(words, pace, town.jitter, along)
            elif kind == "two":
                now = pace if page.position < turn else second_pace
                seconds = paced(words, now, town.jitter, 0)
            elif kind == "fast":
                seconds = rng.uniform(3, 4)
            else:
                seconds = patient * np.exp(0.45 * rng.normal())
            seconds = max(float(seconds), read.least_seconds(page))
            time += timedelta(seconds=seconds)
            if kind == "always":
                unread = safely if rng.random() < 0.98 else not safely
            elif kind == "pattern":
                unread = next(pattern)
            else:
                unread = random
            reads = kind in ("honest", "copies", "two")
            if page.place is None:
                check = study.check(page.check)
                passed = rng.random() >= 0.03 if reads else unread == (check.expected == "safe")
                checks.append(CheckRecord(rater, check.id, bool(passed), page.position, seconds))
                continue
            if kind == "copies":
                safe = bool(copied[page.place]) == (rng.random() >= 0.03)
            elif kind == "two" and page.position >= turn:
                safe = second(page.place)
            else:
                safe = says(page.place) if reads else unread
            cell = study.design.cells[page.place]
            votes.append(
                VoteRecord(
                    rater,
                    cell.case_id,
                    cases[page.place].query_id,
                    cell.arm,
                    "safe" if safe else "unsafe",
                    page.position,
                    time=time,
                    seconds=seconds,
                )
            )
        records.append(PersonRecord(rater, PersonStatus.COMPLETED, block=number))
    collected = Collected(tuple(records), tuple(votes), tuple(checks))
    return Planted(collected, {f"p{number:03d}": kind for number, kind in enumerate(named)})


def _pattern(rng: np.random.Generator) -> Iterator[bool]:
    letters, place = PATTERNS[rng.integers(len(PATTERNS))], int(rng.integers(6))
    while True:
        said = letters[place % len(letters)] == "s"
        yield said if rng.random() < 0.97 else not said
        place += 1
