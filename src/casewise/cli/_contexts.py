"""``casewise contexts``: its commands are in files of their own."""

import typer

contexts_app = typer.Typer(
    help="Contexts for queries: have a model write them, and a critic hold them to rules.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@contexts_app.callback()
def _group() -> None:
    """A group, however few commands it has."""
