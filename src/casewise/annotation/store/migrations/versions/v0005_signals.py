"""Signals of a page: whether its hidden text was followed, how often it was left and copied."""

import sqlalchemy as sa
from alembic import op

revision = "v0005"
down_revision = "v0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forwards. A table of its own: it is about votes and attention checks alike."""
    op.create_table(
        "page_signal",
        sa.Column("participant", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("honeypot", sa.Boolean(), nullable=False),
        sa.Column("left", sa.Integer(), nullable=True),
        sa.Column("away", sa.Float(), nullable=True),
        sa.Column("copied", sa.Integer(), nullable=True),
        sa.Column("pasted", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant"], ["participant.id"], name=op.f("fk_page_signal_participant")
        ),
        sa.PrimaryKeyConstraint("participant", "position", name=op.f("pk_page_signal")),
    )


def downgrade() -> None:
    """Back."""
    op.drop_table("page_signal")
