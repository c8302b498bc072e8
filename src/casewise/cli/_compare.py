"""``casewise compare``."""

import shlex
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from casewise.cases import MAX_SEED, Ties
from casewise.cli._console import out, working, write_out
from casewise.cli._options import (
    READ,
    Force,
    GraderCheck,
    Labels,
    TiesOption,
    Unread,
    read_judgements,
)
from casewise.errors import UsageError
from casewise.reporting import (
    CHANGES_PAGE,
    comparison_json,
    comparison_markdown,
    comparison_renderable,
)
from casewise.scores import (
    COMPARED,
    Run,
    Scoring,
    UnreadPolicy,
    compare_runs,
    find_runs,
    load_checks,
    pairs_of_runs,
)
from casewise.statistics import Resampling

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
        list[str] | None, typer.Option(help="A measure to compare; repeat it. Default: all.")
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="Draws of whole queries, for both runs alike.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of the draws.")] = 0,
    grader_check: GraderCheck = None,
    force: Force = False,
    whole: Annotated[
        bool,
        typer.Option("--all", help="Show every measure, not only what changed beyond chance."),
    ] = False,
    format: Annotated[CompareFormat, typer.Option(help="How to print.")] = CompareFormat.TABLE,
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
            raise UsageError(f"no measure is called {name!r}: choose from {', '.join(COMPARED)}")
    tables = {}
    for path in dict.fromkeys(paths):
        tables[str(path)] = read_judgements([path]).table
    checks = load_checks(grader_check or (), tables.values())
    pairs = find_pairs(tables, force=force)
    scoring = Scoring(labels, unparsed, ties, Resampling(bootstrap, seed) if bootstrap else None)
    with working("comparing"):
        comparisons = compare_runs(pairs, scoring, chosen, checks)
    if format is CompareFormat.JSON:
        write_out(comparison_json(comparisons))
    elif format is CompareFormat.MARKDOWN:
        write_out(comparison_markdown(comparisons))
    else:
        page = [
            "casewise",
            "report",
            *map(str, paths),
            "--compare",
            "--reveal",
            "--out",
            CHANGES_PAGE,
        ]
        page += ["--force"] if force else []
        shown = comparison_renderable(
            comparisons, whole=whole or bool(metric), page_command=shlex.join(page)
        )
        out().print(shown)


def find_pairs(tables: Mapping[str, pl.DataFrame], *, force: bool = False) -> list[tuple[Run, Run]]:
    """Every two runs of some tables that can be subtracted, told apart by where they were read.

    Raises:
        UsageError: There is one run only, or there are too many pairs.
        InputError: No two runs are over the same version of the data, and that isn't forced.
    """
    runs = find_runs(tables)
    if len(runs) < 2:
        raise UsageError("there is one run only: give another folder or file to compare it with")
    pairs = pairs_of_runs(runs, across_versions=force)
    if len(pairs) > MOST_PAIRS:
        raise UsageError(f"{len(pairs)} pairs of runs: name files or folders with fewer runs")
    return pairs
