"""A small study of invented cases, and a clock that tests turn."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from support.pairs import a_pair

from casewise.annotation.store.standing import Person, Visitor
from casewise.annotation.store.study_secrets import Secrets
from casewise.annotation.store.study_store import Store
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_file import by_arm, load_study, study_cases
from casewise.cases import Case, dataset_hash, write_cases

KEYS = Secrets("a secret of the tests", "an admin of the tests")


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, *, seconds: float = 0, minutes: float = 0) -> None:
        self.now += timedelta(seconds=seconds, minutes=minutes)


def fields(cases: list[Case], blocks: int = 2, **more: Any) -> dict[str, Any]:
    """The fields of a study in which each block holds the safe case of every query."""
    cells = [key for key in by_arm(cases) if key[0] == "safe"]
    made: dict[str, Any] = {
        "id": "small",
        "title": "A small study",
        "cases": "cases.jsonl",
        "cases_hash": dataset_hash(cases),
        "arms": ["safe"],
        "votes": blocks,
        "ask": {"confidence": True, "reason": True},
        "timing": {"least_seconds": 2, "lease_minutes": 30},
        "consent": {
            "text": "We ask how people judge.",
            "warning": "Some queries may distress.",
            "contact": "lab@example.org",
        },
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
            "blocks": [" ".join(map(str, range(len(cells))))] * blocks,
        },
    }
    return made | more


def write_study(
    folder: Path, queries: tuple[str, ...] = ("first", "second", "third"), **more: Any
) -> Path:
    """A study file with its cases beside it."""
    cases = [case for query in queries for case in a_pair(query)]
    write_cases(cases, folder / "cases.jsonl")
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(fields(cases, **more), sort_keys=False), "utf-8")
    return path


def opened(path: Path) -> tuple[Study, tuple[Case, ...]]:
    study = load_study(path)
    return study, study_cases(study)


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
