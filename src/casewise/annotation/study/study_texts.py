"""The default texts of a new study."""

import math
import re
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

from casewise.annotation.study.schema import (
    Arm,
    AttentionCheck,
    Comprehension,
    Consent,
    Pay,
    Question,
    TutorialExample,
)
from casewise.cases import read_plain_yaml

_OWN_LINE = re.compile(r"\s*([-*•]|\d{1,2}[.)])\s")
"""How a line begins that is not run on from the one before."""

TODO = "TODO"
"""Stands where only the people who ask can say: a study with it is not ready."""


@dataclass(frozen=True, slots=True)
class Investigator:
    """Who does the study; None is left to be filled in (``ethics``: there is no board's word)."""

    by: str | None = None
    contact: str | None = None
    ethics: str | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a new study."""

    consent: Consent
    instructions: str
    tutorial: tuple[TutorialExample, ...]
    comprehension: Comprehension
    checks: tuple[AttentionCheck, ...]


def default_texts(
    arms: Collection[Arm], asker: Investigator, pay: Pay, *, tasks: int, minutes: float
) -> Texts:
    """The texts that ship with casewise, for the arms that people will see.

    Without contexts there are no examples, questions and checks that speak of them.
    """
    with as_file(files("casewise.data") / "study" / "texts.en.yaml") as path:
        kept = read_plain_yaml(path, "file of texts")
    sort = "none" if set(arms) == {Arm.NONE} else "context"
    shown = {
        "none": ("none_safe", "none_unsafe"),
        "context": ("none_safe", "context_safe", "context_unsafe"),
    }[sort]
    if Arm.NONE not in arms:
        shown = shown[1:]
    return Texts(
        consent=_consent(kept, asker, pay, tasks, minutes),
        instructions=_wrapped(kept["instructions"][sort]),
        tutorial=tuple(TutorialExample.model_validate(kept["tutorial"][name]) for name in shown),
        comprehension=Comprehension(
            questions=tuple(
                Question.model_validate(kept["comprehension"][name])
                for name in ("what", sort, "stop")
            )
        ),
        checks=tuple(_checks(kept["checks"], arms)),
    )


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, without the line ends that only serve the file.

    As in Markdown, a blank line parts paragraphs, and a line end is a space; items of a list, and
    lines after one that ends in two spaces, stay lines of their own.
    """
    parted = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in paragraph.split("\n") if line.strip()]
        joined = "".join(
            line.strip() if not number else f"{_between(lines[number - 1], line)}{line.strip()}"
            for number, line in enumerate(lines)
        )
        if joined:
            parted.append(joined)
    return parted


def _between(before: str, line: str) -> str:
    return "\n" if _OWN_LINE.match(line) or before.endswith("  ") else " "


def pay_each(pay: Pay, minutes: float) -> float:
    """Pay for a session, rounded up to hundredths, so that it is never less than promised.

    One session, one pay: whoever has a block that is one case shorter gets the same.
    """
    return math.ceil(round(pay.per_hour * minutes / 60 * 100, 6)) / 100


def _consent(
    kept: dict[str, Any], asker: Investigator, pay: Pay, tasks: int, minutes: float
) -> Consent:
    by, contact = asker.by or TODO, asker.contact or TODO
    paid = kept["paid" if pay.per_hour else "unpaid"].format(
        amount=f"{pay_each(pay, minutes):.2f} {pay.currency}",
        rate=f"{pay.per_hour:.2f} {pay.currency}",
    )
    approved = kept["approved" if asker.ethics else "not_approved"].format(ethics=asker.ethics)
    text = kept["consent"].format(
        by=by, contact=contact, tasks=tasks, minutes=round(minutes), pay=paid, ethics=approved
    )
    return Consent(
        text=_wrapped(text), warning=_wrapped(kept["warning"]), contact=contact, ethics=asker.ethics
    )


def _checks(kept: list[dict[str, Any]], arms: Collection[Arm]) -> list[AttentionCheck]:
    """With a context as often as the cases have one: always, never, or half of the time."""
    checks = []
    for number, check in enumerate(kept):
        bare = set(arms) == {Arm.NONE} or (Arm.NONE in arms and number >= len(kept) // 2)
        checks.append(AttentionCheck.model_validate(check | {"context": None} if bare else check))
    return checks


def _wrapped(text: str) -> str:
    """Paragraphs in lines of a terminal's width, as they stand in the study file."""
    return "\n\n".join(
        textwrap.fill(" ".join(paragraph.split()), 76) for paragraph in text.split("\n\n")
    )
