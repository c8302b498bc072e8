"""People whom the platform's export confirms."""

from alembic import op
from sqlalchemy import Boolean, Column

revision = "v0007"
down_revision = "v0006"


def upgrade() -> None:
    """Add the column; it stays null until an export has spoken of a person."""
    op.add_column("participant", Column("confirmed", Boolean))
