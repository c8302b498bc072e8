"""``casewise score``."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from casewise.choices import LabelRule, Split, Ties, UnreadPolicy
from casewise.cli import _complete as complete
from casewise.cli import _options as options
from casewise.cli._console import out, working, write_out
from casewise.cli._help import OUTPUT, TRUTH, UNCERTAINTY
from casewise.cli._late import polars, reporting, scores, statistics
from casewise.errors import UsageError


class ScoreFormat(StrEnum):
    """Form of printed results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


EVERY_RULE = "all"


def score(
    paths: options.Paths,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar=f"{options.LABEL_RULES}|{EVERY_RULE}",
            autocompletion=complete.one_of(lambda: [*LabelRule, EVERY_RULE]),
            help="The truth to measure against; all shows every rule, votes:.6 calls safe what .6 "
            "of the people do. Default: published where it exists, else votes, else intended.",
            rich_help_panel=TRUTH,
        ),
    ] = None,
    unparsed: options.Unread = UnreadPolicy.HONEST,
    ties: options.TiesOption = Ties.HALF,
    by: Annotated[
        Split | None, typer.Option(help="Split every row.", rich_help_panel=OUTPUT)
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Add intervals from N draws of whole queries (JSON, CSV).",
            rich_help_panel=UNCERTAINTY,
        ),
    ] = 0,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Show what temperature scaling and isotonic regression would do, each query "
            "mended by a fit on others.",
            rich_help_panel="Calibration and costs",
        ),
    ] = False,
    cost_over: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="What refusing a safe case costs; finds the best threshold.",
            rich_help_panel="Calibration and costs",
        ),
    ] = None,
    cost_under: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="What answering an unsafe case costs.",
            rich_help_panel="Calibration and costs",
        ),
    ] = None,
    grader_check: options.GraderCheck = None,
    seed: Annotated[int, options.seed_option("Of draws, folds and simulations.", UNCERTAINTY)] = 0,
    format: Annotated[
        ScoreFormat, typer.Option(help="How to print.", rich_help_panel=OUTPUT)
    ] = ScoreFormat.TABLE,
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
    rule = None if labels is None or every else options.read_rule(labels)
    judgements = options.read_judgements(paths)
    checks = scores.load_checks(grader_check or (), [judgements.table])
    scoring = scores.Scoring(
        labels=rule,
        unparsed=unparsed,
        ties=ties,
        resampling=statistics.Resampling(bootstrap, seed) if bootstrap else None,
    )
    rules: list[LabelRule | None] = [*LabelRule] if every else [rule]
    with working("scoring"):
        reports = [
            scores.report_scores(
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
            ScoreFormat.JSON: reporting.to_json,
            ScoreFormat.CSV: reporting.to_csv,
            ScoreFormat.MARKDOWN: reporting.to_markdown,
        }
        write_out(texts[format](reports))
        return
    for report in reports:
        _print_report(judgements.table, report, scoring, by, not every)


def _prices(over: float | None, under: float | None) -> scores.CostPrices | None:
    if over is None and under is None:
        return None
    if over is None or under is None:
        raise UsageError("give both --cost-over and --cost-under, such as 1 and 5")
    if not over + under > 0:
        raise UsageError("one of --cost-over and --cost-under must exceed 0")
    return scores.CostPrices(over, under)


def print_scores(table: polars.DataFrame) -> None:
    """Print the scores of a table as ``casewise score`` does without options."""
    _print_report(
        table, scores.report_scores(table, scores.Scoring()), scores.Scoring(), None, True
    )


def _print_report(
    table: polars.DataFrame,
    report: scores.ScoreReport,
    scoring: scores.Scoring,
    by: Split | None,
    alone: bool,
) -> None:
    """Print a report for a person; alone, with the accuracy under other label rules."""
    own = {row.score.labels for row in report.rows if not row.score.acts}
    rules = [rule for rule in LabelRule if alone and own - {rule}]
    others = [scores.rule_accuracies(table, scoring, rule, by) for rule in rules]
    console = out()
    console.print(reporting.score_renderable(report, others, console.width))
