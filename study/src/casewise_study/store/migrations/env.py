"""Alembic's entry: the connection comes from ``casewise_study.store``."""

from alembic import context

from casewise_study.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
context.run_migrations()
