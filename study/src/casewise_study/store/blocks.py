"""Queries about blocks: who gets which, whether one is to be had, and how far the study is.

People whom a platform's export confirms have places before all others.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from casewise.statistics import BoolArray, IntArray
from casewise_study.statistics.stopping import decided_at
from casewise_study.store.people import (
    change,
    change_block,
    count,
    end,
    latest,
    left_out,
    log,
)
from casewise_study.store.standing import Person, Progress, Reconciled, Vacancy
from casewise_study.store.tables import (
    AT_BLOCKS,
    COUNTS,
    assignment,
    block,
    event,
    exclusion,
    participant,
    study,
    vote,
)
from casewise_study.study.block_design import DrawnFrom, draw_block
from casewise_study.study.schema import Block, Platform, Study
from casewise_study.votes.collected import PersonStatus


def known(of: Study) -> ColumnElement[bool]:
    """Condition on people: not invented, by a signed link or the platform's word."""
    if of.recruitment.platform is Platform.NONE:
        return true()
    return or_(participant.c.signed, participant.c.confirmed.is_(true()))


_people = (
    select(assignment.c.block, func.count().label("number"))
    .select_from(assignment.join(participant))
    .where(AT_BLOCKS)
    .group_by(assignment.c.block)
    .subquery()
)
_at_it = func.coalesce(_people.c.number, 0)


def _next_block(connection: Connection, *where: ColumnElement[bool]) -> int | None:
    """The block with the fewest people of some, locked; None if there is none."""
    with_people = block.outerjoin(_people, onclause=_people.c.block == block.c.number)
    query = select(block.c.number).select_from(with_people).where(*where)
    query = query.order_by(_at_it, block.c.number).limit(1)
    locked = query.with_for_update(skip_locked=True, of=block)
    return connection.execute(locked).scalar_one_or_none()


def _held(*where: ColumnElement[bool]) -> ColumnElement[bool]:
    """Condition on blocks: held or completed by somebody such."""
    holders = exists().select_from(assignment.join(participant))
    return holders.where(assignment.c.block == block.c.number, COUNTS, *where)


def lease(
    connection: Connection, of: Study, cells: DrawnFrom | None, person: Person, now: datetime
) -> bool:
    """Lease a block to a person, if one is to be had.

    Two who reach for one block in the same moment: the database lets one have it, and the other's
    transaction is run again. Blocks are drawn one after another: who draws locks the study's row.
    A place that only somebody unknown holds keeps nobody out: the next person gets the block as a
    spare, whose votes count once the platform's export says so.

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
    drawn, spare = _draw(connection, of, cells, person, now) if cells else (None, False)
    if drawn == ():
        return False
    # A drawn block keeps its number while a person is at it, who may come to count again.
    number = _next_block(connection, ~_held(), *((_at_it == 0,) if cells else ()))
    if number is None:
        number = _add_block(connection) if cells else _take_over(connection, now)
    if number is None:
        number, spare = _next_block(connection, _held(~known(of))), True
        if number is None:
            return False
    connection.execute(
        insert(assignment).values(
            block=number,
            participant=person.id,
            status=PersonStatus.ABANDONED if spare else PersonStatus.ACTIVE,
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
    return select(*columns).select_from(vote.join(participant).join(assignment)).where(COUNTS)


def _expired(now: datetime) -> ColumnElement[bool]:
    return (assignment.c.status == PersonStatus.ACTIVE) & (assignment.c.lease_until < now)


def _add_block(connection: Connection) -> int:
    """Add a block beyond those planned: towards the end drawn ones may be short, and so more."""
    number: int = connection.execute(select(func.max(block.c.number) + 1)).scalar_one()
    connection.execute(insert(block).values(number=number))
    return number


def _draw(
    connection: Connection, of: Study, cells: DrawnFrom, person: Person, now: datetime
) -> tuple[Block, bool]:
    """Draw a block, and tell whether it is a spare; empty where no cell wants votes.

    Takes leases that have run out if needed.
    """
    while True:
        held, kept, firm = _Demand.of(connection, of, now)
        spare = not (held.wanted.any() or kept.wanted.any())
        wanted = firm.wanted if spare else held.wanted
        if wanted.any():
            rng = np.random.default_rng((of.seed, person.id))
            return draw_block(cells, np.flatnonzero(wanted), held.turn, rng), spare
        if spare or _take_over(connection, now) is None:
            return (), False


@dataclass(frozen=True, slots=True, eq=False)
class _Demand:
    """Votes that cells want under sequential collection. Shapes ``(cells,)``."""

    turn: IntArray
    """Order of the cells: first those with the least load, that is votes in hand and pages of
    leased blocks without an answer yet; last those that these answers alone may decide."""
    undecided: BoolArray
    """Cells undecided by the votes in hand, with fewer than the most."""
    wanted: BoolArray
    """Undecided cells whose load is below the most."""
    at_work: bool
    """True if people hold blocks and have not finished."""

    @staticmethod
    def of(connection: Connection, of: Study, now: datetime) -> "tuple[_Demand, _Demand, _Demand]":
        """Demand at present; without people whose lease has run out; without unknown ones too."""
        cells, most, rule = len(of.design.cells), of.votes, of.collection.boundary
        # The views that leave a person out: 2 the second and third, 1 the third.
        doubt = case((_expired(now), 2), (~known(of), 1), else_=0)
        blocks = select(assignment.c.drawn, assignment.c.status, doubt).where(COUNTS)
        live = connection.execute(blocks.select_from(assignment.join(participant))).all()
        # In one number, since drivers take their time for each value.
        coded = 2 * doubt + case((vote.c.verdict == "safe", 1), else_=0)
        votes = _live_votes(8 * vote.c.place + coded).order_by(vote.c.time, vote.c.id)
        said = np.array(connection.execute(votes).scalars().all(), np.int64)

        def demand(most_doubt: int) -> "_Demand":
            held = [row for row in live if row[2] <= most_doubt]
            places = [place for row in held for place in row[0] or ()]
            counted = said[said // 2 % 4 <= most_doubt]
            cell, is_safe = counted // 8, counted & 1
            stops = decided_at(rule, cell, is_safe, cells)
            counts = np.bincount(cell, minlength=cells)
            load = np.bincount(np.array(places, np.int64), minlength=cells)
            undecided = (stops == 0) & (counts < most)
            safe = np.bincount(cell, is_safe, minlength=cells).astype(np.int64)
            leading = np.maximum(safe, counts - safe) + load - counts
            turn = load + most * (leading >= rule.majorities(most)[load])
            at_work = any(row[1] is PersonStatus.ACTIVE for row in held)
            return _Demand(turn, undecided, undecided & (load < most), at_work)

        return demand(2), demand(1), demand(0)


def places(connection: Connection, of: Study, now: datetime) -> Vacancy:
    """Vacancy for somebody new."""
    if of.collection.is_sequential:
        views = _Demand.of(connection, of, now)
        vacant = any(view.wanted.any() for view in views)
        # Whoever's lease has run out may never come back: nobody waits for them.
        complete = not (vacant or views[-1].undecided.any() or views[-1].at_work)
    else:
        blocks, counts = count(connection, block), _holders(connection)
        unknown = _holders(connection, ~known(of))
        late = count(connection, assignment, _expired(now))
        vacant = counts.total() < blocks or late > 0 or unknown.total() > 0
        complete = counts[PersonStatus.COMPLETED] - unknown[PersonStatus.COMPLETED] >= blocks
    if complete:
        return Vacancy.COMPLETE
    if connection.execute(select(study.c.paused)).scalar_one():
        return Vacancy.PAUSED
    return Vacancy.OPEN if vacant else Vacancy.HELD


def _holders(connection: Connection, *where: ColumnElement[bool]) -> Counter[PersonStatus]:
    """Count some of the people whose block counts, by its status."""
    return _statuses(connection, assignment.c.status, COUNTS, *where)


def _statuses(
    connection: Connection, status: ColumnElement[PersonStatus], *where: ColumnElement[bool]
) -> Counter[PersonStatus]:
    """Count people by a status of theirs."""
    people = select(status, func.count()).select_from(participant.outerjoin(assignment))
    rows = connection.execute(people.where(*where).group_by(status))
    return Counter({row[0]: row[1] for row in rows})


def progress(connection: Connection, of: Study, now: datetime) -> Progress:
    """Figures for the administrator."""
    counts = _holders(connection)
    people = _statuses(connection, participant.c.status, ~participant.c.purged)
    rows = connection.execute(_live_votes(vote.c.place, vote.c.verdict, vote.c.seconds)).all()
    tally = Counter((place, verdict) for place, verdict, _ in rows)
    cells = range(len(of.design.cells))
    return Progress(
        places=places(connection, of, now),
        paused=connection.execute(select(study.c.paused)).scalar_one(),
        blocks=count(connection, block),
        completed=counts[PersonStatus.COMPLETED],
        active=counts[PersonStatus.ACTIVE],
        unconfirmed=_holders(connection, ~known(of)).total(),
        expired=count(connection, assignment, _expired(now)),
        people={status: people[status] for status in PersonStatus},
        declined=count(connection, event, event.c.kind == "declined"),
        passed=count(connection, participant, participant.c.passed.is_not(None)),
        answered_one=count(connection, assignment, assignment.c.position > 0),
        counts=tuple((tally[place, "safe"], tally[place, "unsafe"]) for place in cells),
        seconds=tuple(seconds for _, _, seconds in rows),
    )


def reconcile(
    connection: Connection, said: Mapping[str, bool | None], of: Study, now: datetime
) -> Reconciled:
    """Confirm people, and give each block to the best of those who are or were at it.

    Nothing is deleted: who loses a place goes on as a spare, and gets one again if a later export
    has the person.

    Args:
        connection: To the database.
        said: The platform's word by ``platform_key``: true for work that it has, false for work
            that is returned, rejected and the like, None for people still at work there.
        of: The study.
        now: The time.
    """
    confirmed = _confirm(connection, said, now)
    released, placed = _settle(connection, of, now)
    return Reconciled(confirmed, released, placed)


def _confirm(connection: Connection, said: Mapping[str, bool | None], now: datetime) -> int:
    """Write down the platform's word; the number of people confirmed who were not before.

    Who isn't in the export is unknown, unless the link was signed or an earlier export had the
    person: that of another wave lacks all of the first.
    """
    columns = (participant.c[name] for name in ("id", "platform_key", "signed", "confirmed"))
    came = participant.c.platform_key.is_not(None) & ~participant.c.purged
    number = 0
    for row in connection.execute(select(*columns).where(came).with_for_update()).all():
        unsaid = row.confirmed if row.signed or row.confirmed else False
        word = said.get(row.platform_key, unsaid)
        if word is None:
            word = row.confirmed or None
        if word is not row.confirmed:
            change(connection, row.id, confirmed=word)
            log(connection, now, "confirmed" if word else "unconfirmed", row.id)
            number += bool(word)
    return number


def _settle(connection: Connection, of: Study, now: datetime) -> tuple[int, int]:
    """Say anew whose block counts; the numbers of people who lost a place, and who got one."""
    person = (participant.c[name] for name in ("id", "rater", "status", "confirmed"))
    held = (assignment.c[name] for name in ("block", "drawn", "lease_until"))
    query = (
        select(*person, *held, COUNTS.label("counts"), known(of).label("known"))
        .select_from(participant.join(assignment).outerjoin(exclusion))
        .where(AT_BLOCKS, exclusion.c.participant.is_(None))
    )
    rows = connection.execute(query).all()
    second = left_out(connection, of.second_accounts)

    def stands(row: Any) -> bool:
        done = row.status is PersonStatus.COMPLETED
        present = done or row.counts or row.lease_until >= now
        return present and row.confirmed is not False and row.rater not in second

    def order(row: Any) -> tuple[bool, bool, bool, int]:
        return row.status is not PersonStatus.COMPLETED, not row.known, not row.counts, row.id

    taken, cells = set[int](), Counter[int]()
    chosen = set[int]()
    for row in sorted((row for row in rows if stands(row)), key=order):
        drawn = row.drawn or ()
        if row.block not in taken and all(cells[place] < of.votes for place in drawn):
            taken.add(row.block)
            cells.update(drawn)
            chosen.add(row.id)
    # Places are left before they are taken: a block has one person whose votes count.
    changed = [row for row in rows if row.counts != (row.id in chosen)]
    for row in sorted(changed, key=lambda row: not row.counts):
        change_block(
            connection, row.id, status=PersonStatus.ABANDONED if row.counts else row.status
        )
        log(connection, now, "released" if row.counts else "placed", row.id)
    released = sum(row.counts for row in changed)
    return released, len(changed) - released
