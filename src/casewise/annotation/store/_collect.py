"""Read what has been collected."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, func, select

from casewise.annotation.store._lease import block_counts, places
from casewise.annotation.store._records import Progress
from casewise.annotation.store._tables import (
    LIVE,
    assignment,
    check_answer,
    event,
    participant,
    study,
    vote,
)
from casewise.annotation.study import Cell
from casewise.annotation.votes import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)


def collected(connection: Connection, cells: Sequence[Cell]) -> Collected:
    """All people but those whose data were purged, with their votes and checks."""
    return Collected(
        _people(connection),
        _votes(connection, cells),
        _checks(connection),
        _count(connection, event.c.kind == "another_id", event),
    )


def _people(connection: Connection) -> tuple[PersonRecord, ...]:
    rows = connection.execute(
        select(participant, assignment.c.block)
        .select_from(participant.outerjoin(assignment))
        .where(~participant.c.purged)
        .order_by(participant.c.started, participant.c.id)
    )
    return tuple(
        PersonRecord(
            rater=row.rater,
            status=PersonStatus(row.status),
            panel=row.panel,
            block=row.block,
            started=row.started,
            ended=row.ended,
            attempts=row.attempts,
        )
        for row in rows
    )


def _votes(connection: Connection, cells: Sequence[Cell]) -> tuple[VoteRecord, ...]:
    rows = connection.execute(
        select(vote, participant.c.rater, assignment.c.status)
        .select_from(vote.join(participant).join(assignment, onclause=_own()))
        .order_by(vote.c.time, vote.c.id)
    )
    return tuple(
        VoteRecord(
            rater=row.rater,
            case_id=cells[row.place].case_id,
            query_id=row.query,
            arm=cells[row.place].arm,
            verdict=row.verdict,
            position=row.position,
            time=row.time,
            seconds=row.seconds,
            confidence=row.confidence,
            reason=row.reason,
            counted=row.status in (PersonStatus.ACTIVE, PersonStatus.COMPLETED),
        )
        for row in rows
    )


def _checks(connection: Connection) -> tuple[CheckRecord, ...]:
    rows = connection.execute(
        select(check_answer, participant.c.rater)
        .select_from(check_answer.join(participant))
        .order_by(check_answer.c.time, check_answer.c.id)
    )
    return tuple(
        CheckRecord(row.rater, row.name, row.passed, row.position, row.seconds) for row in rows
    )


def latest(connection: Connection) -> datetime | None:
    """The last moment that was written down; None in a new database."""
    shown = connection.execute(select(func.max(assignment.c.shown))).scalar_one()
    logged = connection.execute(select(func.max(event.c.time))).scalar_one()
    return max((one for one in (shown, logged) if one is not None), default=None)


def progress(connection: Connection, cells: int, now: datetime) -> Progress:
    """Figures for the administrator."""
    blocks, counts, expired = block_counts(connection, now)
    grouped = (
        select(participant.c.status, func.count())
        .where(~participant.c.purged)
        .group_by(participant.c.status)
    )
    people = {PersonStatus(status): number for status, number in connection.execute(grouped)}
    counted = (
        select(vote.c.place, vote.c.verdict, vote.c.seconds)
        .select_from(vote.join(assignment, onclause=_own()))
        .where(LIVE)
    )
    rows = connection.execute(counted).all()
    tally = Counter((place, verdict) for place, verdict, _ in rows)
    return Progress(
        places=places(connection, now),
        paused=connection.execute(select(study.c.paused)).scalar_one(),
        blocks=blocks,
        completed=counts.get("completed", 0),
        active=counts.get("active", 0),
        expired=expired,
        people={status: people.get(status, 0) for status in PersonStatus},
        declined=_count(connection, event.c.kind == "declined", event),
        passed=_count(connection, participant.c.passed.is_not(None), participant),
        answered_one=_count(connection, assignment.c.position > 0, assignment),
        counts=tuple((tally[place, "safe"], tally[place, "unsafe"]) for place in range(cells)),
        seconds=tuple(seconds for _, _, seconds in rows),
    )


def _own() -> ColumnElement[bool]:
    return assignment.c.participant == vote.c.participant


def _count(connection: Connection, where: ColumnElement[bool], table: Table) -> int:
    found: int = connection.execute(
        select(func.count()).select_from(table).where(where)
    ).scalar_one()
    return found
