"""Plan a study, forecast its cost, and check that it is ready."""

import math
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.cases import CASEBENCH, STARTER, CaseSet
from casewise.errors import InputError, UsageError
from casewise_study.study.block_design import make_design
from casewise_study.study.language import SOURCE, open_language
from casewise_study.study.reading_times import (
    FAST,
    IMPOSSIBLE,
    SLOW,
    USUAL,
    ReadingTimes,
    language_speed,
    reading,
)
from casewise_study.study.schema import (
    Arm,
    Attention,
    Counting,
    OpenPoint,
    Pay,
    Platform,
    Recruitment,
    SecondAccounts,
    Study,
    StudyCell,
)
from casewise_study.study.study_file import by_arm, study_language
from casewise_study.study.study_rules import Collection
from casewise_study.study.study_texts import TODO, Investigator, default_texts, pay_each

PAPER_VOTES = 21
"""People per case in the CASE-Bench paper (Sun et al. 2025, arXiv 2501.14940)."""

USUAL_TASKS = 20
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc={code}"


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The choices that define a study."""

    title: str
    arms: tuple[Arm, ...] = tuple(Arm)
    votes: int = PAPER_VOTES
    collection: Collection = field(default_factory=Collection)
    tasks: int | None = None
    """The most cases a person; None is 20, or fewer where there are fewer queries."""
    attention: int = 4
    """Checks a person."""
    seed: int = 0
    platform: Platform = Platform.NONE
    pay: Pay = field(default_factory=Pay)
    asker: Investigator = field(default_factory=Investigator)
    language: str = SOURCE
    measured: "PilotTimes | None" = None
    """The times of a pilot, in place of those by the words."""


@dataclass(frozen=True, slots=True)
class PilotTimes:
    """Times of the people of a pilot."""

    people: int
    """Number who finished the pilot, and whose times are known."""
    factor: float
    """The median person's time on cases and checks, over what their words take at the usual
    pace."""
    besides: float
    """The median person's minutes besides: from the consent to the first page as measured, and
    before and after by the words."""
    minutes: float
    """The median person's session."""
    range: tuple[float, float]
    """Range of whole sessions, from the shortest to the longest, in minutes."""


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
    pay: float
    fee: float
    """The platform's."""
    cost: float
    """``pay`` and ``fee``, for those who finish."""


def plan_study(made: CaseSet, source: str | Path, path: Path, plan: StudyPlan) -> Study:
    """Lay out a study over cases.

    Args:
        made: The cases.
        source: Where they are from: a path, or ``starter`` or ``casebench``.
        path: The study file that is to be; gives the study its id, and is not written.
        plan: What was decided.

    Raises:
        InputError: There are no texts in the language.
        UsageError: An arm without cases, too many cases a person, or too many attention checks.
    """
    known = by_arm(made.cases)
    present = {arm for arm, _ in known}
    for arm in plan.arms:
        if arm not in present:
            raise UsageError(
                f"--arms {arm}: {made.name} has no case in it (a context whose intended side is "
                f"{arm}); leave the arm out"
            )
    chosen = {key: case for key, case in known.items() if key[0] in plan.arms}
    cases = tuple(chosen.values())
    tasks = plan.tasks or min(USUAL_TASKS, len({case.query_id for case in cases}))
    design = make_design(
        cases, [StudyCell(*key) for key in chosen], votes=plan.votes, tasks=tasks, seed=plan.seed
    )
    most = design.longest
    language = open_language(plan.language, path.parent)
    # The minutes count the words of the consent that names them: a number is a word, whichever.
    texts = default_texts(plan.arms, plan.asker, plan.pay, language, tasks=most, minutes=0)
    checks = texts.pop("attention")["checks"]
    if plan.attention > len(checks):
        raise UsageError(
            f"--attention {plan.attention}: there are {len(checks)} checks to draw from; "
            "write more into the study file, and raise attention.per_person there"
        )
    study = Study(
        **texts,
        id=_name(path.stem),
        title=plan.title,
        cases=_seen_from(path, source),
        cases_hash=made.hash,
        arms=plan.arms,
        votes=plan.votes,
        collection=plan.collection,
        seed=plan.seed,
        language=plan.language,
        pay=plan.pay,
        recruitment=_recruitment(plan.platform),
        attention=Attention(checks=checks, per_person=plan.attention),
        second_accounts=SecondAccounts(browser=Counting.LEAVE_OUT),
        design=design,
    )
    study._cases = (study.cases, study.design, cases)
    if plan.measured is not None:
        seconds = round(plan.measured.factor * reading(study).case_seconds(USUAL), 1)
        besides = round(plan.measured.besides, 1)
        times = {"seconds_per_task": seconds, "minutes_besides": besides}
        study = study.model_copy(update={"pay": plan.pay.model_copy(update=times)})
    minutes = forecast(study).minutes
    told = default_texts(plan.arms, plan.asker, plan.pay, language, tasks=most, minutes=minutes)
    return study.model_copy(update={"consent": told["consent"]})


def forecast(study: Study, dropout: float = 0, *, tasks: int | None = None) -> Forecast:
    """Forecast the people, time and money that a study will take.

    Time follows from the words that people read, at the usual pace; seconds and minutes of the
    study file go before it.

    Args:
        study: With its pay.
        dropout: The share of those invited who won't finish, in 0..1, 1 excluded.
        tasks: What if a person judged at most so many cases; None is as designed.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    read = reading(study)
    votes = len(study.design.cells) * study.votes
    if tasks == study.design.longest:
        tasks = None
    people = len(study.design.blocks) if tasks is None else -(-votes // tasks)
    longest = read.planned_minutes(None if tasks is None else -(-votes // people))
    each = pay_each(study.pay, longest)
    pay = each * people
    return Forecast(
        people=people,
        recruit=math.ceil(round(people / (1 - dropout), 9)),
        minutes=longest,
        hours=read.planned_hours(people),
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
        return_url=PROLIFIC_RETURN if platform is Platform.PROLIFIC else None,
        signed=platform is Platform.PROLIFIC,
        completed=completed,
        screened_out=screened_out,
        withdrawn=withdrawn,
    )


def _name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "study"


def _seen_from(path: Path, source: str | Path) -> str:
    """Path of the cases from the study file's folder, so that both can be moved together."""
    if source in (STARTER, CASEBENCH):
        return str(source)
    try:
        seen = Path(os.path.relpath(source, path.parent)).as_posix()
    except ValueError:  # another drive
        return Path(source).resolve().as_posix()
    return f"./{seen}" if seen in (STARTER, CASEBENCH) else seen


_CENT = 0.01


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
    given = {"ethics": study.consent.ethics, **dict(study.safeguards)}
    return [
        f"{'consent' if name == 'ethics' else 'safeguards'}.{name}: {meaning}"
        for name, meaning in _POINTS.items()
        if given[name] is None and name not in study.safeguards.waived
    ]


def time_warnings(study: Study) -> list[str]:
    """Warn of times and pay that don't fit the words that people read, a sentence each.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    read = reading(study)
    warnings = [*_odd_times(read), *_odd_floors(read)]
    seconds, besides = study.pay.seconds_per_task, study.pay.minutes_besides
    if not read.has_words and seconds is None:
        warnings.append(
            "the cases are in a script without spaces, so words can't be counted and times are "
            "too short: give --seconds (pay.seconds_per_task), timing.least_seconds and "
            "screening.fast_seconds"
        )
    elif language_speed(study.language) is None:
        warnings.append(
            f"language: {study.language}: no measured speed of reading it is known, so English "
            "words a minute are taken: measure the times in a pilot (--from-pilot)"
        )
    too_short = (seconds is not None and seconds < read.case_seconds(FAST)) or (
        besides is not None and besides < read.besides_minutes(FAST)
    )
    minutes = read.session_minutes(USUAL) if too_short else forecast(study).minutes
    if low := pay_shortfall(study, minutes):
        warnings.append(f"{low} (pay, and consent.text)")
    return warnings


def _odd_times(read: ReadingTimes) -> Iterator[str]:
    pay = read.study.pay
    given = (
        ("pay.seconds_per_task", pay.seconds_per_task, "s", read.case_seconds, read.case_words),
        ("pay.minutes_besides", pay.minutes_besides, "minutes", read.besides_minutes, read.besides),
    )
    for name, value, unit, needed, words in given:
        if value is None:
            continue
        low, usual, high = (needed(pace) for pace in (FAST, USUAL, SLOW))
        if not low <= value <= 2 * high:
            short = "short" if value < low else "long"
            yield (
                f"{name}: {value:g} {unit} are {short} for {words:.0f} words: fast readers take "
                f"{low:.1f}, average ones {usual:.1f}, slow ones {high:.1f}; null takes the time "
                "from the words"
            )


def _odd_floors(read: ReadingTimes) -> Iterator[str]:
    given = {
        "timing.least_seconds": read.study.timing.least_seconds,
        "screening.fast_seconds": read.study.screening.fast_seconds,
    }
    mean = sum(read.cells) / len(read.cells)
    shortest = read.seconds(FAST, min(read.cells))
    for name, value in given.items():
        if value is None:
            continue
        if value < 60 * mean / (IMPOSSIBLE * read.speed):
            yield (
                f"{name}: in {value:g} s nobody has read a case of {mean:.0f} words, and whoever "
                "has not read it passes; null takes the time from the words of each page"
            )
        elif value > shortest:
            yield (
                f"{name}: fast readers take {shortest:.1f} s for the shortest case, less than "
                f"{value:g} s; null takes the time from the words of each page"
            )


def pay_shortfall(study: Study, minutes: float) -> str | None:
    """Say by how much a session's pay falls below the hourly pay that the consent promises.

    Args:
        study: With its consent.
        minutes: That a session takes, planned or measured; not above 0 or NaN is unknown.
    """
    reward, hourly = session_pay(study), max(_told_pay(study)[1], study.pay.per_hour)
    comes_to = reward * 60 / minutes if minutes > 0 else math.nan
    if not (hourly and comes_to < hourly - _CENT):
        return None
    fits = pay_each(study.pay.model_copy(update={"per_hour": hourly}), minutes)
    money = study.pay.currency
    return (
        f"{reward:.2f} {money} for {minutes:.0f} minutes are {comes_to:.2f} {money} an hour, "
        f"and people are promised {hourly:.2f}: {fits:.2f} {money} would fit"
    )


def session_pay(study: Study) -> float:
    """Pay of a session: as the consent promises it, else as the file plans it; 0 is unpaid.

    The one figure that platforms, payments and warnings take.
    """
    told = _told_pay(study)[0]
    return forecast(study).pay_each if math.isnan(told) else told


def _told_pay(study: Study) -> tuple[float, float]:
    """Pay of a session (NaN: not told) and of an hour (0) by the consent."""
    hourly = english = "{amount} an hour"
    with suppress(InputError):
        hourly = study_language(study).say(english)
    if hourly.count("{amount}") != 1:
        hourly = english
    before, after = map(re.escape, hourly.split("{amount}"))
    amount = rf"(\d+(?:[.,]\d{{3}})*(?:[.,]\d+)?) {study.pay.currency}"

    def told(pattern: str, absent: float) -> float:
        """An amount with either mark of decimals, and marks between thousands."""
        found = re.search(pattern, " ".join(study.consent.text.split()))
        if found is None:
            return absent
        return float(re.sub(r"[.,](?=\d{3}\b)", "", found[1]).replace(",", "."))

    session = f"(?<!{before}){amount}" if before else f"{amount}(?!{after})"
    return told(session, math.nan), told(f"{before}{amount}{after}", 0.0)


def _todos(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, str) and TODO in value:
        yield place
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _todos(inner, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _todos(inner, f"{place}, record {number}")
