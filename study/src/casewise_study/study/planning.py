"""Plan a study, forecast its cost, and check that it is ready."""

import math
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from casewise.cases import CASEBENCH, STARTER, CaseSet
from casewise.errors import InputError, UsageError
from casewise.sheets import plural
from casewise_study.study.block_design import make_design
from casewise_study.study.language import SOURCE, open_language
from casewise_study.study.reading_times import FAST, USUAL, language_speed, reading
from casewise_study.study.schema import (
    Arm,
    Attention,
    Counting,
    OpenPoint,
    Pay,
    Platform,
    Recruitment,
    Study,
    StudyCell,
)
from casewise_study.study.study_file import TODO, by_arm, study_language
from casewise_study.study.study_rules import Collection
from casewise_study.study.study_texts import default_consent, default_texts, pay_each

PAPER_VOTES = 21
"""People per case in the CASE-Bench paper (Sun et al. 2025, arXiv 2501.14940)."""

USUAL_TASKS = 20
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc={code}"


@dataclass(frozen=True, slots=True)
class Forecast:
    """People, time and money that a study takes; money in ``Study.pay.currency``."""

    people: int
    """One a block: who finish."""
    recruit: int
    """To be invited, so that as many finish."""
    minutes: float
    """The longest session, at the planned speed."""
    hours: float
    """Hours of all who finish."""
    pay_each: float
    """The one figure that platforms, payments and warnings take; 0 is unpaid."""
    pay: float
    fee: float
    """The platform's."""
    cost: float
    """``pay`` and ``fee``, for those who finish."""


def plan_study(
    case_set: CaseSet,
    source: str | Path,
    path: Path,
    *,
    title: str,
    arms: Sequence[Arm] = tuple(Arm),
    votes: int = PAPER_VOTES,
    tasks: int | None = None,
    attention: int | None = None,
    seed: int = 0,
    collection: Collection = Collection(),  # noqa: B008 - it can't be changed
    platform: Platform = Platform.NONE,
    pay: Pay = Pay(),  # noqa: B008
    language: str = SOURCE,
    by: str | None = None,
    contact: str | None = None,
    ethics: str | None = None,
) -> Study:
    """Lay out a study over cases.

    Args:
        case_set: The cases.
        source: Where they are from: a path, or ``starter`` or ``casebench``.
        path: The study file that is to be; gives the study its id, and is not written.
        title: What people see as its name.
        arms: Contexts that are shown.
        votes: On each case; under sequential collection at most.
        tasks: The most cases a person; None is 20, or fewer where there are fewer queries.
        attention: Checks a person; None is all that ship, and at most half as many as cases: more
            would give them away.
        seed: Of the design.
        collection: When a case has votes enough.
        platform: Where people come from.
        pay: For an hour.
        language: Of the pages.
        by: Who does the study; this and the next two as ``default_consent`` takes them.
        contact: Whom to write to.
        ethics: The board.

    Raises:
        InputError: There are no texts in the language.
        UsageError: An arm without cases, too many cases a person, or too many attention checks.
    """
    known = by_arm(case_set.cases)
    for arm in arms:
        if arm not in {known_arm for known_arm, _ in known}:
            raise UsageError(f"--arms {arm}: {_lacking(case_set, arm)}")
    chosen = {key: case for key, case in known.items() if key[0] in arms}
    cases = tuple(chosen.values())
    tasks = tasks or min(USUAL_TASKS, len({case.query_id for case in cases}))
    design = make_design(
        cases, [StudyCell(*key) for key in chosen], votes=votes, tasks=tasks, seed=seed
    )
    spoken = open_language(language, path.parent)
    texts = default_texts(arms, spoken)
    checks = texts.pop("attention")["checks"]
    if attention is None:
        attention = min(len(checks), design.longest // 2)
    if attention > len(checks):
        raise UsageError(
            f"--attention {attention}: there are {len(checks)} checks to draw from; "
            "write more into the study file, and raise attention.per_person there"
        )

    consent = partial(
        default_consent, spoken, pay, tasks=design.longest, by=by, contact=contact, ethics=ethics
    )
    study = Study(
        **texts,
        id=_name(path.stem),
        title=title,
        cases=_relative_source(path, source),
        cases_hash=case_set.hash,
        arms=tuple(arms),
        votes=votes,
        collection=collection,
        seed=seed,
        language=language,
        pay=pay,
        recruitment=_recruitment(platform),
        # Its minutes count the words of the consent that names them: a number is a word, whichever.
        consent=consent(minutes=0),
        attention=Attention(checks=checks, per_person=attention),
        second_accounts=Counting.LEAVE_OUT,
        design=design,
    )
    study._cases = (study.cases, study.design, cases)
    return study.model_copy(update={"consent": consent(minutes=forecast(study).minutes)})


def _lacking(case_set: CaseSet, arm: Arm) -> str:
    """Why an arm has no case, and what to do."""
    unmeant = sum(case.context is not None and case.intended is None for case in case_set.cases)
    if arm is Arm.NONE or not unmeant:
        return f"{case_set.name} has no case in it; leave the arm out"
    return (
        f"{plural(unmeant, 'context')} of {case_set.name} without an intended side, which an arm "
        "is and votes don't give: add intended: {column: NAME, safe: [WORD], unsafe: [WORD]} to "
        "the mapping that casewise cases import TABLE --draft --out mapping.yaml writes, and "
        "import with --map mapping.yaml; or plan --arms none"
    )


def forecast(study: Study, dropout: float = 0) -> Forecast:
    """Forecast the people, time and money that a study will take.

    Time follows from the words that people read, at the usual pace; seconds and minutes of the
    study file go before it.

    Args:
        study: With its pay.
        dropout: The share of those invited who won't finish, in 0..1, 1 excluded.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    times, people = reading(study), len(study.design.blocks)
    minutes = times.planned_minutes()
    each = pay_each(study.pay, minutes)
    pay = each * people
    return Forecast(
        people=people,
        recruit=math.ceil(round(people / (1 - dropout), 9)),
        minutes=minutes,
        hours=times.planned_hours(people),
        pay_each=each,
        pay=pay,
        fee=pay * study.pay.fee,
        cost=pay * (1 + study.pay.fee),
    )


def _recruitment(platform: Platform) -> Recruitment:
    """Settings of a platform, with codes that can't be guessed where they are worth money."""
    if platform is Platform.NONE:
        return Recruitment()
    completed, screened_out, withdrawn = (f"{end}{secrets.token_hex(4).upper()}" for end in "CSW")
    return Recruitment(
        platform=platform,
        return_url=PROLIFIC_RETURN,
        signed=True,
        completed=completed,
        screened_out=screened_out,
        withdrawn=withdrawn,
    )


def _name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "study"


def _relative_source(path: Path, source: str | Path) -> str:
    """Path of the cases from the study file's folder, so that both can be moved together."""
    if source in (STARTER, CASEBENCH):
        return str(source)
    try:
        relative = Path(os.path.relpath(source, path.parent)).as_posix()
    except ValueError:  # another drive
        return Path(source).resolve().as_posix()
    return f"./{relative}" if relative in (STARTER, CASEBENCH) else relative


def check_ready(study: Study) -> list[str]:
    """List what must be fixed before the study starts, a sentence each.

    A study whose texts still say TODO, or that recruits on a platform without telling people the
    way back, loads all the same: it can be read, simulated and edited.
    """
    dumped = study.model_dump(mode="json", exclude={"design"})
    problems = [f"{place} still says {TODO}: fill it in" for place in _todos(dumped, "")]
    recruitment = study.recruitment
    if recruitment.platform is Platform.PROLIFIC and recruitment.return_url is None:
        problems.append("recruitment.return_url is null: people from Prolific must be sent back")
    try:
        study_language(study)
    except InputError as error:
        problems.append(str(error))
    problems += [
        f"screening.models: {run} is not there"
        for run in study.screening.models or ()
        if not (study.folder / run).exists()
    ]
    if recruitment.platform is not Platform.NONE and recruitment.completed == "COMPLETED":
        problems.append("recruitment.completed is the default code: choose one nobody can guess")
    return problems


_POINTS: dict[OpenPoint, str] = {
    "ethics": "the board and its number",
    "helplines": "where people find help",
    "data_controller": "who answers for the data",
    "legal_basis": "why the data may be kept",
    "storage_place": "where they are kept",
    "access": "who can read them",
    "partial_pay": "the pay of those who stop early or are screened out",
}


def open_points(study: Study) -> list[str]:
    """List what a board or the law asks that is neither given nor waived, by place and meaning."""
    texts = {"ethics": study.consent.ethics, **dict(study.safeguards)}
    return [
        f"{'consent' if name == 'ethics' else 'safeguards'}.{name}: {meaning}"
        for name, meaning in _POINTS.items()
        if texts[name] is None and name not in study.safeguards.waived
    ]


def time_warnings(study: Study) -> list[str]:
    """Warn of times and pay that don't fit the words that people read, a sentence each.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    reader_times, pay, warnings = reading(study), study.pay, []
    times = (
        ("pay.seconds_per_task", pay.seconds_per_task, "s", reader_times.case_seconds),
        ("pay.minutes_besides", pay.minutes_besides, "minutes", reader_times.besides_minutes),
    )
    for name, value, unit, needed in times:
        if value is not None and value < needed(FAST):
            warnings.append(
                f"{name}: {value:g} {unit} are short: by the words fast readers take "
                f"{needed(FAST):.1f}, average ones {needed(USUAL):.1f}; null takes the time from "
                "the words"
            )
    if low := pay_shortfall(study, reader_times.session_minutes(USUAL)) if warnings else None:
        warnings.append(f"{low} (pay, and consent.text)")
    if language_speed(study.language) is None and pay.seconds_per_task is None:
        warnings.append(
            f"language: {study.language}: no measured speed of reading it is known, so English "
            "words a minute are taken: measure the times in a pilot, and give --seconds"
        )
    pay_text = study_language(study).money(forecast(study).pay_each, pay.currency)
    if pay.per_hour and pay_text not in " ".join(study.consent.text.split()):
        warnings.append(f"consent.text doesn't name {pay_text}, the pay of a session by the file")
    return warnings


def pay_shortfall(study: Study, minutes: float) -> str | None:
    """Say by how much a session's pay falls below the hourly pay.

    Args:
        study: With its pay.
        minutes: That a session takes, planned or measured; not above 0 or NaN is unknown.
    """
    pay, reward = study.pay, forecast(study).pay_each
    comes_to = reward * 60 / minutes if minutes > 0 else math.nan
    if not comes_to < pay.per_hour - 0.01:
        return None
    return (
        f"{reward:.2f} {pay.currency} for {minutes:.0f} minutes are {comes_to:.2f} {pay.currency} "
        f"an hour, and people are promised {pay.per_hour:.2f}: {pay_each(pay, minutes):.2f} "
        f"{pay.currency} would fit"
    )


def _todos(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, str) and TODO in value:
        yield place
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _todos(inner, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _todos(inner, f"{place}, record {number}")
