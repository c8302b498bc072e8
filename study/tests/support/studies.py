"""A small study of invented cases, and a clock that tests turn."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from support.pairs import a_pair
from support.planned import WAIVED, pairs

from casewise.cases import Case, dataset_hash, write_cases
from casewise_study.store.standing import Person, Visitor
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import Secrets
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import by_arm, load_study

KEYS = Secrets("a secret of the tests", "an admin of the tests")


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, *, seconds: float = 0, minutes: float = 0) -> None:
        self.now += timedelta(seconds=seconds, minutes=minutes)


def fields(
    cases: Sequence[Case],
    cells: Sequence[tuple[Arm, str]],
    blocks: Sequence[Sequence[int]],
    **more: Any,
) -> dict[str, Any]:
    """The fields of a small study; ``more`` replaces some."""
    made: dict[str, Any] = {
        "id": "small",
        "title": "A small study",
        "cases": "cases.jsonl",
        "cases_hash": dataset_hash(cases),
        "arms": [arm for arm in Arm if any(arm is one for one, _ in cells)],
        "votes": len(blocks),
        "ask": {"confidence": True, "reason": True},
        "timing": {"least_seconds": 2, "lease_minutes": 30},
        "consent": {
            "text": "We ask how people judge.",
            "warning": "Some queries may distress.",
            "contact": "lab@example.org",
        },
        "safeguards": {"waived": WAIVED},
        "instructions": "Read the query and its context, then judge.",
        "tutorial": [
            {"query": "How do I whet a knife?", "verdict": "safe", "why": "Cooks need to."}
        ],
        "comprehension": {
            "attempts": 2,
            "questions": [
                {"text": "What is judged?", "options": ["people", "answers"], "answer": 1}
                | {"hint": "It is not people."}
            ],
        },
        "attention": {
            "per_person": 1,
            "checks": [
                {"id": "look", "query": "Please answer unsafe here.", "expected": "unsafe"}
                | {"context": {"recipient": {"type": "a reader"}}}
            ],
        },
        "design": {
            "cells": [f"{arm} {case_id}" for arm, case_id in cells],
            "blocks": [" ".join(map(str, block)) for block in blocks],
        },
    }
    return made | more


def on_disk(folder: Path, cases: Sequence[Case], made: dict[str, Any]) -> Study:
    """The study of these fields as its file gives it back, with its cases beside it."""
    write_cases(cases, folder / "cases.jsonl")
    path = folder / "study.yaml"
    text = yaml.safe_dump(Study.model_validate(made).model_dump(mode="json"), sort_keys=False)
    path.write_text(text, "utf-8")
    return load_study(path)


def write_study(
    folder: Path,
    queries: tuple[str, ...] = ("first", "second", "third"),
    blocks: int = 2,
    **more: Any,
) -> Path:
    """A study file in which each block holds the safe case of every query."""
    cases = [case for query in queries for case in a_pair(query)]
    cells = [cell for cell in by_arm(cases) if cell[0] is Arm.SAFE]
    on_disk(folder, cases, fields(cases, cells, [range(len(cells))] * blocks, **more))
    return folder / "study.yaml"


def latin_blocks(queries: int, votes: int, cells: int = 3) -> list[list[int]]:
    """Every query in each block, its arms in turn: ``cells * votes`` blocks."""
    return [
        [cells * query + (query + turn) % cells for query in range(queries)]
        for turn in range(cells * votes)
    ]


def write_three_arms(
    folder: Path,
    *,
    queries: int = 4,
    votes: int = 2,
    blocks: Sequence[Sequence[int]] = (),
    **more: Any,
) -> Study:
    """A study whose cells are none, safe, unsafe of the first query, and so on."""
    cases = pairs(queries, 2)
    usual = {"ask": {}, "timing": {}, "votes": votes}
    laid = blocks or latin_blocks(queries, votes)
    return on_disk(folder, cases, fields(cases, list(by_arm(cases)), laid, **(usual | more)))


def enter(store: Store, key: str, *, platform_key: str | None = None) -> Person:
    """A person comes, agrees, and passes the check."""
    store.enter(Visitor(key, platform_key))
    person = store.answer_comprehension(key, 1, passed=True)
    assert person is not None
    return person


def finish(store: Store, clock: Clock, key: str) -> None:
    """A person answers every page."""
    while (person := store.person(key)) and person.status == "active":
        clock.turn(seconds=3)
        store.answer(key, person.position or 0, "safe")
