"""``casewise describe``."""

from typing import Annotated

import typer

from casewise.choices import DRAWS, MAX_SEED
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, note_all, print_as, working
from casewise.cli._late import case_files, dataset, reporting


def describe(
    cases: Annotated[
        str,
        typer.Argument(
            metavar="CASES",
            help="A file of cases, or starter, or casebench.",
            autocompletion=complete.cases,
        ),
    ],
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Draws of whole queries for intervals; 0: none.")
    ] = DRAWS,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="Of draws, halves and simulations.")
    ] = 0,
    format: FormatOption = Format.TABLE,
) -> None:
    """Describe the human side of a data set: do people agree, is it sound?

    What the context does to votes, how far people agree, how well one person,
    a panel or an oracle could do, and an audit: published rates, ties, raters,
    repeated contexts, broken pairs, near-duplicate queries. Queries are never
    printed. Fractions in 0..1; intervals by drawing whole queries anew.

    [bold]Examples[/]

    casewise describe casebench

    casewise describe mine.yaml --format markdown > audit.md

    casewise describe votes.jsonl --bootstrap 10000 --seed 7 --format json
    """
    loaded = case_files.open_cases(cases)
    note_all(loaded.notes)
    with working("counting votes"):
        description = dataset.describe_cases(loaded, draws=bootstrap, seed=seed)
    print_as(
        format,
        reporting.description_renderable,
        reporting.description_json,
        reporting.description_markdown,
        description,
    )
