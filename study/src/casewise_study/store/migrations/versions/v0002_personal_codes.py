"""Personal codes: each person's own, kept as a keyed hash."""

import sqlalchemy as sa
from alembic import op

revision = "v0002"
down_revision = "v0001"


def upgrade() -> None:
    """Forwards. An index, not a constraint: SQLite would have to make the table anew for one."""
    op.add_column("participant", sa.Column("code_key", sa.String(64)))
    op.create_index("uq_participant_code_key", "participant", ["code_key"], unique=True)


def downgrade() -> None:
    """Back."""
    op.drop_index("uq_participant_code_key", "participant")
    op.drop_column("participant", "code_key")
