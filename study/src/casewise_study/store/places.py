"""Places in a study: who gets which block, whether one is to be had, and how far the study is.

People whom a platform's export confirms have places before all others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import count
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, case, func, select, true, update
from sqlalchemy.orm import Session, aliased

from casewise.statistics import BoolArray, IntArray
from casewise_study.statistics.stopping import decided_at
from casewise_study.store.tables import Answer, Person, Served, SharedBrowser
from casewise_study.study.block_design import DrawnFrom, draw_block
from casewise_study.study.schema import Block, Counting, Platform, Study
from casewise_study.votes.collected import AT_BLOCK, Identity, PersonStatus, SecondAccount


class Vacancy(StrEnum):
    """Vacancy of a study for somebody new."""

    OPEN = "open"
    HELD = "held"
    """Every block that is not completed is held at present."""
    PAUSED = "paused"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Changes by a platform's export; a second reading of the same changes nothing."""

    confirmed: int
    """People confirmed now, who were not before."""
    released: int
    """People who lost a place."""
    placed: int
    """People who had no place, and got one that was released."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the study."""

    places: Vacancy
    paused: bool
    blocks: int
    completed: int
    active: int
    """Blocks held by a person, those past their lease among them."""
    expired: int
    """Blocks held past their lease: the next person who finds no free block gets one of them."""
    unconfirmed: int
    """Blocks held or completed by people whom nobody has confirmed: others may have them too."""
    counts: tuple[tuple[int, int], ...]
    """Safe and unsafe votes that count, of each cell of the design."""

    @property
    def free(self) -> int:
        """Blocks that nobody holds."""
        return self.blocks - self.completed - self.active


def known(of: Study) -> ColumnElement[bool]:
    """Condition on people: not invented, by a signed link or the platform's word."""
    if of.recruitment.platform is Platform.NONE:
        return true()
    return Person.signed | Person.confirmed.is_(true())


def _expired(now: datetime) -> ColumnElement[bool]:
    return Person.counts & (Person.status == PersonStatus.ACTIVE) & (Person.lease_until < now)


def _doubt(of: Study, now: datetime) -> ColumnElement[int]:
    """Doubt of a person: 2 whose lease has run out, 1 of an unknown one, 0 of all others."""
    return case((_expired(now), 2), (~known(of), 1), else_=0)


def _holders(session: Session, of: Study, now: datetime) -> Sequence[Any]:
    """Rows of the people who judge or have judged a block, spares too."""
    doubt = _doubt(of, now).label("doubt")
    columns = (Person.id, Person.rater, Person.status, Person.block, Person.drawn, Person.counts)
    others = (Person.lease_until, Person.confirmed, known(of).label("known"), doubt)
    query = select(*columns, *others).where(Person.status.in_(AT_BLOCK), Person.excluded.is_(None))
    return session.execute(query).all()


def lease(
    session: Session, of: Study, cells: DrawnFrom | None, person: Person, now: datetime
) -> None:
    """Lease a block to a person, if one is to be had; one after another.

    A place that only somebody unknown holds keeps nobody out: the next person gets the block as a
    spare, whose votes count once the platform's export says so.

    Args:
        session: A transaction.
        of: The study.
        cells: What blocks are drawn from under sequential collection; None: they are planned.
        person: Who has none yet.
        now: The time.
    """
    if session.execute(select(Served.paused).with_for_update()).scalar_one():
        return
    drawn, spare = _draw(session, of, cells, person, now) if cells else (None, False)
    if drawn == ():
        return
    holders = _holders(session, of, now)
    people = Counter(row.block for row in holders)
    blocks = {row.block: row.known for row in holders if row.counts}
    if cells:
        # A drawn block keeps its number while a person is at it, who may come to count again.
        number = next(number for number in count() if not people[number])
    else:
        free = set(range(len(of.design.blocks))) - blocks.keys()
        if not free and (number_left := _take_over(session, now)) is not None:
            free = {number_left}
        if not free:
            spare, free = True, {number for number, is_known in blocks.items() if not is_known}
        if not free:
            return
        number = min(free, key=lambda block: (people[block], block))
    person.block, person.counts = number, not spare
    person.drawn = None if drawn is None else [*map(int, drawn)]
    person.position, person.shown = 0, now
    person.lease_until = now + timedelta(minutes=of.timing.lease_minutes)
    person.status = PersonStatus.ACTIVE


def _take_over(session: Session, now: datetime) -> int | None:
    """End the lease that ran out first; its block."""
    oldest = select(Person).where(_expired(now)).order_by(Person.lease_until).limit(1)
    late = session.scalars(oldest.with_for_update(skip_locked=True)).one_or_none()
    if late is None:
        return None
    late.counts = False
    late.end(PersonStatus.ABANDONED, now)
    session.flush()
    return late.block


def renew_leases(session: Session, of: Study, now: datetime) -> None:
    """Give whoever had a place when the server was last heard of a whole lease from now."""
    before = latest(session)
    if before is not None:
        is_active = Person.counts & (Person.status == PersonStatus.ACTIVE)
        until = now + timedelta(minutes=of.timing.lease_minutes)
        renewed = update(Person).where(is_active, Person.lease_until >= before)
        session.execute(renewed.values(lease_until=until))


def latest(session: Session) -> datetime | None:
    """The latest time in the database; None in a new one."""
    moments = (Person.started, Person.shown, Person.ended)
    last = session.execute(select(*map(func.max, moments))).one()
    return max(filter(None, last), default=None)


def _draw(
    session: Session, of: Study, cells: DrawnFrom, person: Person, now: datetime
) -> tuple[Block, bool]:
    """Draw a block, and tell whether it is a spare; empty where no cell wants votes.

    Takes leases that have run out if needed.
    """
    while True:
        present, without_expired, firm = _Demand.of(session, of, now)
        spare = not (present.wanted.any() or without_expired.wanted.any())
        wanted = firm.wanted if spare else present.wanted
        if wanted.any():
            rng = np.random.default_rng((of.seed, person.id))
            return draw_block(cells, np.flatnonzero(wanted), present.turn, rng), spare
        if spare or _take_over(session, now) is None:
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
    def of(session: Session, of: Study, now: datetime) -> "tuple[_Demand, _Demand, _Demand]":
        """Demand at present; without people whose lease has run out; without unknown ones too."""
        cells, most, rule = len(of.design.cells), of.votes, of.collection.boundary
        live = [row for row in _holders(session, of, now) if row.counts]
        columns = (_doubt(of, now), Answer.place, Answer.verdict == "safe")
        rows = session.execute(_live_votes(*columns).order_by(Answer.time, Answer.participant))
        votes = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 3)

        def demand(most_doubt: int) -> "_Demand":
            holders = [row for row in live if row.doubt <= most_doubt]
            places = [place for row in holders for place in row.drawn or ()]
            _, cell, is_safe = votes[votes[:, 0] <= most_doubt].T
            stops = decided_at(rule, cell, is_safe, cells)
            counts = np.bincount(cell, minlength=cells)
            load = np.bincount(np.array(places, np.int64), minlength=cells)
            undecided = (stops == 0) & (counts < most)
            safe = np.bincount(cell, is_safe, minlength=cells).astype(np.int64)
            leading = np.maximum(safe, counts - safe) + load - counts
            turn = load + most * (leading >= rule.majorities(most)[load])
            at_work = any(row.status is PersonStatus.ACTIVE for row in holders)
            return _Demand(turn, undecided, undecided & (load < most), at_work)

        return demand(2), demand(1), demand(0)


def _live_votes(*columns: Any) -> Any:
    """Select columns of the votes that count."""
    return select(*columns).join(Person).where(Person.counts, Answer.place.is_not(None))


def places(session: Session, of: Study, now: datetime) -> Vacancy:
    """Vacancy for somebody new."""
    if of.collection.is_sequential:
        views = _Demand.of(session, of, now)
        vacant = any(view.wanted.any() for view in views)
        # Whoever's lease has run out may never come back: nobody waits for them.
        complete = not (vacant or views[-1].undecided.any() or views[-1].at_work)
    else:
        blocks = len(of.design.blocks)
        live = [row for row in _holders(session, of, now) if row.counts]
        vacant = len(live) < blocks or any(row.doubt for row in live)
        done = [row.status is PersonStatus.COMPLETED and row.known for row in live]
        complete = sum(done) >= blocks
    if complete:
        return Vacancy.COMPLETE
    if session.execute(select(Served.paused)).scalar_one():
        return Vacancy.PAUSED
    return Vacancy.OPEN if vacant else Vacancy.HELD


def progress(session: Session, of: Study, now: datetime) -> Progress:
    """Figures for the administrator."""
    live = [row for row in _holders(session, of, now) if row.counts]
    statuses = Counter(row.status for row in live)
    tally = Counter[tuple[int, str]]()
    for place, verdict, number in session.execute(
        _live_votes(Answer.place, Answer.verdict, func.count()).group_by(
            Answer.place, Answer.verdict
        )
    ):
        tally[place, verdict] = number
    return Progress(
        places=places(session, of, now),
        paused=session.execute(select(Served.paused)).scalar_one(),
        blocks=max(len(of.design.blocks), *(row.block + 1 for row in live), 0),
        completed=statuses[PersonStatus.COMPLETED],
        active=statuses[PersonStatus.ACTIVE],
        expired=sum(row.doubt == 2 for row in live),
        unconfirmed=sum(not row.known for row in live),
        counts=tuple(
            (tally[place, "safe"], tally[place, "unsafe"]) for place in range(len(of.design.cells))
        ),
    )


def second_accounts(session: Session) -> tuple[SecondAccount, ...]:
    """Signs that two people are one, by their pseudonyms."""
    other = aliased(Person)
    # One statement: between two, somebody new may begin.
    signs = (
        select(Person.rater, other.rater)
        .select_from(SharedBrowser)
        .join(Person, SharedBrowser.participant == Person.id)
        .outerjoin(other, SharedBrowser.other == other.id)
        .order_by(SharedBrowser.id)
    )
    return tuple(SecondAccount(*row) for row in session.execute(signs))


def left_out(session: Session, rule: Counting) -> frozenset[str]:
    """Second accounts whose votes don't count by the study's rule."""
    return Identity(second_accounts(session)).left_out(rule)


def reconcile(
    session: Session, standings: Mapping[str, bool | None], of: Study, now: datetime
) -> Reconciled:
    """Confirm people, and give each block to the best of those who are or were at it.

    Nothing is deleted: who loses a place goes on as a spare, and gets one again if a later export
    has the person.

    Args:
        session: A transaction.
        standings: The platform's word by ``platform_key``: true for work that it has, false for
            work that is returned, rejected and the like, None for people still at work there.
        of: The study.
        now: The time.
    """
    confirmed = _confirm(session, standings)
    released, placed = _settle(session, of, now)
    return Reconciled(confirmed, released, placed)


def _confirm(session: Session, standings: Mapping[str, bool | None]) -> int:
    """Write down the platform's word; the number of people confirmed who were not before.

    Who isn't in the export is unknown, unless the link was signed or an earlier export had the
    person: that of another wave lacks all of the first.
    """
    came = select(Person).where(Person.platform_key.is_not(None), ~Person.purged)
    number = 0
    for person in session.scalars(came.order_by(Person.id).with_for_update()):
        unsaid = person.confirmed if person.signed or person.confirmed else False
        word = standings.get(person.platform_key or "", unsaid)
        if word is None:
            word = person.confirmed or None
        number += bool(word) and word is not person.confirmed
        person.confirmed = word
    session.flush()
    return number


def _settle(session: Session, of: Study, now: datetime) -> tuple[int, int]:
    """Say anew whose block counts; the numbers of people who lost a place, and who got one."""
    rows = _holders(session, of, now)
    second = left_out(session, of.second_accounts)

    def stands(row: Any) -> bool:
        done = row.status is PersonStatus.COMPLETED
        present = done or row.counts or row.lease_until >= now
        return present and row.confirmed is not False and row.rater not in second

    def order(row: Any) -> tuple[bool, bool, bool, int]:
        return row.status is not PersonStatus.COMPLETED, not row.known, not row.counts, row.id

    blocks, cells = set[int](), Counter[int]()
    chosen = set[int]()
    for row in sorted(filter(stands, rows), key=order):
        drawn = row.drawn or ()
        if row.block not in blocks and all(cells[place] < of.votes for place in drawn):
            blocks.add(row.block)
            cells.update(drawn)
            chosen.add(row.id)
    released = [row.id for row in rows if row.counts and row.id not in chosen]
    placed = [row.id for row in rows if not row.counts and row.id in chosen]
    # Places are left before they are taken: a block has one person whose votes count.
    for people, counts in ((released, False), (placed, True)):
        session.execute(update(Person).where(Person.id.in_(people)).values(counts=counts))
    return len(released), len(placed)
