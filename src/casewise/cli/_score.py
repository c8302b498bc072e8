"""``casewise score``."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import polars as pl
import typer

from casewise.cases import MAX_SEED, LabelRule, Ties, read_label_rule
from casewise.cli._console import out, working, write_out
from casewise.cli._options import (
    RULES,
    GraderCheck,
    Paths,
    TiesOption,
    Unread,
    read_judgements,
)
from casewise.errors import UsageError
from casewise.reporting import score_renderable, to_csv, to_json, to_markdown
from casewise.scores import (
    CostPrices,
    ScoreReport,
    Scoring,
    Split,
    UnreadPolicy,
    load_checks,
    report_scores,
    score_table,
)
from casewise.statistics import Resampling


class ScoreFormat(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


EVERY_RULE = "all"


def score(
    paths: Paths,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar=f"{RULES}|{EVERY_RULE}",
            help="The truth to measure against; all shows every rule, votes:.6 calls safe what .6 "
            "of the people do. Default: published where it exists, else votes, else intended.",
        ),
    ] = None,
    unparsed: Unread = UnreadPolicy.HONEST,
    ties: TiesOption = Ties.HALF,
    by: Annotated[Split | None, typer.Option(help="Split every row.")] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Add intervals from N draws of whole queries (JSON, CSV)."
        ),
    ] = 0,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Show what temperature scaling and isotonic regression would do, each query "
            "mended by a fit on others.",
        ),
    ] = False,
    cost_over: Annotated[
        float | None,
        typer.Option(min=0, help="What refusing a safe case costs; finds the best threshold."),
    ] = None,
    cost_under: Annotated[
        float | None, typer.Option(min=0, help="What answering an unsafe case costs.")
    ] = None,
    grader_check: GraderCheck = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="Of draws, folds and simulations.")
    ] = 0,
    format: Annotated[ScoreFormat, typer.Option(help="How to print.")] = ScoreFormat.TABLE,
) -> None:
    """Score judgements against people's votes, published rates, or what authors meant.

    One row a model and condition: accuracy, recall and F1 of the verdicts; correlation (PCC),
    cross-entropy (BCE) and Brier score of the probabilities against the labels' shares; what
    the two contexts of a query do. Below, what needs no model, and what people reach.
    Fractions in 0..1, PCC in -1..1; errors are clustered by query.
    docs/method/statistics.md explains every number.

    [bold]Examples[/]

    casewise score logs/

    casewise score exp/ --labels published --unparsed reference --format json

    casewise score run.parquet --by category --format csv > scores.csv

    casewise score logs/ --calibrate --cost-over 1 --cost-under 5

    casewise score logs/ --grader-check labelled.csv
    """
    prices = _prices(cost_over, cost_under)
    if by is not None and (calibrate or prices or grader_check):
        others = "--calibrate, --cost-over and --grader-check"
        raise UsageError(f"--by splits scores; leave it out with {others}")
    every = labels == EVERY_RULE
    rule = None if labels is None or every else read_label_rule(labels)
    judgements = read_judgements(paths)
    checks = load_checks(grader_check or (), [judgements.table])
    scoring = Scoring(
        labels=rule,
        unparsed=unparsed,
        ties=ties,
        resampling=Resampling(bootstrap, seed) if bootstrap else None,
    )
    rules: list[LabelRule | None] = [*LabelRule] if every else [rule]
    with working("scoring"):
        reports = [
            report_scores(
                judgements.table,
                replace(scoring, labels=rule),
                by=by,
                seed=seed,
                calibrate=calibrate,
                prices=prices,
                checks=checks,
            )
            for rule in rules
        ]
    if every:
        reports = [report for report in reports if any(row.score.n for row in report.rows)]
    if format is not ScoreFormat.TABLE:
        texts = {
            ScoreFormat.JSON: to_json,
            ScoreFormat.CSV: to_csv,
            ScoreFormat.MARKDOWN: to_markdown,
        }
        write_out(texts[format](reports))
        return
    for report in reports:
        _print_report(judgements.table, report, replace(scoring, resampling=None), by, not every)


def _prices(over: float | None, under: float | None) -> CostPrices | None:
    if over is None and under is None:
        return None
    if over is None or under is None:
        raise UsageError("give both --cost-over and --cost-under, such as 1 and 5")
    if not over + under > 0:
        raise UsageError("one of --cost-over and --cost-under must exceed 0")
    return CostPrices(over, under)


def print_scores(table: pl.DataFrame) -> None:
    """Print the scores of a table as ``casewise score`` does without options."""
    _print_report(table, report_scores(table, Scoring()), Scoring(), None, True)


def _print_report(
    table: pl.DataFrame, report: ScoreReport, scoring: Scoring, by: Split | None, alone: bool
) -> None:
    """Print a report for a person; alone, with the accuracy under other label rules."""
    rules = list(LabelRule) if alone else []
    others = [score_table(table, replace(scoring, labels=rule), by) for rule in rules]
    console = out()
    console.print(score_renderable(report, others, console.width))
