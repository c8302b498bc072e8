"""Exclusions: whom whoever runs the study excluded, and why."""

from alembic import op
from sqlalchemy import DateTime, Text

from casewise_study.store.tables import of_participant, required

revision = "v0004"
down_revision = "v0003"


def upgrade() -> None:
    """Add a table: SQLite would have to make the people's anew for another status."""
    op.create_table(
        "exclusion",
        of_participant(primary_key=True),
        required("reason", Text),
        required("time", DateTime),
    )
