"""``casewise contexts``: its commands are in files of their own."""

import typer

contexts_app = typer.Typer(
    help="Contexts for queries: have a model write them, and revise them pair by pair.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
