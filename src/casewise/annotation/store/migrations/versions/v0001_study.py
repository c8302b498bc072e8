"""The tables of a study, as they began."""

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forwards."""
    op.create_table(
        "block",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_block")),
    )
    op.create_table(
        "participant",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("rater", sa.String(length=64), nullable=False),
        sa.Column("platform_key", sa.String(length=64), nullable=True),
        sa.Column("panel", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started", sa.DateTime(), nullable=False),
        sa.Column("passed", sa.DateTime(), nullable=True),
        sa.Column("ended", sa.DateTime(), nullable=True),
        sa.Column("purged", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "status in ('started', 'active', 'completed', 'screened_out', "
            "'withdrawn', 'abandoned')",
            name=op.f("ck_participant_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_participant")),
        sa.UniqueConstraint("key", name=op.f("uq_participant_key")),
        sa.UniqueConstraint("platform_key", name=op.f("uq_participant_platform_key")),
        sa.UniqueConstraint("rater", name=op.f("uq_participant_rater")),
    )
    op.create_index("ix_participant_status", "participant", ["status"], unique=False)
    op.create_table(
        "study",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("secrets", sa.String(length=64), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_study_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
    )
    op.create_table(
        "assignment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("shown", sa.DateTime(), nullable=False),
        sa.Column("lease_until", sa.DateTime(), nullable=False),
        sa.CheckConstraint(
            "status in ('active', 'completed', 'abandoned', 'withdrawn')",
            name=op.f("ck_assignment_status"),
        ),
        sa.ForeignKeyConstraint(["block"], ["block.number"], name=op.f("fk_assignment_block")),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_assignment_participant")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignment")),
        sa.UniqueConstraint("participant", name=op.f("uq_assignment_participant")),
    )
    op.create_index(
        "ix_assignment_status_lease_until", "assignment", ["status", "lease_until"], unique=False
    )
    op.create_index(
        "uq_assignment_live_block",
        "assignment",
        ["block"],
        unique=True,
        sqlite_where=sa.text("status in ('active', 'completed')"),
        postgresql_where=sa.text("status in ('active', 'completed')"),
    )
    op.create_table(
        "check_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("time", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_check_answer_participant")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_answer")),
        sa.UniqueConstraint(
            "participant", "position", name=op.f("uq_check_answer_participant_position")
        ),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("time", sa.DateTime(), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_event_participant")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index("ix_event_kind", "event", ["kind"], unique=False)
    op.create_index("ix_event_participant", "event", ["participant"], unique=False)
    op.create_table(
        "vote",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(length=6), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("time", sa.DateTime(), nullable=False),
        sa.CheckConstraint("verdict in ('safe', 'unsafe')", name=op.f("ck_vote_verdict")),
        sa.CheckConstraint("confidence between 1 and 5", name=op.f("ck_vote_confidence")),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_vote_participant")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vote")),
        sa.UniqueConstraint("participant", "position", name=op.f("uq_vote_participant_position")),
        sa.UniqueConstraint("participant", "query", name=op.f("uq_vote_participant_query")),
    )


def downgrade() -> None:
    """Back."""
    for table in ("vote", "event", "check_answer", "assignment", "study", "participant", "block"):
        op.drop_table(table)
