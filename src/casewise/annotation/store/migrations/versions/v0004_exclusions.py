"""Exclusions: whom whoever runs the study excluded, and why."""

import sqlalchemy as sa
from alembic import op

revision = "v0004"
down_revision = "v0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forwards. A table: SQLite would have to make the people's anew for another status."""
    op.create_table(
        "exclusion",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("time", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_exclusion_participant")
        ),
        sa.PrimaryKeyConstraint("participant", name=op.f("pk_exclusion")),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("exclusion")
