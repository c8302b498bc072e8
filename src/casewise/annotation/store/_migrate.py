"""Bring a database to the tables of this version."""

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text

from casewise.annotation.store._database import Database
from casewise.errors import UsageError

_LOCK = 0x63617365
"""PostgreSQL's advisory lock while tables change: "case" in letters."""


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings, for the migrations that this package brings."""
    config = Config()
    config.set_main_option("script_location", "casewise.annotation.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(database: Database) -> None:
    """Make the tables, or bring them up to date; of two servers that start at once, one does.

    Raises:
        UsageError: A newer version of casewise made the database.
    """

    def work(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        command.upgrade(alembic_config(connection), "head")

    try:
        database.write(work)
    except CommandError as error:
        raise UsageError(
            f"--database: made by another version of casewise, or not by casewise ({error})"
        ) from None
