"""Signed links, second accounts in one browser or address range, and answers about oneself."""

import sqlalchemy as sa
from alembic import op

revision = "v0003"
down_revision = "v0002"

_ADDED = ("signed", "about_due")


def upgrade() -> None:
    """Forwards. What was logged of browsers before is kept, as rows of the new table."""
    for name in _ADDED:
        op.add_column(
            "participant",
            sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()),
        )
    op.create_table(
        "second_account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "participant", sa.Integer, sa.ForeignKey("participant.id"), nullable=False, index=True
        ),
        sa.Column("other", sa.Integer, sa.ForeignKey("participant.id")),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("time", sa.DateTime, nullable=False),
    )
    op.create_table(
        "about_answer",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("participant", sa.Integer, sa.ForeignKey("participant.id"), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.UniqueConstraint("participant", "name"),
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
