"""Queries about who people are: second accounts, and what could be checked."""

from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select

from casewise.annotation.store.standing import Person
from casewise.annotation.store.tables import participant, second_account
from casewise.annotation.study.schema import Counting, SecondAccounts
from casewise.annotation.votes.collected import Identity, SecondAccount


def link(
    connection: Connection,
    now: datetime,
    kind: Literal["browser", "address"],
    person: Person,
    other: Person | None = None,
) -> None:
    """Record, once, that two people may be one: the later of them as the second account."""
    if other is not None and other.id > person.id:
        person, other = other, person
    which = second_account.c.other == other.id if other else second_account.c.other.is_(None)
    same = select(second_account.c.id).where(
        which, second_account.c.kind == kind, second_account.c.participant == person.id
    )
    if connection.execute(same.limit(1)).one_or_none() is None:
        row = {"participant": person.id, "other": other and other.id, "kind": kind, "time": now}
        connection.execute(insert(second_account).values(row))


def is_left_out(connection: Connection, rules: SecondAccounts, person: int) -> bool:
    """Whether a person is a second account whose votes don't count."""
    kinds = [kind for kind in ("browser", "address") if getattr(rules, kind) is Counting.LEAVE_OUT]
    found = select(second_account.c.id).where(
        second_account.c.participant == person,
        second_account.c.other.is_not(None),
        second_account.c.kind.in_(kinds),
    )
    return connection.execute(found.limit(1)).one_or_none() is not None


def forget(connection: Connection, person: int) -> None:
    """Delete what was recorded of a person and others."""
    either = (second_account.c.participant == person, second_account.c.other == person)
    connection.execute(delete(second_account).where(or_(*either)))


def identity(connection: Connection) -> Identity:
    """What could be checked of who people are."""
    kept = ~participant.c.purged
    first = participant.alias()
    rows = connection.execute(
        select(participant.c.rater, first.c.rater, second_account.c.kind)
        .select_from(
            second_account.join(
                participant, onclause=second_account.c.participant == participant.c.id
            ).outerjoin(first, onclause=second_account.c.other == first.c.id)
        )
        .order_by(second_account.c.id)
    )
    return Identity(
        _count(connection, kept & participant.c.platform_key.is_not(None)),
        _count(connection, kept & participant.c.signed),
        tuple(SecondAccount(*row) for row in rows),
    )


def _count(connection: Connection, where: ColumnElement[bool]) -> int:
    number: int = connection.execute(
        select(func.count()).select_from(participant).where(where)
    ).scalar_one()
    return number
