"""The tables of a study, as they began. Names of constraints follow from ``tables.metadata``."""

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None

_LIVE = sa.text("status in ('active', 'completed')")


def upgrade() -> None:
    """Forwards."""
    op.create_table("block", sa.Column("number", sa.Integer, primary_key=True, autoincrement=False))
    op.create_table(
        "participant",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("rater", sa.String(64), nullable=False, unique=True),
        sa.Column("platform_key", sa.String(64), unique=True),
        sa.Column("panel", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False, index=True),
        sa.Column("outcome", sa.String(16)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("started", sa.DateTime, nullable=False),
        sa.Column("passed", sa.DateTime),
        sa.Column("ended", sa.DateTime),
        sa.Column("purged", sa.Boolean, nullable=False),
        sa.CheckConstraint(
            "status in ('started', 'active', 'completed', 'screened_out', 'withdrawn', "
            "'abandoned')",
            name="status",
        ),
    )
    op.create_table(
        "study",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("secrets", sa.String(64), nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.CheckConstraint("id = 1", name="one"),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("block", sa.Integer, sa.ForeignKey("block.number"), nullable=False),
        sa.Column(
            "participant", sa.Integer, sa.ForeignKey("participant.id"), nullable=False, unique=True
        ),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("shown", sa.DateTime, nullable=False),
        sa.Column("lease_until", sa.DateTime, nullable=False),
        sa.CheckConstraint(
            "status in ('active', 'completed', 'abandoned', 'withdrawn')", name="status"
        ),
        sa.Index("ix_assignment_status_lease_until", "status", "lease_until"),
        sa.Index(
            "uq_assignment_live_block",
            "block",
            unique=True,
            sqlite_where=_LIVE,
            postgresql_where=_LIVE,
        ),
    )
    op.create_table(
        "check_answer",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("participant", sa.Integer, sa.ForeignKey("participant.id"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("passed", sa.Boolean, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("time", sa.DateTime, nullable=False),
        sa.UniqueConstraint("participant", "position"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("time", sa.DateTime, nullable=False),
        sa.Column("participant", sa.Integer, sa.ForeignKey("participant.id"), index=True),
        sa.Column("kind", sa.String(32), nullable=False, index=True),
    )
    op.create_table(
        "vote",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("participant", sa.Integer, sa.ForeignKey("participant.id"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("verdict", sa.String(6), nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("confidence", sa.Integer),
        sa.Column("reason", sa.Text),
        sa.Column("time", sa.DateTime, nullable=False),
        sa.CheckConstraint("verdict in ('safe', 'unsafe')", name="verdict"),
        sa.CheckConstraint("confidence between 1 and 5", name="confidence"),
        sa.UniqueConstraint("participant", "position"),
        sa.UniqueConstraint("participant", "query"),
    )


def downgrade() -> None:
    """Back."""
    for table in ("vote", "event", "check_answer", "assignment", "study", "participant", "block"):
        op.drop_table(table)
