"""Queries about whose a database is, and who its people are, as far as can be checked."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select

from casewise.annotation.store.standing import Person
from casewise.annotation.store.study_secrets import Secrets
from casewise.annotation.store.tables import block, participant, second_account, study
from casewise.annotation.study.schema import Counting, SecondAccounts, Study
from casewise.annotation.study.study_file import study_hashes
from casewise.annotation.votes.collected import Identity, Kind, SecondAccount
from casewise.errors import UsageError


def claim(connection: Connection, of: Study, keys: Secrets, now: datetime) -> None:
    """Bind a new database to a study, or check that it is this study's.

    Raises:
        UsageError: The database is of another study, or of other secrets.
    """
    own, *earlier = study_hashes(of)
    proof = keys.derived("proof")
    row = connection.execute(select(study)).one_or_none()
    if row is None:
        values = {"id": 1, "name": of.id, "hash": own, "secrets": proof, "paused": False}
        connection.execute(insert(study).values(values | {"created": now}))
        numbers = [{"number": number} for number in range(len(of.design.blocks))]
        connection.execute(insert(block), numbers)
    elif row.hash not in (own, *earlier):
        raise UsageError(
            f"the database holds the study {row.name!r} as it was when it was first served; "
            "this study file says something else. Serve the file as it was, or begin "
            "another database with --database"
        )
    elif row.secrets != proof:
        raise UsageError(
            "the database was made with other secrets: nobody who comes again would be known. "
            "Bring back its .secrets.json, or the variable CASEWISE_STUDY_SECRET"
        )


def link(
    connection: Connection,
    now: datetime,
    kind: Kind,
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
