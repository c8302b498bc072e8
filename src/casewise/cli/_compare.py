"""``casewise compare``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from casewise.choices import COMPARED, Ties, UnreadPolicy
from casewise.cli import _complete as complete
from casewise.cli._console import out, working, write_out
from casewise.cli._help import OUTPUT, UNCERTAINTY
from casewise.cli._late import polars, reporting, scores, statistics
from casewise.cli._options import (
    READ,
    DrawSeed,
    Force,
    GraderCheck,
    Labels,
    TiesOption,
    Unread,
    read_judgements,
)
from casewise.errors import UsageError, choose_from

MOST_PAIRS = 200
"""Pairs of runs above which a person surely meant something else."""


class CompareFormat(StrEnum):
    """How comparisons are printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="BEFORE AFTER...",
            help=READ,
        ),
    ],
    labels: Labels = None,
    unparsed: Unread = UnreadPolicy.HONEST,
    ties: TiesOption = Ties.HALF,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A measure to compare; repeat it. Default: all.",
            rich_help_panel=OUTPUT,
            metavar="MEASURE",
            autocompletion=complete.measures,
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Draws of whole queries, for both runs alike.",
            rich_help_panel=UNCERTAINTY,
        ),
    ] = 2000,
    seed: DrawSeed = 0,
    grader_check: GraderCheck = None,
    force: Force = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Show every measure, not only what changed beyond chance.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    format: Annotated[
        CompareFormat, typer.Option(help="How to print.", rich_help_panel=OUTPUT)
    ] = CompareFormat.TABLE,
) -> None:
    """Compare runs over the same cases: is the difference more than chance?

    Runs with the same protocol, delivery and ablation are compared, two at a time, over the cases
    that both answered; where no two are alike, all are. The difference is after minus before, with
    an error clustered by query; of more than two runs, the one named earlier is before, so the
    first is before all others. First stands in words what got worse, and what got better, by more
    than chance; then the table, then the cases whose verdicts changed. P-values are adjusted
    (Holm) over all pairs of runs. DETECTABLE is the smallest true difference that these cases
    would show in 80 % of tries. Runs over different versions of the data are not compared without
    --force, and then over the cases that both have.

    [bold]Examples[/]

    casewise compare logs/last-week logs/today

    casewise compare before.parquet after.parquet --metric accuracy --metric flip_rate --format json
    """
    chosen = tuple(dict.fromkeys(metric or COMPARED))
    for name in chosen:
        if name not in COMPARED:
            raise UsageError(f"no measure is called {name!r}: {choose_from(name, COMPARED)}")
    tables = {}
    for path in dict.fromkeys(paths):
        tables[str(path)] = read_judgements([path]).table
    checks = scores.load_checks(grader_check or (), tables.values())
    pairs = find_pairs(tables, force=force)
    scoring = scores.Scoring(
        labels, unparsed, ties, statistics.Resampling(bootstrap, seed) if bootstrap else None
    )
    with working("comparing"):
        comparisons = scores.compare_runs(pairs, scoring, chosen, checks)
    if format is CompareFormat.JSON:
        write_out(reporting.comparison_json(comparisons))
    elif format is CompareFormat.MARKDOWN:
        write_out(reporting.comparison_markdown(comparisons))
    else:
        page = [
            "casewise",
            "report",
            *map(str, paths),
            "--compare",
            "--reveal",
            "--out",
            reporting.CHANGES_PAGE,
        ]
        page += ["--force"] if force else []
        shown = reporting.comparison_renderable(
            comparisons, whole=whole or bool(metric), page_command=shlex.join(page)
        )
        out().print(shown)


def find_pairs(
    tables: Mapping[str, polars.DataFrame], *, force: bool = False
) -> list[tuple[scores.Run, scores.Run]]:
    """Every two runs of some tables that can be subtracted, told apart by where they were read.

    Raises:
        UsageError: There is one run only, or there are too many pairs.
        InputError: No two runs are over the same version of the data, and that isn't forced.
    """
    runs = scores.find_runs(tables)
    if len(runs) < 2:
        raise UsageError("there is one run only: give another folder or file to compare it with")
    pairs = scores.pairs_of_runs(runs, across_versions=force)
    if len(pairs) > MOST_PAIRS:
        raise UsageError(f"{len(pairs)} pairs of runs: name files or folders with fewer runs")
    return pairs
