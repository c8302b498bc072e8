"""Blocks that are drawn as people come."""

from alembic import op
from sqlalchemy import Column, Text

revision = "v0006"
down_revision = "v0005"


def upgrade() -> None:
    """Add the column; it stays null for earlier blocks, which were planned."""
    op.add_column("assignment", Column("drawn", Text))
