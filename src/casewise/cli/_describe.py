"""``casewise describe``."""

from typing import Annotated

import typer

from casewise.cases import MAX_SEED, open_cases
from casewise.cli._console import Format, FormatOption, note_all, print_as, working
from casewise.dataset import DRAWS, describe_cases
from casewise.reporting import description_json, description_markdown, description_renderable


def describe(
    cases: Annotated[
        str, typer.Argument(metavar="CASES", help="A file of cases, or starter, or casebench.")
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
    loaded = open_cases(cases)
    note_all(loaded.notes)
    with working("counting votes"):
        description = describe_cases(loaded, draws=bootstrap, seed=seed)
    print_as(format, description_renderable, description_json, description_markdown, description)
