"""``casewise score``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from casewise.analysis import (
    Score,
    Split,
    UnreadPolicy,
    intended_baseline,
    read_paths,
    score_table,
)
from casewise.cases import LabelRule, Ties
from casewise.cli._console import note, out, write_out
from casewise.reporting import score_renderable, to_csv, to_json, to_markdown


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def score(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Log folders, .eval files, judgement tables, or CASE-Bench output files.",
        ),
    ],
    labels: Annotated[
        LabelRule | None,
        typer.Option(
            help="The truth to measure against. Default: published where it exists, else votes, "
            "else intended."
        ),
    ] = None,
    unparsed: Annotated[
        UnreadPolicy,
        typer.Option(
            help="What an unread answer counts as: honest leaves it out and prints coverage and "
            "bounds; reference does as the published script."
        ),
    ] = UnreadPolicy.HONEST,
    ties: Annotated[
        Ties, typer.Option(help="An exact tie of votes (labels votes): half credit, or left out.")
    ] = Ties.HALF,
    by: Annotated[Split | None, typer.Option(help="Split every row.")] = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.TABLE,
) -> None:
    """Score judgements against what people judged.

    One row a model and condition: accuracy, recall and F1 of the verdicts; correlation (PCC),
    cross-entropy (BCE) and Brier score of the probabilities against the share of people.
    Fractions in 0..1, PCC in -1..1.

    [bold]Examples[/]

    casewise score logs/

    casewise score exp/ --labels published --unparsed reference --format json

    casewise score run.parquet --by category --format csv > scores.csv
    """
    judgements = read_paths(paths)
    for line in judgements.notes:
        note(f"note: {line}")
    scores = score_table(judgements.table, labels=labels, unparsed=unparsed, ties=ties, by=by)
    if format is Format.TABLE:
        print_table(judgements.table, scores, unparsed=unparsed, ties=ties, by=by)
        return
    write_out(
        {Format.JSON: to_json, Format.CSV: to_csv, Format.MARKDOWN: to_markdown}[format](scores)
    )


def print_table(
    table: pl.DataFrame,
    scores: list[Score],
    *,
    unparsed: UnreadPolicy = UnreadPolicy.HONEST,
    ties: Ties = Ties.HALF,
    by: Split | None = None,
) -> None:
    """Print scores for a person, with other label rules and the baseline beside them."""
    others = [
        score_table(table, labels=rule, unparsed=unparsed, ties=ties, by=by) for rule in LabelRule
    ]
    rule = scores[0].labels if scores else None
    baselines = score_table(intended_baseline(table), labels=rule, ties=ties)
    console = out()
    console.print(score_renderable(scores, others, baselines, console.width))
