"""The tables of a study as the first version made them, before any that were added since."""

from alembic import op
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    text,
)

from casewise_study.store.tables import NAME, metadata, of_participant, required, row_id

_LIVE = text("status in ('active', 'completed')")


def make_first_tables(connection: Connection) -> None:
    """In an empty database, marked as of that version."""
    context = MigrationContext.configure(connection, opts={"target_metadata": metadata})
    with Operations.context(context):
        _make()
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
    connection.execute(text("INSERT INTO alembic_version VALUES ('v0001')"))


def _make() -> None:
    op.create_table("block", Column("number", Integer, primary_key=True, autoincrement=False))
    op.create_table(
        "participant",
        row_id(),
        required("key", NAME, unique=True),
        required("rater", NAME, unique=True),
        Column("platform_key", NAME, unique=True),
        required("panel", NAME),
        required("status", String(16), index=True),
        Column("outcome", String(16)),
        required("attempts", Integer),
        required("started", DateTime),
        Column("passed", DateTime),
        Column("ended", DateTime),
        required("purged", Boolean),
        CheckConstraint(
            "status in ('started', 'active', 'completed', 'screened_out', 'withdrawn', "
            "'abandoned')",
            name="status",
        ),
    )
    op.create_table(
        "study",
        Column("id", Integer, primary_key=True, autoincrement=False),
        required("name", NAME),
        required("hash", NAME),
        required("secrets", NAME),
        required("paused", Boolean),
        required("created", DateTime),
        CheckConstraint("id = 1", name="one"),
    )
    op.create_table(
        "assignment",
        row_id(),
        required("block", Integer, ForeignKey("block.number")),
        of_participant(unique=True),
        required("status", String(16)),
        required("position", Integer),
        required("shown", DateTime),
        required("lease_until", DateTime),
        CheckConstraint(
            "status in ('active', 'completed', 'abandoned', 'withdrawn')", name="status"
        ),
        Index("ix_assignment_status_lease_until", "status", "lease_until"),
        Index(
            "uq_assignment_live_block",
            "block",
            unique=True,
            sqlite_where=_LIVE,
            postgresql_where=_LIVE,
        ),
    )
    op.create_table(
        "check_answer",
        row_id(),
        of_participant(),
        required("position", Integer),
        required("name", NAME),
        required("passed", Boolean),
        required("seconds", Float),
        required("time", DateTime),
        UniqueConstraint("participant", "position"),
    )
    op.create_table(
        "event",
        row_id(),
        required("time", DateTime),
        Column("participant", Integer, ForeignKey("participant.id"), index=True),
        required("kind", String(32), index=True),
    )
    op.create_table(
        "vote",
        row_id(),
        of_participant(),
        required("position", Integer),
        required("place", Integer),
        required("query", Text),
        required("verdict", String(6)),
        required("seconds", Float),
        Column("confidence", Integer),
        Column("reason", Text),
        required("time", DateTime),
        CheckConstraint("verdict in ('safe', 'unsafe')", name="verdict"),
        CheckConstraint("confidence between 1 and 5", name="confidence"),
        UniqueConstraint("participant", "position"),
        UniqueConstraint("participant", "query"),
    )
