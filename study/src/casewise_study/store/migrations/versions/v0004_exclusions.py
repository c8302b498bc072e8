"""Exclusions: whom whoever runs the study excluded, and why."""

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"


def upgrade() -> None:
    """Forwards. A table: SQLite would have to make the people's anew for another status."""
    op.create_table(
        "exclusion",
        sa.Column("participant", sa.Integer, sa.ForeignKey("participant.id"), primary_key=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("time", sa.DateTime, nullable=False),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("exclusion")
