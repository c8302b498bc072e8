"""What a study has collected: by the app, or by a platform whose file was read."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from casewise.annotation.study import Arm
from casewise.cases import Side


class PersonStatus(StrEnum):
    """How far a person has come. ``abandoned``: the lease ran out before the last case."""

    STARTED = "started"
    ACTIVE = "active"
    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    WITHDRAWN = "withdrawn"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """A person by pseudonym. Nothing here leads back to an account."""

    rater: str
    status: PersonStatus
    panel: str = ""
    """Where, and in which wave, the person was recruited."""
    block: int | None = None
    """The block of the design, from 0."""
    started: datetime | None = None
    """In UTC, as every time here."""
    ended: datetime | None = None
    attempts: int = 0
    """At the comprehension check."""
    demographics: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class VoteRecord:
    """One person's verdict on one case."""

    rater: str
    case_id: str
    query_id: str
    arm: Arm
    verdict: Side
    position: int
    """Among the person's pages, from 0, attention checks counted."""
    time: datetime | None = None
    seconds: float | None = None
    """From the page's first showing to the answer."""
    confidence: int | None = None
    """1 (guessing) to 5 (certain)."""
    reason: str | None = None
    counted: bool = True
    """False for a block that was abandoned or withdrawn: another person judged it in full."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """One person's answer to one attention check."""

    rater: str
    check: str
    passed: bool
    position: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """All of it, people in the order in which they came, the rest in the order of answering."""

    people: tuple[PersonRecord, ...]
    votes: tuple[VoteRecord, ...]
    checks: tuple[CheckRecord, ...] = ()
    shared_browsers: int | None = None
    """People from whose browser the study was then opened under another id, as far as its cookie
    tells; None where nobody looked."""
