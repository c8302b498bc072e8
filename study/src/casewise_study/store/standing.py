"""Records of the store: people, their steps, the study's progress."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from casewise_study.study.schema import Block
from casewise_study.votes.collected import PersonStatus


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who has opened the study's address and agreed to nothing yet."""

    key: str
    """Random; the person's own from the consent on."""
    platform_key: str | None = None
    """The platform's id of the person, as ``Secrets.platform_key`` hides it."""
    panel: str = ""
    signed: bool = False
    """True if the platform signed the link."""
    earlier: str | None = None
    """The key of the person who was known in this browser before."""


@dataclass(frozen=True, slots=True)
class Person:
    """A participant: account, status, block and page."""

    id: int
    key: str
    rater: str
    status: PersonStatus
    outcome: PersonStatus | None
    """Code that the person was shown, once it has ended."""
    attempts: int
    """At the comprehension check."""
    passed: bool
    """True if it was passed."""
    block: int | None = None
    position: int | None = None
    """The first page without an answer, from 0."""
    shown: datetime | None = None
    """Time at which that page was first shown."""
    about_due: bool = False
    """True if the questions after the last case are still to be asked."""
    drawn: Block | None = None
    """The cells of a block that was drawn as the person came; None of a planned one."""


class Taken(StrEnum):
    """Outcome of an answer."""

    YES = "yes"
    BEFORE = "before"
    """The page has its answer already, or is not the one to answer: nothing has changed."""
    TOO_SOON = "too_soon"


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """Outcome of an answer, and the person's next page."""

    person: Person
    taken: Taken


class Vacancy(StrEnum):
    """Vacancy of a study for somebody new."""

    OPEN = "open"
    HELD = "held"
    """Every block that is not completed is held at present."""
    PAUSED = "paused"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Changes by a platform's export; a second reading of the same changes nothing."""

    confirmed: int
    """People confirmed now, who were not before."""
    released: int
    """People who lost a place."""
    placed: int
    """People who had no place, and got one that was released."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the study."""

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
    """Seconds of every vote that counts."""
    unconfirmed: int = 0
    """Blocks held or completed by people whom nobody has confirmed: others may have them too."""

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return self.blocks - self.completed - self.active
