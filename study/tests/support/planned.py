"""Invented cases to plan studies over."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from casewise.cases import Case, CaseSet, Form, Side, load_cases, write_cases
from casewise_study.study.planning import StudyPlan, plan_study
from casewise_study.study.schema import Arm, OpenPoint, Pay, Study, Timing
from casewise_study.study.study_file import load_study, write_study
from casewise_study.study.study_texts import Investigator

WAIVED = dict.fromkeys(get_args(OpenPoint), "Ada Example: only a test")
"""Every point that a board asks for, done without."""


def waive(path: Path) -> None:
    """Do without every point that a board asks for, in a study file as it was planned."""
    text = path.read_text("utf-8")
    assert "  waived: {}" in text
    path.write_text(text.replace("  waived: {}", f"  waived: {json.dumps(WAIVED)}"), "utf-8")


def a_set(sides: Sequence[str], categories: int = 1) -> list[Case]:
    """A query for each entry, with a context for each letter of it: s(afe), u(nsafe)."""
    cases = []
    for number, letters in enumerate(sides):
        for place, letter in enumerate(letters):
            side: Side = "safe" if letter == "s" else "unsafe"
            cases.append(
                Case.model_validate(
                    {
                        "query": f"May I borrow ladder {number}?",
                        "context": {"sender": f"tool shed {number}, door {place}"},
                        "intended": side,
                        "category": f"kind {number % categories}",
                    }
                )
            )
    return cases


def pairs(queries: int, categories: int = 1) -> list[Case]:
    """Queries with a safe and an unsafe context each."""
    return a_set(["su"] * queries, categories)


def a_plan(votes: int = 3, tasks: int | None = None, **more: object) -> StudyPlan:
    given = {"arms": tuple(Arm), "attention": 2, "seed": 0} | more
    return StudyPlan(title="Ladders", votes=votes, tasks=tasks, **given)  # type: ignore[arg-type]


def a_study(cases: Sequence[Case], plan: StudyPlan | None = None) -> Study:
    """A study in memory, as if its file were to lie beside its cases."""
    made = CaseSet(tuple(cases), "cases.jsonl", Form.JSONL)
    return plan_study(made, Path("cases.jsonl"), Path("study.yaml"), plan or a_plan())


def on_disk(folder: Path, cases: Sequence[Case], plan: StudyPlan | None = None) -> Study:
    """The same, with its cases written to ``folder``; the study file is not."""
    write_cases(cases, folder / "cases.jsonl")
    made = load_cases(folder / "cases.jsonl")
    return plan_study(made, folder / "cases.jsonl", folder / "study.yaml", plan or a_plan())


def in_a_browser(
    folder: Path, cases: Sequence[Case], *, seconds: float = 0, language: str = "en"
) -> Study:
    """A study on disk, of three pages a person and all that may be asked."""
    asker = Investigator("Example lab", "lab@example.org", "Board 7/26")
    arms = (Arm.SAFE, Arm.UNSAFE)
    more = {"pay": Pay(per_hour=12), "asker": asker, "language": language}
    study = on_disk(folder, cases, a_plan(9, 2, arms=arms, attention=1, **more))
    asked = study.ask.model_copy(update={"confidence": True, "reason": True})
    timing = Timing(least_seconds=seconds)
    write_study(study.model_copy(update={"timing": timing, "ask": asked}), folder / "study.yaml")
    return load_study(folder / "study.yaml")
