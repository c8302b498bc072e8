"""Give blocks to people.

Free blocks go first, in their order. Where none is left, the block whose lease ended first is
taken over, and the person who held it is then ``abandoned``.
"""

from datetime import datetime, timedelta

from sqlalchemy import Connection, exists, func, insert, select, update

from casewise.annotation.store._people import change, end, log
from casewise.annotation.store._records import Person, Places
from casewise.annotation.store._tables import LIVE, assignment, block, participant, study
from casewise.annotation.votes import PersonStatus

_FREE = (
    select(block.c.number)
    .where(~exists().where(assignment.c.block == block.c.number).where(LIVE))
    .order_by(block.c.number)
    .limit(1)
)


def lease(connection: Connection, person: Person, now: datetime, until: timedelta) -> bool:
    """Give a person a block, if one is to be had.

    Two who reach for one block in the same moment: the database lets one have it, and the other's
    transaction is run again.
    """
    if connection.execute(select(study.c.paused)).scalar_one():
        return False
    number = connection.execute(_FREE.with_for_update(skip_locked=True)).scalar_one_or_none()
    if number is None:
        number = _take_over(connection, now)
    if number is None:
        return False
    connection.execute(
        insert(assignment).values(
            block=number,
            participant=person.id,
            status=PersonStatus.ACTIVE,
            position=0,
            shown=now,
            lease_until=now + until,
        )
    )
    change(connection, person.id, status=PersonStatus.ACTIVE)
    log(connection, now, "leased", person.id)
    return True


def _take_over(connection: Connection, now: datetime) -> int | None:
    oldest = (
        select(assignment.c.block, assignment.c.participant)
        .select_from(assignment.join(participant))
        .where(assignment.c.status == PersonStatus.ACTIVE, assignment.c.lease_until < now)
        .order_by(assignment.c.lease_until)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    found = connection.execute(oldest).one_or_none()
    if found is None:
        return None
    set_status(connection, found.participant, PersonStatus.ABANDONED)
    end(connection, found.participant, PersonStatus.ABANDONED, now)
    number: int = found.block
    return number


def set_status(connection: Connection, person: int, status: PersonStatus) -> None:
    """Of the block that a person holds or held."""
    held = update(assignment).where(assignment.c.participant == person)
    connection.execute(held.values(status=status))


def places(connection: Connection, now: datetime) -> Places:
    """Whether somebody new could have a block."""
    blocks, counts, expired = block_counts(connection, now)
    completed, active = counts.get("completed", 0), counts.get("active", 0)
    if completed >= blocks:
        return Places.COMPLETE
    if connection.execute(select(study.c.paused)).scalar_one():
        return Places.PAUSED
    return Places.OPEN if completed + active < blocks or expired else Places.HELD


def block_counts(connection: Connection, now: datetime) -> tuple[int, dict[str, int], int]:
    """How many blocks there are, how many of each status are held, and how many past their time."""
    blocks = connection.execute(select(func.count()).select_from(block)).scalar_one()
    grouped = select(assignment.c.status, func.count()).group_by(assignment.c.status)
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(grouped)}
    past = (
        select(func.count())
        .select_from(assignment)
        .where(assignment.c.status == PersonStatus.ACTIVE, assignment.c.lease_until < now)
    )
    return blocks, counts, connection.execute(past).scalar_one()
