"""Signed links, second accounts in one browser or address range, and answers about oneself."""

import sqlalchemy as sa
from alembic import op

revision = "v0003"
down_revision = "v0002"
branch_labels = None
depends_on = None

_ADDED = ("signed", "about_due")


def upgrade() -> None:
    """Forwards. What was logged of browsers before is kept, as rows of the new table."""
    for name in _ADDED:
        op.add_column(
            "participant",
            sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false()),
        )
    op.create_table(
        "second_account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("other", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("time", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_second_account_participant")
        ),
        sa.ForeignKeyConstraint(
            ["other"], ["participant.id"], name=op.f("fk_second_account_other")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_second_account")),
    )
    op.create_index("ix_second_account_participant", "second_account", ["participant"])
    op.create_table(
        "about_answer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_about_answer_participant")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_about_answer")),
        sa.UniqueConstraint("participant", "name", name=op.f("uq_about_answer_participant_name")),
    )
    op.execute(
        "INSERT INTO second_account (participant, kind, time) SELECT participant, 'browser', time "
        "FROM event WHERE kind = 'another_id' AND participant IS NOT NULL"
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("about_answer")
    op.drop_table("second_account")
    for name in _ADDED:
        op.drop_column("participant", name)
