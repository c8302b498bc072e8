"""Queries about blocks: who gets which, whether one is to be had, and how far the study is."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    case,
    exists,
    func,
    insert,
    select,
    update,
)

from casewise_study.store.people import (
    change,
    change_block,
    count,
    end,
    latest,
    log,
    own_votes,
)
from casewise_study.store.standing import Person, Progress, Vacancy
from casewise_study.store.tables import (
    LIVE,
    assignment,
    block,
    event,
    participant,
    study,
    vote,
)
from casewise_study.study.block_design import DrawnFrom, draw_block
from casewise_study.study.schema import Block, Study
from casewise_study.study.study_rules import Ints
from casewise_study.votes.collected import BoolArray, PersonStatus

_FREE = (
    select(block.c.number)
    .where(~exists().where(assignment.c.block == block.c.number).where(LIVE))
    .order_by(block.c.number)
    .limit(1)
)


def lease(
    connection: Connection, of: Study, cells: DrawnFrom | None, person: Person, now: datetime
) -> bool:
    """Lease a block to a person, if one is to be had.

    Two who reach for one block in the same moment: the database lets one have it, and the other's
    transaction is run again. Blocks are drawn one after another: who draws locks the study's row.

    Args:
        connection: To the database.
        of: The study.
        cells: What blocks are drawn from under sequential collection; None: they are planned.
        person: Who has none yet.
        now: The time.
    """
    paused = select(study.c.paused)
    if connection.execute(paused.with_for_update() if cells else paused).scalar_one():
        return False
    drawn = _draw(connection, of, cells, person, now) if cells else None
    if drawn == ():
        return False
    number = connection.execute(_FREE.with_for_update(skip_locked=True)).scalar_one_or_none()
    if number is None:
        number = _add_block(connection) if cells else _take_over(connection, now)
        if number is None:
            return False
    connection.execute(
        insert(assignment).values(
            block=number,
            participant=person.id,
            status=PersonStatus.ACTIVE,
            position=0,
            shown=now,
            lease_until=now + timedelta(minutes=of.timing.lease_minutes),
            drawn=drawn,
        )
    )
    change(connection, person.id, status=PersonStatus.ACTIVE)
    log(connection, now, "leased", person.id)
    return True


def renew_leases(connection: Connection, now: datetime, until: timedelta) -> None:
    """Give whoever had a place when the server was last heard of a whole lease from now."""
    before = latest(connection)
    if before is not None:
        held = (assignment.c.status == PersonStatus.ACTIVE) & (assignment.c.lease_until >= before)
        connection.execute(update(assignment).where(held).values(lease_until=now + until))


def _take_over(connection: Connection, now: datetime) -> int | None:
    oldest = (
        select(assignment.c.block, assignment.c.participant)
        .select_from(assignment.join(participant))
        .where(_expired(now))
        .order_by(assignment.c.lease_until)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    held = connection.execute(oldest).one_or_none()
    if held is None:
        return None
    change_block(connection, held.participant, status=PersonStatus.ABANDONED)
    end(connection, held.participant, PersonStatus.ABANDONED, now)
    return int(held.block)


def _live_votes(*columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns of the votes that count."""
    votes = vote.join(assignment, onclause=own_votes())
    return select(*columns).select_from(votes).where(LIVE)


def _expired(now: datetime) -> ColumnElement[bool]:
    return (assignment.c.status == PersonStatus.ACTIVE) & (assignment.c.lease_until < now)


def _add_block(connection: Connection) -> int:
    """Add a block beyond those planned: towards the end drawn ones may be short, and so more."""
    number: int = connection.execute(select(func.max(block.c.number) + 1)).scalar_one()
    connection.execute(insert(block).values(number=number))
    return number


def _draw(
    connection: Connection, of: Study, cells: DrawnFrom, person: Person, now: datetime
) -> Block:
    """Draw a block; empty where no cell wants votes. Takes leases that have run out if needed."""
    while True:
        held, kept = _Demand.of(connection, of, now)
        if held.wanted.any():
            rng = np.random.default_rng((of.seed, person.id))
            return draw_block(cells, np.flatnonzero(held.wanted), held.turn, rng)
        if not kept.wanted.any() or _take_over(connection, now) is None:
            return ()


@dataclass(frozen=True, slots=True, eq=False)
class _Demand:
    """Votes that cells want under sequential collection. Shapes ``(cells,)``."""

    turn: Ints
    """Order of the cells: first those with the least load, that is votes in hand and pages of
    leased blocks without an answer yet; last those that these answers alone may decide."""
    undecided: BoolArray
    """Cells undecided by the votes in hand, with fewer than the most."""
    wanted: BoolArray
    """Undecided cells whose load is below the most."""
    at_work: bool
    """True if people hold blocks and have not finished."""

    @staticmethod
    def of(connection: Connection, of: Study, now: datetime) -> "tuple[_Demand, _Demand]":
        """Demand at present, and demand without the people whose lease has run out."""
        cells, most, late = len(of.design.cells), of.votes, _expired(now)
        rule = of.collection
        blocks = select(assignment.c.drawn, assignment.c.status, late).where(LIVE)
        live = connection.execute(blocks).all()
        # In one number, since drivers take their time for each value.
        coded = case((late, 2), else_=0) + case((vote.c.verdict == "safe", 1), else_=0)
        votes = _live_votes(4 * vote.c.place + coded).order_by(vote.c.time, vote.c.id)
        said = np.array(connection.execute(votes).scalars().all(), np.int64)

        def demand(expired: bool) -> "_Demand":
            held = [row for row in live if expired or not row[2]]
            places = [place for row in held for place in row[0] or ()]
            counted = said if expired else said[said & 2 == 0]
            stops = rule.stops(counted // 4, counted & 1, cells)
            counts = np.bincount(counted // 4, minlength=cells)
            load = np.bincount(np.array(places, np.int64), minlength=cells)
            undecided = (stops == 0) & (counts < most)
            safe = np.bincount(counted // 4, counted & 1, minlength=cells).astype(np.int64)
            leading = np.maximum(safe, counts - safe) + load - counts
            turn = load + most * (leading >= rule.majorities(most)[load])
            at_work = any(row[1] is PersonStatus.ACTIVE for row in held)
            return _Demand(turn, undecided, undecided & (load < most), at_work)

        return demand(True), demand(False)


def places(connection: Connection, of: Study, now: datetime) -> Vacancy:
    """Vacancy for somebody new."""
    if of.collection.is_sequential:
        held, kept = _Demand.of(connection, of, now)
        vacant = bool(held.wanted.any() or kept.wanted.any())
        # Whoever's lease has run out may never come back: nobody waits for them.
        complete = not (vacant or kept.undecided.any() or kept.at_work)
    else:
        blocks, counts, expired = block_counts(connection, now)
        completed = counts[PersonStatus.COMPLETED]
        vacant = completed + counts[PersonStatus.ACTIVE] < blocks or expired > 0
        complete = completed >= blocks
    if complete:
        return Vacancy.COMPLETE
    if connection.execute(select(study.c.paused)).scalar_one():
        return Vacancy.PAUSED
    return Vacancy.OPEN if vacant else Vacancy.HELD


def block_counts(connection: Connection, now: datetime) -> tuple[int, Counter[PersonStatus], int]:
    """Number of blocks, of assignments by status, and of assignments past their lease."""
    counts = _statuses(connection, assignment)
    return count(connection, block), counts, count(connection, assignment, _expired(now))


def _statuses(
    connection: Connection, table: Table, *where: ColumnElement[bool]
) -> Counter[PersonStatus]:
    """Count the rows of a table by status."""
    counts = select(table.c.status, func.count()).where(*where).group_by(table.c.status)
    return Counter({row[0]: row[1] for row in connection.execute(counts)})


def progress(connection: Connection, of: Study, now: datetime) -> Progress:
    """Figures for the administrator."""
    blocks, counts, expired = block_counts(connection, now)
    people = _statuses(connection, participant, ~participant.c.purged)
    rows = connection.execute(_live_votes(vote.c.place, vote.c.verdict, vote.c.seconds)).all()
    tally = Counter((place, verdict) for place, verdict, _ in rows)
    cells = range(len(of.design.cells))
    return Progress(
        places=places(connection, of, now),
        paused=connection.execute(select(study.c.paused)).scalar_one(),
        blocks=blocks,
        completed=counts[PersonStatus.COMPLETED],
        active=counts[PersonStatus.ACTIVE],
        expired=expired,
        people={status: people[status] for status in PersonStatus},
        declined=count(connection, event, event.c.kind == "declined"),
        passed=count(connection, participant, participant.c.passed.is_not(None)),
        answered_one=count(connection, assignment, assignment.c.position > 0),
        counts=tuple((tally[place, "safe"], tally[place, "unsafe"]) for place in cells),
        seconds=tuple(seconds for _, _, seconds in rows),
    )
