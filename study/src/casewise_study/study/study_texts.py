"""The default texts of a new study."""

import math
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Any

from casewise_study.study.language import Language, source_texts
from casewise_study.study.schema import (
    AboutQuestion,
    Arm,
    AttentionCheck,
    Comprehension,
    ComprehensionQuestion,
    Consent,
    Pay,
    Study,
    TutorialExample,
)
from casewise_study.study.study_file import study_cases, study_language

TODO = "TODO"
"""Stands where only the people who ask can say: a study with it is not ready."""


@dataclass(frozen=True, slots=True)
class Investigator:
    """Investigator of the study; None is to be filled in (``ethics``: there is no board's word)."""

    by: str | None = None
    contact: str | None = None
    ethics: str | None = None
    keep_until: date | None = None
    """Date on which data that could lead back to people are deleted; None is twelve months after
    the last one."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a new study."""

    consent: Consent
    instructions: str
    tutorial: tuple[TutorialExample, ...]
    comprehension: Comprehension
    checks: tuple[AttentionCheck, ...]
    demographics: tuple[AboutQuestion, ...]
    exit_question: str
    tool_question: str
    debriefing: str


def default_texts(
    arms: Collection[Arm],
    asker: Investigator,
    pay: Pay,
    language: Language,
    *,
    tasks: int,
    minutes: float,
) -> Texts:
    """The texts that ship with casewise, for the arms that people will see, in their language.

    Without contexts there are no examples, questions and checks that speak of them.
    """
    kept = language.say_all(source_texts())
    sort = "none" if set(arms) == {Arm.NONE} else "context"
    shown = {
        "none": ("none_safe", "none_unsafe"),
        "context": ("none_safe", "context_safe", "context_unsafe"),
    }[sort]
    if Arm.NONE not in arms:
        shown = shown[1:]
    return Texts(
        consent=_consent(kept, asker, pay, language, tasks, minutes),
        instructions=_wrapped(kept["instructions"][sort]),
        tutorial=tuple(TutorialExample.model_validate(kept["tutorial"][name]) for name in shown),
        comprehension=Comprehension(
            questions=tuple(
                ComprehensionQuestion.model_validate(kept["comprehension"][name])
                for name in ("what", sort, "stop")
            )
        ),
        checks=tuple(_checks(kept["checks"], arms)),
        demographics=tuple(AboutQuestion.model_validate(one) for one in kept["demographics"]),
        exit_question=kept["exit_question"],
        tool_question=kept["tool_question"],
        debriefing=_wrapped(kept["debriefing"][sort]),
    )


def text_warnings(study: Study) -> list[str]:
    """Warn of texts that sway or miss people, a sentence each.

    Raises:
        InputError: The file of cases is gone, or has changed; or there is no such language.
    """
    asked = {_bare(case.query) for case in study_cases(study)}
    warnings, seen = [], set[str]()
    for number, example in enumerate(study.tutorial, 1):
        query = _bare(example.query)
        if query in asked:
            warnings.append(f"tutorial, record {number}: its query is in the study; take another")
        if query in seen:
            warnings.append(
                f"tutorial, record {number}: the query of another example too. To see one query in "
                "two contexts shows people the effect that is to be measured; take another"
            )
        seen.add(query)
    lacking = study_language(study).lacking
    if lacking:
        warnings.append(
            f"language: {study.language}: {len(lacking)} messages are not translated, or without "
            f"their fields, and are shown in English; the first is {lacking[0][:60]!r}"
        )
    return warnings


def _bare(query: str) -> str:
    return " ".join(query.casefold().split())


def whole_minutes(minutes: float) -> int:
    """Minutes of a session as people and platforms are told them, rounded up."""
    return math.ceil(round(minutes, 9))


def pay_each(pay: Pay, minutes: float) -> float:
    """Pay for the whole minutes of a session, rounded up to hundredths.

    So the minutes and the pay that people are told come to the hourly pay that they are promised.
    One session, one pay: whoever has a block that is one case shorter gets the same.
    """
    return math.ceil(round(pay.per_hour * whole_minutes(minutes) / 60 * 100, 6)) / 100


def _consent(
    kept: dict[str, Any],
    asker: Investigator,
    pay: Pay,
    language: Language,
    tasks: int,
    minutes: float,
) -> Consent:
    by, contact = asker.by or TODO, asker.contact or TODO
    paid = kept["paid" if pay.per_hour else "unpaid"].format(
        amount=language.money(pay_each(pay, minutes), pay.currency),
        rate=kept["rate"].format(amount=language.money(pay.per_hour, pay.currency)),
    )
    approved = kept["approved" if asker.ethics else "not_approved"].format(ethics=asker.ethics)
    until = asker.keep_until
    text = kept["consent"].format(
        by=by,
        contact=contact,
        tasks=language.number(tasks),
        minutes=language.number(whole_minutes(minutes)),
        pay=paid,
        ethics=approved,
        age=Consent.model_fields["least_age"].default,
        kept=kept["kept_year"]
        if until is None
        else kept["kept_until"].format(date=language.date(until)),
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
