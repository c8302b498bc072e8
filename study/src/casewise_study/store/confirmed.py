"""Places by a platform's word: people whom its export confirms have them before all others."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from casewise_study.store.blocks import known
from casewise_study.store.people import change, change_block, identity, log
from casewise_study.store.standing import Reconciled
from casewise_study.store.tables import AT_BLOCKS, COUNTS, assignment, exclusion, participant
from casewise_study.study.schema import Study
from casewise_study.votes.collected import PersonStatus


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
    left_out = identity(connection).left_out(of.second_accounts)

    def stands(row: Any) -> bool:
        done = row.status is PersonStatus.COMPLETED
        present = done or row.counts or row.lease_until >= now
        return present and row.confirmed is not False and row.rater not in left_out

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
