"""Answers to pages: written once, deleted when the person withdraws."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert

from casewise.annotation.store._lease import set_status
from casewise.annotation.store._records import Person
from casewise.annotation.store._tables import check_answer, vote
from casewise.annotation.study import Page, Study
from casewise.annotation.votes import PersonStatus
from casewise.cases import Case, Side


@dataclass(frozen=True, slots=True)
class Given:
    """An answer."""

    verdict: Side
    confidence: int | None
    reason: str | None
    seconds: float
    time: datetime


class Answers:
    """Where the answers of a study go."""

    def __init__(self, of: Study, cases: Sequence[Case]) -> None:
        self._queries = [case.query_id for case in cases]
        self._expected = {check.id: check.expected for check in of.attention.checks}

    def write(self, connection: Connection, person: Person, page: Page, given: Given) -> None:
        """Write the answer to a page."""
        shared = {
            "participant": person.id,
            "position": page.position,
            "seconds": given.seconds,
            "time": given.time,
        }
        if page.place is not None:
            row = insert(vote).values(
                place=page.place,
                query=self._queries[page.place],
                verdict=given.verdict,
                confidence=given.confidence,
                reason=given.reason,
                **shared,
            )
        else:
            assert page.check is not None
            passed = given.verdict == self._expected[page.check]
            row = insert(check_answer).values(name=page.check, passed=passed, **shared)
        connection.execute(row)


def erase(connection: Connection, person: int) -> None:
    """Delete a person's answers and free its block."""
    for table in (vote, check_answer):
        connection.execute(delete(table).where(table.c.participant == person))
    set_status(connection, person, PersonStatus.WITHDRAWN)
