"""The tables of a study's database."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    DateTime,
    Dialect,
    Enum,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    literal_column,
    text,
)

from casewise_study.study.schema import Block
from casewise_study.votes.collected import PersonStatus

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


NAME = String(64)
"""Type of names, keys and hashes."""


def required(name: str, *parts: Any, **options: Any) -> Column[Any]:
    """Column that is never null."""
    return Column(name, *parts, nullable=False, **options)


def row_id() -> Column[int]:
    """Number of a row, which the database counts on."""
    return Column("id", Integer, primary_key=True)


def of_participant(**options: bool) -> Column[Any]:
    """The person that a row is about."""
    return required("participant", Integer, ForeignKey("participant.id"), **options)


class Utc(TypeDecorator[datetime]):
    """A moment in UTC; SQLite keeps no zones, so none is written."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Into the database."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Out of the database."""
        return None if value is None else value.replace(tzinfo=UTC)


class CellsColumn(TypeDecorator[Block]):
    """The cells of a block, by their places in the design."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Block | None, dialect: Dialect) -> str | None:
        """Into the database."""
        return None if value is None else " ".join(map(str, value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Block | None:
        """Out of the database."""
        return None if value is None else tuple(map(int, value.split()))


STATUS = Enum(
    PersonStatus,
    native_enum=False,
    length=16,
    values_callable=lambda statuses: [status.value for status in statuses],
)
"""Status of a person, or of a block's holder."""

study = Table(
    "study",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    required("name", NAME),
    required("hash", NAME),
    required("secrets", NAME),
    required("paused", Boolean),
    required("created", Utc),
    CheckConstraint("id = 1", name="one"),
)
"""One row: whose votes these are. ``hash`` is of the study, ``secrets`` of the key to the ids."""

block = Table(
    "block",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
)
"""The blocks of the design, from 0: rows that PostgreSQL can lock."""

participant = Table(
    "participant",
    metadata,
    row_id(),
    required("key", NAME, unique=True),
    required("rater", NAME, unique=True),
    Column("platform_key", NAME, unique=True),
    required("panel", NAME),
    required("status", STATUS, index=True),
    Column("outcome", STATUS),
    required("attempts", Integer),
    required("started", Utc),
    Column("passed", Utc),
    Column("ended", Utc),
    required("purged", Boolean),
    Column("code_key", NAME),
    required("signed", Boolean, server_default=false()),
    Column("confirmed", Boolean),
    required("about_due", Boolean, server_default=false()),
    CheckConstraint(
        "status in ('started', 'active', 'completed', 'screened_out', 'withdrawn', 'abandoned')",
        name="status",
    ),
    Index("uq_participant_code_key", "code_key", unique=True),
)
"""A person. ``outcome`` says which code was shown, and stays when the votes are deleted.
``code_key`` is of the personal code, as ``Secrets.code_key`` hides it. ``signed``: the platform
signed the link. ``confirmed``: the platform's export has the person's work, or, false, lacks it;
null until an export was read. ``about_due``: the last questions are not answered yet."""

LIVE = text("status in ('active', 'completed')")

assignment = Table(
    "assignment",
    metadata,
    row_id(),
    required("block", Integer, ForeignKey("block.number")),
    of_participant(unique=True),
    required("status", STATUS),
    required("position", Integer),
    required("shown", Utc),
    required("lease_until", Utc),
    Column("drawn", CellsColumn),
    CheckConstraint("status in ('active', 'completed', 'abandoned', 'withdrawn')", name="status"),
    Index(
        "uq_assignment_live_block",
        "block",
        unique=True,
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    ),
    Index("ix_assignment_status_lease_until", "status", "lease_until"),
)
"""Blocks and those who hold or held them. Of several people at a block one counts; the others,
active or completed themselves, hold it as ``abandoned``: spares, until an export decides.
``position`` is the first page without an answer, from 0, and ``shown`` when that page was first
shown. ``drawn``: the cells of a block of sequential collection, by their places in the design; null
of a planned block."""

# As literals: by them a database sees that the index of live blocks will do.
_HOLDING: list[ColumnElement[str]] = [literal_column("'active'"), literal_column("'completed'")]
COUNTS = assignment.c.status.in_(_HOLDING)
"""The votes of the person at a block count; one person's at most."""

AT_BLOCKS = participant.c.status.in_(_HOLDING)
"""People who judge or have judged a block, spare ones too."""

vote = Table(
    "vote",
    metadata,
    row_id(),
    of_participant(),
    required("position", Integer),
    required("place", Integer),
    required("query", Text),
    required("verdict", String(6)),
    required("seconds", Float),
    Column("confidence", Integer),
    Column("reason", Text),
    required("time", Utc),
    CheckConstraint("verdict in ('safe', 'unsafe')", name="verdict"),
    CheckConstraint("confidence between 1 and 5", name="confidence"),
    UniqueConstraint("participant", "query"),
    UniqueConstraint("participant", "position"),
)
"""``place`` in the cells of the design; ``query`` is the query's id."""

exclusion = Table(
    "exclusion",
    metadata,
    of_participant(primary_key=True),
    required("reason", Text),
    required("time", Utc),
)
"""People excluded by whoever runs the study, with the reason; the person's votes stay,
uncounted."""

check_answer = Table(
    "check_answer",
    metadata,
    row_id(),
    of_participant(),
    required("position", Integer),
    required("name", NAME),
    required("passed", Boolean),
    required("seconds", Float),
    required("time", Utc),
    UniqueConstraint("participant", "position"),
)
"""Answers to attention checks."""

page_signal = Table(
    "page_signal",
    metadata,
    of_participant(primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    required("honeypot", Boolean),
    Column("left", Integer),
    Column("away", Float),
    Column("copied", Integer),
    Column("pasted", Integer),
)
"""Signals that came with the answer to a page, of a case or a check; null where scripts are off."""

second_account = Table(
    "second_account",
    metadata,
    row_id(),
    of_participant(index=True),
    Column("other", Integer, ForeignKey("participant.id")),
    required("kind", String(16)),
    required("time", Utc),
)
"""Signs that two people are one. ``other`` began before; null where the person's browser opened
the study under an id that did not begin there. No address is kept, only that two shared a range."""

about_answer = Table(
    "about_answer",
    metadata,
    row_id(),
    of_participant(),
    required("name", NAME),
    required("answer", Text),
    UniqueConstraint("participant", "name"),
)
"""Answers of people about themselves and the study after their last case, apart from their
votes."""

event = Table(
    "event",
    metadata,
    row_id(),
    required("time", Utc),
    Column("participant", Integer, ForeignKey("participant.id"), index=True),
    required("kind", String(32), index=True),
)
"""Changes by time, without content."""
