"""``casewise annotate``: its commands are in files of their own."""

import typer

annotate_app = typer.Typer(
    help="People's votes: plan a study, run it, screen it, and give the votes to the cases.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
