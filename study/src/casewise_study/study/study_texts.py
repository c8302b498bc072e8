"""The default texts of a new study."""

import math
import textwrap
from collections.abc import Collection
from typing import Any

from casewise.sheets import plural
from casewise_study.study.language import Language, source_texts
from casewise_study.study.schema import Arm, Consent, Pay, Study
from casewise_study.study.study_file import TODO, study_cases, study_language


def default_texts(arms: Collection[Arm], language: Language) -> dict[str, Any]:
    """The texts that ship with casewise, for the arms that people will see, but for the consent.

    Without contexts there are no examples, questions and checks that speak of them.

    Returns:
        Fields of ``Study``, of ``attention`` the checks alone.
    """
    texts = language.say_all(source_texts())
    sort = "none" if set(arms) == {Arm.NONE} else "context"
    shown = ["none_unsafe"] if sort == "none" else ["context_safe", "context_unsafe"]
    if Arm.NONE in arms:
        shown = ["none_safe", *shown]
    return {
        "instructions": _wrapped(texts["instructions"][sort]),
        "tutorial": [texts["tutorial"][name] for name in shown],
        "comprehension": {
            "questions": [texts["comprehension"][name] for name in ("what", sort, "stop")]
        },
        "attention": {"checks": _checks(texts["checks"], arms)},
        "demographics": texts["demographics"],
        "exit_question": texts["exit_question"],
        "tool_question": texts["tool_question"],
        "debriefing": _wrapped(texts["debriefing"][sort]),
    }


def default_consent(
    language: Language,
    pay: Pay,
    *,
    tasks: int,
    minutes: float,
    by: str | None,
    contact: str | None,
    ethics: str | None,
) -> Consent:
    """The consent that ships with casewise, filled in; what is None is to be written.

    Args:
        language: Of the pages.
        pay: For the hour.
        tasks: Cases a person.
        minutes: Of a session.
        by: Who does the study.
        contact: Whom to write to.
        ethics: The board that approved it; None says nothing of one.
    """
    texts = language.say_all(source_texts())
    paid = texts["paid" if pay.per_hour else "unpaid"].format(
        amount=language.money(pay_each(pay, minutes), pay.currency),
        rate=texts["rate"].format(amount=language.money(pay.per_hour, pay.currency)),
    )
    text = texts["consent"].format(
        by=by or TODO,
        contact=contact or TODO,
        tasks=language.number(tasks),
        minutes=language.number(whole_minutes(minutes)),
        pay=paid,
        ethics=texts["approved"].format(ethics=ethics) if ethics else "",
        age=Consent.model_fields["least_age"].default,
    )
    warning = _wrapped(texts["warning"])
    return Consent(text=_wrapped(text), warning=warning, contact=contact or TODO, ethics=ethics)


def text_warnings(study: Study) -> list[str]:
    """Warn of texts that sway or miss people, a sentence each.

    Raises:
        InputError: The file of cases is gone, or has changed; or there is no such language.
    """
    queries = [_bare(case.query) for case in study_cases(study)]
    warnings = []
    for number, example in enumerate(study.tutorial, 1):
        query = _bare(example.query)
        if query in queries:
            warnings.append(
                f"tutorial, record {number}: its query is in the study, or in another example: to "
                "see one query in two contexts shows people the effect that is to be measured"
            )
        queries.append(query)
    if lacking := study_language(study).lacking:
        warnings.append(
            f"language: {study.language}: not translated, or without its fields, and so in "
            f"English: {plural(len(lacking), 'message')}; the first is {lacking[0][:60]!r}"
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


def _checks(checks: list[dict[str, Any]], arms: Collection[Arm]) -> list[dict[str, Any]]:
    """Checks with a context as often as the cases have one: always, never, or half of the time."""
    with_context = len(checks) if Arm.NONE not in arms else len(checks) // 2 if len(arms) > 1 else 0
    return [
        check if number < with_context else check | {"context": None}
        for number, check in enumerate(checks)
    ]


def _wrapped(text: str) -> str:
    """Paragraphs in lines of a terminal's width, as they stand in the study file."""
    return "\n\n".join(
        textwrap.fill(" ".join(paragraph.split()), 76) for paragraph in text.split("\n\n")
    )
