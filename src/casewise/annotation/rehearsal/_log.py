"""What simulated people report of their visits."""

from dataclasses import dataclass, field
from enum import StrEnum

from casewise.annotation.rehearsal._people import Manner
from casewise.cases import Side


class Outcome(StrEnum):
    """How a visit ended."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    WITHDRAWN = "withdrawn"
    LEFT = "left"
    """The browser was closed half-way."""
    FULL = "full"
    """There was nothing left to judge."""
    FAILED = "failed"
    """The server did not answer in time."""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that the server took: the next page came."""

    place: int | None
    """In the design's cells; None at an attention check."""
    check: str | None
    verdict: Side


@dataclass(slots=True)
class VisitLog:
    """One person's visit, from the person's side."""

    number: int
    platform_id: str
    manner: Manner
    panel: str
    outcome: Outcome = Outcome.FAILED
    code: str | None = None
    shown: list[int] = field(default_factory=list)
    """Places of the cells that were seen, each once, in order."""
    given: list[Given] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Seconds from each request to its whole answer, without those during an outage."""
    retries: int = 0
    """Requests that were sent again, as the server was away."""
    oddities: list[str] = field(default_factory=list)
    """What must not happen: an answer that contradicts the rules of a study."""
