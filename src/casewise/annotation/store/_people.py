"""What the database knows of a person, and the log of changes."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select, update

from casewise.annotation.store._records import Person
from casewise.annotation.store._secrets import Secrets
from casewise.annotation.store._tables import assignment, event, participant
from casewise.annotation.votes import PersonStatus

_PERSON = select(
    participant.c.id,
    participant.c.key,
    participant.c.rater,
    participant.c.status,
    participant.c.outcome,
    participant.c.attempts,
    participant.c.passed,
    assignment.c.block,
    assignment.c.position,
    assignment.c.shown,
).select_from(participant.outerjoin(assignment))


def find(connection: Connection, where: ColumnElement[bool]) -> Person | None:
    """A person with its block."""
    row = connection.execute(_PERSON.where(where)).one_or_none()
    if row is None:
        return None
    return Person(
        id=row.id,
        key=row.key,
        rater=row.rater,
        status=PersonStatus(row.status),
        outcome=PersonStatus(row.outcome) if row.outcome else None,
        attempts=row.attempts,
        passed=row.passed is not None,
        block=row.block,
        position=row.position,
        shown=row.shown,
    )


def find_locked(connection: Connection, where: ColumnElement[bool]) -> Person | None:
    """The same; nobody else changes the person or its block until the transaction ends.

    The person's row stands for the block's too: who takes a block over locks both, and passes by
    those that are locked. In SQLite a transaction that writes is alone anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(participant.c.id).where(where).with_for_update())
    return find(connection, where)


def change(connection: Connection, person: int, **values: Any) -> None:
    """Change a person's row."""
    connection.execute(update(participant).where(participant.c.id == person).values(values))


def give_codes(connection: Connection, keys: Secrets) -> None:
    """Give a personal code to everybody who began before there were any."""
    lacking = participant.c.code_key.is_(None) & ~participant.c.purged
    for row in connection.execute(select(participant.c.id, participant.c.key).where(lacking)).all():
        change(connection, row.id, code_key=keys.code_key(keys.personal_code(row.key)))


def end(connection: Connection, person: int, status: PersonStatus, now: datetime) -> None:
    """A person has come to an end, with the code of this status."""
    change(connection, person, status=status, outcome=status, ended=now)
    log(connection, now, status, person)


def has_event(connection: Connection, kind: str, person: int) -> bool:
    """Whether it was written down of a person before."""
    same = select(event.c.id).where(event.c.kind == kind, event.c.participant == person)
    return connection.execute(same.limit(1)).one_or_none() is not None


def log(connection: Connection, now: datetime, kind: str, person: int | None = None) -> None:
    """Write down that something changed."""
    connection.execute(insert(event).values(time=now, participant=person, kind=kind))
