"""Invented cases as JSONL, and studies over them: written as files, or planned by the command."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml
from conftest import Cli, cli_in

import casewise as cw

SECRET = "a secret of the tests"
ADMIN = "an-admin-of-the-tests"
KEYS = {"CASEWISE_STUDY_SECRET": SECRET, "CASEWISE_ADMIN_TOKEN": ADMIN}
"""The environment of servers and commands."""

POINTS = (
    *("ethics", "helplines", "data_controller", "legal_basis"),
    *("storage_place", "access", "partial_pay"),
)
WAIVED = {"waived": dict.fromkeys(POINTS, "Ada Example: only a test")}
"""Every point that a board asks for, done without."""

HOSTILE = (
    "<script>window.harmed = 1</script>{{ 7 * 7 }}{% raw %}\u2028"
    "</textarea><img src=x onerror='window.harmed = 2'>"
)

ARMS = ("none", "safe", "unsafe")
Record = dict[str, Any]


def a_case(query: str, arm: str, **fields: Any) -> Record:
    """A case about one invented query; the query alone is the arm none."""
    where = "a school" if arm == "safe" else "a game's forum"
    context = {
        "sender": {"platform_type": f"help desk of {where}"},
        "recipient": {"type": "a teacher", "background": f"asks in {where} about {query}"},
        "transmission_principle": {"urgency": "none", "confidentiality": "internal"},
    }
    name = re.sub(r"\W+", "-", query[:40])
    made = {"id": f"{arm}-{name}", "query": query, "category": "invented"}
    shown = {"context": context, "intended": arm} if arm != "none" else {"context": None}
    return made | shown | fields


def some_cases(
    queries: int, arms: Sequence[str] = ("safe", "unsafe"), *, kinds: int = 1, **fields: Any
) -> list[Record]:
    """A case of each arm for each query."""
    return [
        a_case(f"May I borrow ladder {number}?", arm, category=f"kind {number % kinds}", **fields)
        for number in range(queries)
        for arm in arms
    ]


def latin_blocks(queries: int, votes: int, arms: int, size: int = 0) -> list[list[int]]:
    """Blocks of ``size`` queries, all unless given, drawn by a seed: every cell has its votes, and
    in each block a query stands once."""
    rng, size, blocks = Random(0), size or queries, []
    for _ in range(votes):
        order = rng.sample(range(queries), queries)
        first = [rng.randrange(arms) for _ in order]
        for turn in range(arms):
            places = [arms * query + (first[query] + turn) % arms for query in order]
            blocks += [places[start : start + size] for start in range(0, queries, size)]
    return blocks


def write_cases(folder: Path, cases: Sequence[Record]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    return path


def a_study(
    folder: Path, cases: Sequence[Record], blocks: Sequence[Sequence[int]], **fields: Any
) -> Path:
    """A study file whose cells are these cases, with its cases in the same folder.

    Args:
        blocks: Places of the cases, a block a person; each case equally often.
        fields: Fields of the study in place of the usual ones.
    """
    arms = [case.get("intended") or "none" for case in cases]
    made: Record = {
        "id": "small",
        "title": "A small study",
        "cases": "cases.jsonl",
        "cases_hash": cw.load_cases(write_cases(folder, cases)).hash,
        "arms": [arm for arm in ARMS if arm in arms],
        "votes": sum(block.count(0) for block in map(list, blocks)),
        "ask": {"confidence": True, "reason": True},
        "timing": {"least_seconds": 2, "lease_minutes": 30},
        "consent": {
            "text": "We ask how people judge.",
            "warning": "Some queries may distress.",
            "contact": "lab@example.org",
        },
        # Codes are shown, as for pay, and those that studies have by default.
        "recruitment": {"withdrawn": "GONE"},
        "safeguards": WAIVED,
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
            "cells": [f"{arm} {case['id']}" for arm, case in zip(arms, cases, strict=True)],
            "blocks": [" ".join(map(str, block)) for block in blocks],
        },
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(made | fields, sort_keys=False), "utf-8")
    return path


def write_study(
    folder: Path,
    queries: Sequence[str] = ("first", "second", "third"),
    blocks: int = 2,
    **fields: Any,
) -> Path:
    """A study in which each block holds the safe case of every query."""
    cases = [a_case(query, "safe") for query in queries]
    return a_study(folder, cases, [range(len(cases))] * blocks, **fields)


def write_arms(
    folder: Path,
    *,
    arms: Sequence[str] = ARMS,
    queries: int = 4,
    votes: int = 2,
    size: int = 0,
    **fields: Any,
) -> Path:
    """A study in which every person sees each query in one of these arms."""
    usual: Record = {"ask": {}, "timing": {}}
    cases = some_cases(queries, arms, kinds=2)
    blocks = latin_blocks(queries, votes, len(arms), size)
    return a_study(folder, cases, blocks, **(usual | fields))


def read_yaml(path: Path) -> Record:
    record: Record = yaml.safe_load(path.read_text("utf-8"))
    return record


def change(path: Path, **fields: Any) -> Path:
    """Change fields of a study file; of a part of the study, those given alone."""
    made = read_yaml(path)
    for name, value in fields.items():
        both = isinstance(value, dict) and isinstance(made.get(name), dict)
        made[name] = made[name] | value if both else value
    path.write_text(yaml.safe_dump(made, sort_keys=False), "utf-8")
    return path


def plan(cli: Cli, *options: str, cases: str = "cases.jsonl", out: str = "study.yaml") -> Record:
    """Plan a study by the command.

    Returns:
        What it printed as JSON.
    """
    done = cli("annotate", "plan", cases, "--out", out, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    record: Record = json.loads(done.stdout)
    return record


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, rows: Sequence[Record]) -> None:
    """All rows have the columns of the first; None is an empty cell."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def exported(cli: Cli, *options: str, study: str = "study.yaml", out: str = "out") -> Record:
    """The summary of a study's export."""
    done = cli("annotate", "export", study, "--out", out, "--force", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    record: Record = json.loads(done.stdout)
    return record


def flags(folder: Path) -> dict[str, str]:
    """Flags of people in an export, by person, of those who have any."""
    return {row["rater"]: row["flags"] for row in read_csv(folder / "people.csv") if row["flags"]}


def told(cli: Cli, study: str = "study.yaml") -> list[str]:
    """Warnings of a server at its start, at an address that is none of this computer's."""
    done = cli("annotate", "serve", study, "--host", "203.0.113.1", env={"COLUMNS": "9999"})
    assert "203.0.113.1" in done.stderr, done.stderr
    lines = (line.partition("warning: ")[2] for line in done.stderr.splitlines())
    return [line for line in lines if line and not line.startswith("--host")]


def browser_study(
    folder: Path, cases: str = "cases.jsonl", *, seconds: float = 0, language: str = "en"
) -> Path:
    """A study of three pages a person and all that may be asked."""
    options = ("--arms", "safe,unsafe", "--votes", "9", "--tasks", "2", "--attention", "1")
    by = ("--by", "Example lab", "--contact", "lab@example.org", "--ethics", "Board 7/26")
    plan(cli_in(folder), *options, *by, "--pay", "12", "--language", language, cases=cases)
    timing, asked = {"least_seconds": seconds}, {"confidence": True, "reason": True}
    return change(folder / "study.yaml", timing=timing, ask=asked)


def right_options(study: Path) -> list[str]:
    """The right answers to the questions about the instructions."""
    questions = read_yaml(study)["comprehension"]["questions"]
    return [question["options"][question["answer"]] for question in questions]
