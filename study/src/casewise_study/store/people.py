"""Queries about people: who they are, their blocks, answers, and log of events."""

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from casewise.errors import UsageError
from casewise_study.store.standing import Person
from casewise_study.store.tables import (
    AT_BLOCKS,
    COUNTS,
    about_answer,
    assignment,
    block,
    check_answer,
    event,
    exclusion,
    page_signal,
    participant,
    second_account,
    study,
    vote,
)
from casewise_study.study.accounts import Secrets
from casewise_study.study.page_signals import PageSignals, PageWatch, sum_signals
from casewise_study.study.reading_times import Page
from casewise_study.study.schema import SecondAccounts, Study, StudyCell
from casewise_study.study.study_file import study_cases, study_hash
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    Identity,
    Kind,
    PersonRecord,
    PersonStatus,
    SecondAccount,
    VoteRecord,
)

REMARK, TOOL = "(exit)", "(tool)"
"""Names of the answers to the exit and tool questions; no demographic question has them."""

_PERSON = select(
    *(participant.c[name] for name in ("id", "key", "rater", "status", "outcome", "attempts")),
    participant.c.passed.is_not(None),
    *(assignment.c[name] for name in ("block", "position", "shown")),
    participant.c.about_due,
    assignment.c.drawn,
).select_from(participant.outerjoin(assignment))
"""Columns in the order of the fields of ``Person``."""


def find(connection: Connection, where: ColumnElement[bool]) -> Person | None:
    """Find a person and the block that the person holds."""
    row = connection.execute(_PERSON.where(where)).one_or_none()
    return None if row is None else Person(*row)


def find_locked(connection: Connection, where: ColumnElement[bool]) -> Person | None:
    """Find a person, and lock the person and the block until the transaction ends.

    The person's row stands for the block's too: who takes a block over locks both, and passes by
    those that are locked. In SQLite a transaction that writes is alone anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(participant.c.id).where(where).with_for_update())
    return find(connection, where)


def change(connection: Connection, person: int, **values: Any) -> None:
    """Change a person's row."""
    connection.execute(update(participant).where(participant.c.id == person).values(values))


def end(connection: Connection, person: int, status: PersonStatus, now: datetime) -> None:
    """End a person's participation with the code of a status."""
    change(connection, person, status=status, outcome=status, ended=now)
    log(connection, now, status, person)


def log(connection: Connection, now: datetime, kind: str, person: int | None = None) -> None:
    """Log an event."""
    connection.execute(insert(event).values(time=now, participant=person, kind=kind))


def change_block(connection: Connection, person: int, **values: Any) -> None:
    """Change the row of the block that a person holds or held."""
    held = update(assignment).where(assignment.c.participant == person)
    connection.execute(held.values(values))


def write_answer(
    connection: Connection,
    of: Study,
    person: Person,
    page: Page,
    given: Mapping[str, Any],
    signals: PageSignals | None,
) -> None:
    """Write the answer to a page: a vote, or whether an attention check was passed.

    Args:
        connection: To the database.
        of: The study.
        person: Whose answer it is.
        page: What was answered.
        given: By the names of the columns: verdict, confidence, reason, seconds, time.
        signals: Of the page; None where the study records none.
    """
    if page.place is not None:
        query = study_cases(of)[page.place].query_id
        row = insert(vote).values(place=page.place, query=query, **given)
    else:
        check = of.check(page.check)
        timed = {name: given[name] for name in ("seconds", "time")}
        passed = given["verdict"] == check.expected
        row = insert(check_answer).values(name=check.id, passed=passed, **timed)
    connection.execute(row.values(participant=person.id, position=page.position))
    if signals is not None:
        _write_signals(connection, person.id, page.position, signals, given["seconds"])


def _write_signals(
    connection: Connection, person: int, position: int, signals: PageSignals, seconds: float
) -> None:
    """Write the signals of a page; nobody is away for longer than its ``seconds``."""
    values: dict[str, Any] = {"participant": person, "position": position}
    values["honeypot"] = signals.honeypot
    if signals.watch is not None:
        values |= asdict(signals.watch) | {"away": min(signals.watch.away, seconds)}
    connection.execute(insert(page_signal).values(values))


IN_STUDY = (PersonStatus.STARTED, PersonStatus.ACTIVE, PersonStatus.COMPLETED)
"""Statuses of people who may have a block, now or later."""


def write_about(connection: Connection, person: int, answers: Mapping[str, str]) -> None:
    """Write what a person says after the last case; the first time counts."""
    change(connection, person, about_due=False)
    rows = [{"participant": person, "name": name, "answer": said} for name, said in answers.items()]
    if rows:
        connection.execute(insert(about_answer), rows)


def exclude(connection: Connection, rater: str, reason: str, now: datetime) -> PersonStatus | None:
    """Free a person's block and keep the votes, uncounted; who has completed keeps the code.

    Returns:
        How far the person had come; None if nobody has this pseudonym. Others stay as they are.
    """
    before = select(exclusion).join(participant).where(participant.c.rater == rater)
    if connection.execute(before).one_or_none() is not None:
        return PersonStatus.EXCLUDED
    person = find_locked(connection, participant.c.rater == rater)
    if person is None or person.status not in IN_STUDY:
        return person.status if person else None
    if person.status is not PersonStatus.COMPLETED:
        end(connection, person.id, PersonStatus.ABANDONED, now)
    change_block(connection, person.id, status=PersonStatus.ABANDONED)
    connection.execute(insert(exclusion).values(participant=person.id, reason=reason, time=now))
    log(connection, now, "excluded", person.id)
    return person.status


def erase(connection: Connection, person: int) -> None:
    """Delete a person's answers and free its block."""
    for table in (vote, check_answer, page_signal, about_answer):
        connection.execute(delete(table).where(table.c.participant == person))
    change_block(connection, person, status=PersonStatus.WITHDRAWN)


def purge(connection: Connection, person: Person, now: datetime) -> None:
    """Delete a person's data; the account's hash and the code that was shown stay."""
    erase(connection, person.id)
    for table in (event, exclusion):
        connection.execute(delete(table).where(table.c.participant == person.id))
    either = (second_account.c.participant == person.id, second_account.c.other == person.id)
    connection.execute(delete(second_account).where(or_(*either)))
    change(
        connection,
        person.id,
        rater=f"purged-{secrets.token_hex(5)}",
        panel="",
        status=PersonStatus.WITHDRAWN,
        outcome=person.outcome or PersonStatus.WITHDRAWN,
        attempts=0,
        started=now,
        passed=None,
        ended=now,
        purged=True,
        code_key=None,
        about_due=False,
    )
    log(connection, now, "purged")


def collected(connection: Connection, cells: Sequence[StudyCell]) -> Collected:
    """All people but those whose data were purged, with their votes and checks."""
    votes = _votes(connection, cells)
    return Collected(_people(connection), votes, _checks(connection), identity(connection))


def _people(connection: Connection) -> tuple[PersonRecord, ...]:
    said = defaultdict[int, dict[str, str]](dict)
    for row in connection.execute(select(about_answer).order_by(about_answer.c.id)):
        said[row.participant][row.name] = row.answer
    columns = (participant.c[name] for name in ("started", "ended", "attempts", "id"))
    # A block that was drawn is none of the design, whatever its number; a spare has nobody's.
    own = or_(COUNTS, ~AT_BLOCKS, exclusion.c.participant.is_not(None))
    planned = case((assignment.c.drawn.is_(None) & own, assignment.c.block))
    rows = connection.execute(
        select(participant.c.rater, participant.c.status, participant.c.panel)
        .add_columns(planned, *columns, exclusion.c.reason)
        .select_from(participant.outerjoin(assignment).outerjoin(exclusion))
        .where(~participant.c.purged)
        .order_by(participant.c.started, participant.c.id)
    )
    seen = _signals_by_person(connection)
    people = []
    for row in rows:
        about = said[row.id]
        last = {"remark": about.pop(REMARK, None), "tool": about.pop(TOOL, None)}
        told = seen.get(row.id, {}) | last | {"demographics": tuple(about.items())}
        person = PersonRecord(*row[:-2], **told)
        if row.reason is not None and row.status is not PersonStatus.WITHDRAWN:
            person = replace(person, status=PersonStatus.EXCLUDED, excluded=row.reason)
        people.append(person)
    return tuple(people)


def _signals_by_person(connection: Connection) -> dict[int, dict[str, Any]]:
    """The signals of everybody who has any, summed up, by the number of the participant."""
    pages = defaultdict[int, list[PageSignals]](list)
    rows = select(page_signal).order_by(page_signal.c.participant, page_signal.c.position)
    for person, _, honeypot, left, *counts in connection.execute(rows):
        watch = None if left is None else PageWatch(left, *counts)
        pages[person].append(PageSignals(honeypot, watch))
    return {person: sum_signals(signals) for person, signals in pages.items()}


def _votes(connection: Connection, cells: Sequence[StudyCell]) -> tuple[VoteRecord, ...]:
    names = ("verdict", "position", "time", "seconds", "confidence", "reason")
    rows = connection.execute(
        select(participant.c.rater, vote.c.place, vote.c.query, *(vote.c[name] for name in names))
        .add_columns(COUNTS)
        .select_from(vote.join(participant).join(assignment))
        .order_by(vote.c.time, vote.c.id)
    )
    return tuple(
        VoteRecord(rater, cells[place].case_id, query, cells[place].arm, *answer)
        for rater, place, query, *answer in rows
    )


def _checks(connection: Connection) -> tuple[CheckRecord, ...]:
    columns = (check_answer.c[name] for name in ("name", "passed", "position", "seconds"))
    rows = connection.execute(
        select(participant.c.rater, *columns)
        .select_from(check_answer.join(participant))
        .order_by(check_answer.c.time, check_answer.c.id)
    )
    return tuple(CheckRecord(*row) for row in rows)


def latest(connection: Connection) -> datetime | None:
    """The latest time in the database; None in a new one."""
    moments = (assignment.c.shown, event.c.time)
    last = (connection.execute(select(func.max(one))).scalar_one() for one in moments)
    return max(filter(None, last), default=None)


def claim(connection: Connection, of: Study, keys: Secrets, now: datetime) -> None:
    """Bind a new database to a study, or check that it is this study's.

    Raises:
        UsageError: The database is of another study, or of other secrets.
    """
    own = study_hash(of)
    proof = keys.derived("proof")
    row = connection.execute(select(study)).one_or_none()
    if row is None:
        values = {"id": 1, "name": of.id, "hash": own, "secrets": proof, "paused": False}
        connection.execute(insert(study).values(values | {"created": now}))
        numbers = [{"number": number} for number in range(len(of.design.blocks))]
        connection.execute(insert(block), numbers)
    elif row.hash != own:
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


def _second_accounts(connection: Connection) -> tuple[SecondAccount, ...]:
    first = participant.alias()
    rows = connection.execute(
        select(participant.c.rater, first.c.rater, second_account.c.kind)
        .join_from(second_account, participant, second_account.c.participant == participant.c.id)
        .outerjoin(first, second_account.c.other == first.c.id)
        .order_by(second_account.c.id)
    )
    return tuple(SecondAccount(*row) for row in rows)


def left_out(connection: Connection, rules: SecondAccounts) -> frozenset[str]:
    """Second accounts whose votes don't count by the study's rules."""
    return Identity(seconds=_second_accounts(connection)).left_out(rules)


def identity(connection: Connection) -> Identity:
    """Facts on people's identity that could be checked."""

    def those(where: ColumnElement[bool]) -> frozenset[str]:
        raters = select(participant.c.rater).where(~participant.c.purged, where)
        return frozenset(connection.execute(raters).scalars())

    return Identity(
        those(participant.c.signed),
        those(participant.c.confirmed.is_(true())),
        _second_accounts(connection),
    )


def count(connection: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    """Count the rows of a table."""
    rows = select(func.count()).select_from(table).where(*where)
    return int(connection.execute(rows).scalar_one())
