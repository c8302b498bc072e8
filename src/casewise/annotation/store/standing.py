"""What the store takes and returns: people, the signals of their pages, the study's progress."""

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator
from sqlalchemy import ColumnElement, Connection, case, func, insert, select

from casewise.annotation.store.tables import page_signal
from casewise.annotation.study.schema import Block, Study
from casewise.annotation.votes.collected import SIGNALS, PersonStatus
from casewise.cases import digest


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who has opened the study's address and agreed to nothing yet."""

    key: str
    """Random; the person's own from the consent on."""
    platform_key: str | None = None
    """The platform's id of the person, as ``Secrets.platform_key`` hides it."""
    panel: str = ""
    signed: bool = False
    """Whether the platform signed the link."""
    earlier: str | None = None
    """The key of the person who was known in this browser before."""


@dataclass(frozen=True, slots=True)
class Person:
    """How far a person has come."""

    id: int
    key: str
    rater: str
    status: PersonStatus
    outcome: PersonStatus | None
    """Which code the person was shown, once it has ended."""
    attempts: int
    """At the comprehension check."""
    passed: bool
    """Whether it was passed."""
    block: int | None = None
    position: int | None = None
    """The first page without an answer, from 0."""
    shown: datetime | None = None
    """When that page was first shown."""
    about_due: bool = False
    """Whether the questions after the last case are still to be asked."""
    drawn: Block | None = None
    """The cells of a block that was drawn as the person came; None of a planned one."""


class Taken(StrEnum):
    """What became of an answer."""

    YES = "yes"
    BEFORE = "before"
    """That page has its answer already, or is not the one to answer: nothing has changed."""
    TOO_SOON = "too_soon"


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """What became of an answer, and where the person is now."""

    person: Person
    taken: Taken
    wait: float = 0
    """Seconds until an answer that came too soon may come again."""


class Vacancy(StrEnum):
    """Whether somebody new could have a block."""

    OPEN = "open"
    HELD = "held"
    """Every block that is not completed is held at present."""
    PAUSED = "paused"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the study has come."""

    places: Vacancy
    paused: bool
    blocks: int
    completed: int
    active: int
    """Blocks held by a person, those past their lease among them."""
    expired: int
    """Blocks held past their lease: the next person who finds no free block gets one of them."""
    people: dict[PersonStatus, int]
    declined: int
    """People who read the consent page and did not agree."""
    passed: int
    """People who passed the comprehension check."""
    answered_one: int
    """People with a block who have answered a page."""
    counts: tuple[tuple[int, int], ...]
    """Safe and unsafe votes that count, of each cell of the design."""
    seconds: tuple[float, ...]
    """Of every vote that counts."""

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return self.blocks - self.completed - self.active


@dataclass(frozen=True, slots=True)
class PageWatch:
    """What the page's script counted, from showing to answer."""

    left: int
    """Times that the page lost the focus, or was hidden."""
    away: float
    """Seconds until it had it again, in all."""
    copied: int
    """Times that a part of the case was copied."""
    pasted: int
    """Times that something was pasted."""


@dataclass(frozen=True, slots=True)
class PageSignals:
    """The signals that come with the answer to a page."""

    honeypot: bool
    """Whether the page's hidden text was followed."""
    watch: PageWatch | None = None
    """None where scripts are off."""


def write_signals(
    connection: Connection, person: int, position: int, signals: PageSignals, seconds: float
) -> None:
    """Write the signals of a page; nobody is away for longer than its ``seconds``."""
    values: dict[str, Any] = {"participant": person, "position": position}
    values["honeypot"] = signals.honeypot
    if signals.watch is not None:
        values |= asdict(signals.watch) | {"away": min(signals.watch.away, seconds)}
    connection.execute(insert(page_signal).values(values))


def signals_by_person(connection: Connection) -> dict[int, dict[str, Any]]:
    """The signals of everybody who has any, summed up by the names of ``PersonRecord``.

    Keys are the numbers of participants. What no script has counted is None.
    """

    def pages(where: ColumnElement[bool]) -> ColumnElement[int]:
        return func.sum(case((where, 1), else_=0))

    signal = page_signal.c
    rows = connection.execute(
        select(
            signal.participant,
            func.count().label("trap_pages"),
            pages(signal.honeypot).label("trapped"),
            func.count(signal.left).label("watched"),
            pages(signal.left > 0).label("left"),
            func.sum(signal.away).label("away_seconds"),
            pages(signal.copied + signal.pasted > 0).label("copied"),
        ).group_by(signal.participant)
    )
    summed = {}
    for person, *values in rows:
        named = dict(zip(SIGNALS, values, strict=True))
        unseen = {} if named["watched"] else dict.fromkeys(("left", "away_seconds", "copied"))
        summed[person] = named | unseen
    return summed


_SOUNDS = tuple(first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou")


def hidden_word(study: Study, block: int, position: int) -> str | None:
    """The word that a page's hidden text asks for: no real one, and another on each page.

    None in a study that records no signals.
    """
    if not study.screening.watches:
        return None
    drawn = bytes.fromhex(digest("word", study.id, study.seed, block, position)[:8])
    return "".join(_SOUNDS[one % len(_SOUNDS)] for one in drawn)


def _is_said(value: object) -> bool:
    return bool(str(value or "").strip())


def _counts(value: object) -> str | None:
    """Anybody may send anything: what the script can't have written counts for nothing."""
    whole = isinstance(value, str) and re.fullmatch(
        r"\d{1,4} \d{1,6}(\.\d)? \d{1,4} \d{1,4}", value
    )
    return str(value) if whole else None


class SentSignals(BaseModel):
    """The fields of a page's form that no person fills in."""

    word: Annotated[bool, BeforeValidator(_is_said)] = False
    """Whether the hidden field held anything."""
    watched: Annotated[str | None, BeforeValidator(_counts)] = None
    """Times left, seconds away, times copied and pasted. None where scripts are off."""

    def signals(
        self, study: Study, block: int, position: int, said: str | None
    ) -> PageSignals | None:
        """The signals of a page with their reason; None in a study that records none."""
        word = hidden_word(study, block, position)
        if word is None:
            return None
        followed = self.word or word in (said or "").lower()
        if self.watched is None:
            return PageSignals(followed)
        left, away, copied, pasted = self.watched.split()
        return PageSignals(followed, PageWatch(int(left), float(away), int(copied), int(pasted)))
