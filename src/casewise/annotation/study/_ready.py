"""What keeps a study from being started, and what should be looked at before it is."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from casewise.annotation.study._plan import forecast
from casewise.annotation.study._reading import FAST, IMPOSSIBLE, SLOW, USUAL, Reading, reading
from casewise.annotation.study._study import Platform, Study
from casewise.annotation.study._texts import TODO, pay_each
from casewise.cases import Case

_CENT = 0.01


def check_ready(study: Study) -> list[str]:
    """What must be mended before people may be asked, a sentence each; empty if nothing.

    A study whose texts still say TODO, or that recruits on a platform without telling people the
    way back, loads all the same: it can be read, simulated and edited.
    """
    dumped = study.model_dump(mode="json", exclude={"design"})
    problems = [f"{place} still says {TODO}: fill it in" for place in _todos(dumped, "")]
    recruitment = study.recruitment
    if recruitment.platform is Platform.PROLIFIC and recruitment.return_url is None:
        problems.append("recruitment.return_url is null: people from Prolific must be sent back")
    if recruitment.platform is not Platform.NONE and recruitment.completed == "COMPLETED":
        problems.append("recruitment.completed is the default code: choose one nobody can guess")
    return problems


def time_warnings(study: Study, cases: Sequence[Case] | None = None) -> list[str]:
    """Times and pay that don't go with the words that people read, a sentence each.

    Args:
        study: With its times and its consent.
        cases: Of its cells, in their order; None reads them.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    read = reading(study, cases)
    found = [*_odd_times(read), *_odd_floors(read)]
    if not read.has_words and study.pay.seconds_per_task is None:
        found.append(
            "the cases are in a script without spaces, so words can't be counted and times are "
            "too short: give --seconds (pay.seconds_per_task), timing.least_seconds and "
            "screening.fast_seconds"
        )
    return [*found, *_low_pay(study, read, forecast(study, cases=cases).minutes)]


def _too_short(read: Reading) -> bool:
    """Whether the file plans less time than fast readers need."""
    seconds, besides = read.study.pay.seconds_per_task, read.study.pay.minutes_besides
    return (seconds is not None and seconds < read.case_seconds(FAST)) or (
        besides is not None and besides < read.besides_minutes(FAST)
    )


def _odd_times(read: Reading) -> Iterator[str]:
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


def _odd_floors(read: Reading) -> Iterator[str]:
    given = (
        ("timing.least_seconds", read.study.timing.least_seconds),
        ("screening.fast_seconds", read.study.screening.fast_seconds),
    )
    mean = sum(read.cells) / len(read.cells)
    shortest = FAST.seconds(min(read.cells))
    for name, value in given:
        if value is None:
            continue
        if value < 60 * mean / IMPOSSIBLE:
            yield (
                f"{name}: in {value:g} s nobody has read a case of {mean:.0f} words, and whoever "
                "has not read it passes; null takes the time from the words of each page"
            )
        elif value > shortest:
            yield (
                f"{name}: fast readers take {shortest:.1f} s for the shortest case, less than "
                f"{value:g} s; null takes the time from the words of each page"
            )


def _low_pay(study: Study, read: Reading, planned: float) -> Iterator[str]:
    """The consent's promise against what the session takes."""
    minutes = read.session_minutes(USUAL) if _too_short(read) else planned
    reward, hourly = _promise(study, planned)
    if not hourly or not minutes:
        return
    comes_to = reward * 60 / minutes
    if comes_to < hourly - _CENT:
        fits = pay_each(study.pay.model_copy(update={"per_hour": hourly}), minutes)
        money = study.pay.currency
        yield (
            f"{reward:.2f} {money} for {minutes:.0f} minutes are {comes_to:.2f} {money} an hour, "
            f"and people are promised {hourly:.2f}: {fits:.2f} {money} would fit (pay, and "
            "consent.text)"
        )


def _promise(study: Study, minutes: float) -> tuple[float, float]:
    """What a person gets, and an hour's pay: as the consent says it, else as the file plans it."""
    text = " ".join(study.consent.text.split())
    amount = rf"(\d+(?:[.,]\d+)?) {study.pay.currency}"
    hourly = re.search(rf"{amount} an hour", text)
    reward = re.search(rf"{amount}(?! an hour)", text)
    return (
        _number(reward[1]) if reward else pay_each(study.pay, minutes),
        max(_number(hourly[1]) if hourly else 0.0, study.pay.per_hour),
    )


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _todos(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, str) and TODO in value:
        yield place
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _todos(inner, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _todos(inner, f"{place}, record {number}")
