"""Signals of a page: whether its hidden text was followed, how often it was left and copied."""

from alembic import op
from sqlalchemy import Boolean, Column, Float, Integer

from casewise_study.store.tables import of_participant, required

revision = "v0005"
down_revision = "v0004"


def upgrade() -> None:
    """Add a table of its own: signals are about votes and attention checks alike."""
    op.create_table(
        "page_signal",
        of_participant(primary_key=True),
        Column("position", Integer, primary_key=True, autoincrement=False),
        required("honeypot", Boolean),
        Column("left", Integer),
        Column("away", Float),
        Column("copied", Integer),
        Column("pasted", Integer),
    )
