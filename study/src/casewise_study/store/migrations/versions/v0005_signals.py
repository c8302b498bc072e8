"""Signals of a page: whether its hidden text was followed, how often it was left and copied."""

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"


def upgrade() -> None:
    """Forwards. A table of its own: it is about votes and attention checks alike."""
    op.create_table(
        "page_signal",
        sa.Column("participant", sa.Integer, sa.ForeignKey("participant.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("honeypot", sa.Boolean, nullable=False),
        sa.Column("left", sa.Integer),
        sa.Column("away", sa.Float),
        sa.Column("copied", sa.Integer),
        sa.Column("pasted", sa.Integer),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("page_signal")
