"""Changes of the tables. So far all of them add something, and ``tables.py`` says what."""

from alembic import op
from sqlalchemy import inspect
from sqlalchemy.schema import CreateColumn

from casewise_study.store.tables import metadata


def add_missing() -> None:
    """Make tables, columns and indexes that the code has and the database lacks."""
    connection = op.get_bind()
    metadata.create_all(connection)
    database = inspect(connection)
    for table in metadata.sorted_tables:
        known = {column["name"] for column in database.get_columns(table.name)}
        for column in table.columns:
            if column.name not in known:
                added = CreateColumn(column).compile(dialect=connection.dialect)
                op.execute(f"ALTER TABLE {table.name} ADD COLUMN {added}")
        for index in table.indexes:
            index.create(connection, checkfirst=True)
