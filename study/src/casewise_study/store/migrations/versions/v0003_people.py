"""Signed links, second accounts in one browser or address range, and answers about oneself."""

from alembic import op
from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Integer,
    String,
    Text,
    UniqueConstraint,
    false,
)

from casewise_study.store.tables import NAME, of_participant, required, row_id

revision = "v0003"
down_revision = "v0002"


def upgrade() -> None:
    """Add both tables. Browsers that were logged before become rows of the new table."""
    for name in ("signed", "about_due"):
        op.add_column(
            "participant",
            required(name, Boolean, server_default=false()),
        )
    op.create_table(
        "second_account",
        row_id(),
        of_participant(index=True),
        Column("other", Integer, ForeignKey("participant.id")),
        required("kind", String(16)),
        required("time", DateTime),
    )
    op.create_table(
        "about_answer",
        row_id(),
        of_participant(),
        required("name", NAME),
        required("answer", Text),
        UniqueConstraint("participant", "name"),
    )
    op.execute(
        "INSERT INTO second_account (participant, kind, time) SELECT participant, 'browser', time "
        "FROM event WHERE kind = 'another_id' AND participant IS NOT NULL"
    )
