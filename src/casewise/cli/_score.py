"""``casewise score``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from casewise.choices import LabelRule, Split
from casewise.cli import _complete as complete
from casewise.cli._console import command_line, note, out, working, write_out
from casewise.cli._help import OUTPUT, TRUTH, UNCERTAINTY
from casewise.cli._main import (
    judgement_files,
    polars,
    reporting,
    results,
)
from casewise.cli._options import (
    LABEL_RULES,
    Paths,
    Truth,
    flag,
    grouped,
    option,
    read_judgements,
    read_rule,
    seed_option,
)
from casewise.errors import UsageError
from casewise.files import quoted
from casewise.sheets import to_csv, to_json


class ScoreFormat(StrEnum):
    """Form of printed results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


EVERY_RULE = "all"


@grouped
def score(
    paths: Paths,
    labels: Annotated[
        str | None,
        option(
            "The truth to measure against; all shows every rule, votes:.6 calls safe what .6 "
            "of the people do. Default: published where it exists, else votes, else intended.",
            TRUTH,
            f"{LABEL_RULES}|{EVERY_RULE}",
            complete.offer(lambda: [*LabelRule, EVERY_RULE]),
        ),
    ] = None,
    *,
    truth: Truth,
    by: Annotated[Split | None, option("Split every row.", OUTPUT)] = None,
    every_measure: Annotated[
        bool, flag("--all", "Show every measure and analysis, baselines too.", OUTPUT)
    ] = False,
    calibrate: Annotated[
        bool,
        flag(
            "--calibrate",
            "Show what temperature scaling and isotonic regression would do, each query "
            "mended by a fit on others.",
            "Calibration",
        ),
    ] = False,
    seed: Annotated[int, seed_option("Of folds.", UNCERTAINTY)] = 0,
    format: Annotated[ScoreFormat, option("How to print.", OUTPUT)] = ScoreFormat.TABLE,
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

    casewise score logs/ --calibrate

    casewise score logs/ --grader-check labelled.csv
    """
    if by is not None and (calibrate or truth.grader_check):
        others = "--calibrate and --grader-check"
        raise UsageError(f"--by splits scores; leave it out with {others}")
    every = labels == EVERY_RULE
    rules: list[LabelRule | None] = (
        [*LabelRule] if every else [read_rule(labels) if labels is not None else None]
    )
    table = read_judgements(paths, apart=True).table
    checks = truth.checks([table])
    scoring = truth.scoring(rules[0])
    with working("scoring"):
        found = [
            results.score_table(
                table,
                replace(scoring, labels=rule),
                by=by,
                seed=seed,
                calibrate=calibrate,
                checks=checks,
            )
            for rule in rules
        ]
    if every:
        found = [one for one in found if any(score.n for score in one)]
    match format:
        case ScoreFormat.JSON:
            write_out(to_json([row for one in found for row in one.record()]))
        case ScoreFormat.CSV:
            write_out(to_csv([row for one in found for row in one.record()]))
        case ScoreFormat.MARKDOWN:
            sheets = [reporting.score_sheet(one, whole=every_measure) for one in found]
            write_out("\n".join(one.markdown() for one in sheets))
        case ScoreFormat.TABLE:
            for one in found:
                out().print(reporting.score_sheet(one, whole=every_measure).terminal())
            note_grader_error(found[0] if found else [], paths)
            _note_unfinished(table, paths)


def _note_unfinished(table: polars.DataFrame, paths: Sequence[Path]) -> None:
    """Say how to go on with runs that ended early, where their folders have the command."""
    if table["stopped"].null_count() == len(table):
        return
    for command in dict.fromkeys(filter(None, map(judgement_files.recorded_command, paths))):
        note("a run ended early. To go on:")
        command_line(command)


def print_short(table: polars.DataFrame) -> results.Scores:
    """Print the verdicts on a table in short, by the rules of ``casewise score``."""
    found = results.score_table(table)
    out().print(reporting.score_sheet(found).terminal())
    return found


def note_grader_error(found: Iterable[results.Score], paths: Sequence[Path]) -> None:
    """Say how to measure the grader's error, if nobody has."""
    if not any(score.acts and not (score.is_corrected or score.is_provisional) for score in found):
        return
    note(
        "nobody has measured the grader's error on these replies; 50 labels do: casewise graders "
        f"sample {' '.join(map(quoted, paths))} && casewise graders label to-label.csv"
    )
