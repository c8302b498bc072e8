"""Personal codes: each person's own, kept as a keyed hash."""

from alembic import op
from sqlalchemy import Column

from casewise_study.store.tables import NAME

revision = "v0002"
down_revision = "v0001"


def upgrade() -> None:
    """Add the codes. An index, not a constraint: SQLite would make the table anew for one."""
    op.add_column("participant", Column("code_key", NAME))
    op.create_index("uq_participant_code_key", "participant", ["code_key"], unique=True)
