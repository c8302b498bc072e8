"""Signed links, second accounts in one browser or address range, and answers about oneself."""

from alembic import op

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0003", "v0002"


def upgrade() -> None:
    """Make browsers that were logged before rows of the table of second accounts."""
    add_missing()
    op.execute(
        "INSERT INTO second_account (participant, kind, time) SELECT participant, 'browser', time "
        "FROM event WHERE kind = 'another_id' AND participant IS NOT NULL"
    )
