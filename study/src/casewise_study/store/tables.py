"""The tables of a study's database."""

from datetime import UTC, datetime

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
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
    Column("name", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("secrets", String(64), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("created", Utc, nullable=False),
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
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),
    Column("rater", String(64), nullable=False, unique=True),
    Column("platform_key", String(64), unique=True),
    Column("panel", String(64), nullable=False),
    Column("status", STATUS, nullable=False, index=True),
    Column("outcome", STATUS),
    Column("attempts", Integer, nullable=False),
    Column("started", Utc, nullable=False),
    Column("passed", Utc),
    Column("ended", Utc),
    Column("purged", Boolean, nullable=False),
    Column("code_key", String(64)),
    Column("signed", Boolean, nullable=False, server_default=false()),
    Column("about_due", Boolean, nullable=False, server_default=false()),
    CheckConstraint(
        "status in ('started', 'active', 'completed', 'screened_out', 'withdrawn', 'abandoned')",
        name="status",
    ),
    Index("uq_participant_code_key", "code_key", unique=True),
)
"""A person. ``outcome`` says which code was shown, and stays when the votes are deleted.
``code_key`` is of the personal code, as ``Secrets.code_key`` hides it. ``signed``: the platform
signed the link. ``about_due``: the last questions are not answered yet."""

LIVE = text("status in ('active', 'completed')")

assignment = Table(
    "assignment",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("block", Integer, ForeignKey("block.number"), nullable=False),
    Column("participant", Integer, ForeignKey("participant.id"), nullable=False, unique=True),
    Column("status", STATUS, nullable=False),
    Column("position", Integer, nullable=False),
    Column("shown", Utc, nullable=False),
    Column("lease_until", Utc, nullable=False),
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
"""Blocks and those who hold or held them. ``position`` is the first page without an answer, from 0,
and ``shown`` when that page was first shown. ``drawn``: the cells of a block of sequential
collection, by their places in the design; null of a planned block."""

vote = Table(
    "vote",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant", Integer, ForeignKey("participant.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("query", Text, nullable=False),
    Column("verdict", String(6), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("confidence", Integer),
    Column("reason", Text),
    Column("time", Utc, nullable=False),
    CheckConstraint("verdict in ('safe', 'unsafe')", name="verdict"),
    CheckConstraint("confidence between 1 and 5", name="confidence"),
    UniqueConstraint("participant", "query"),
    UniqueConstraint("participant", "position"),
)
"""``place`` in the cells of the design; ``query`` is the query's id."""

exclusion = Table(
    "exclusion",
    metadata,
    Column("participant", Integer, ForeignKey("participant.id"), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("time", Utc, nullable=False),
)
"""People excluded by whoever runs the study, with the reason; the person's votes stay,
uncounted."""

check_answer = Table(
    "check_answer",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant", Integer, ForeignKey("participant.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", String(64), nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("time", Utc, nullable=False),
    UniqueConstraint("participant", "position"),
)
"""Answers to attention checks."""

page_signal = Table(
    "page_signal",
    metadata,
    Column("participant", Integer, ForeignKey("participant.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("honeypot", Boolean, nullable=False),
    Column("left", Integer),
    Column("away", Float),
    Column("copied", Integer),
    Column("pasted", Integer),
)
"""Signals that came with the answer to a page, of a case or a check; null where scripts are off."""

second_account = Table(
    "second_account",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant", Integer, ForeignKey("participant.id"), nullable=False, index=True),
    Column("other", Integer, ForeignKey("participant.id")),
    Column("kind", String(16), nullable=False),
    Column("time", Utc, nullable=False),
)
"""Signs that two people are one. ``other`` began before; null where the person's browser opened
the study under an id that did not begin there. No address is kept, only that two shared a range."""

about_answer = Table(
    "about_answer",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant", Integer, ForeignKey("participant.id"), nullable=False),
    Column("name", String(64), nullable=False),
    Column("answer", Text, nullable=False),
    UniqueConstraint("participant", "name"),
)
"""Answers of people about themselves and the study after their last case, apart from their
votes."""

event = Table(
    "event",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("time", Utc, nullable=False),
    Column("participant", Integer, ForeignKey("participant.id"), index=True),
    Column("kind", String(32), nullable=False, index=True),
)
"""Changes by time, without content."""
