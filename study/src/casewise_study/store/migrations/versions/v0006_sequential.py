"""Blocks that are drawn as people come."""

import sqlalchemy as sa
from alembic import op

revision = "v0006"
down_revision = "v0005"


def upgrade() -> None:
    """Forwards. Blocks of before are planned ones: nothing was drawn."""
    op.add_column("assignment", sa.Column("drawn", sa.Text))


def downgrade() -> None:
    """Back."""
    op.drop_column("assignment", "drawn")
