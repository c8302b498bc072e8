"""``casewise score``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from casewise.choices import LabelRule, Split
from casewise.cli._console import Format, command_line, note, out, print_as, working, write_out
from casewise.cli._help import OUTPUT, TRUTH, UNCERTAINTY
from casewise.cli._main import (
    judgement_files,
    polars,
    reporting,
    results,
)
from casewise.cli._options import (
    Paths,
    Truth,
    flag,
    grouped,
    labels_option,
    option,
    read_judgements,
    seed_option,
)
from casewise.errors import UsageError
from casewise.files import quoted
from casewise.sheets import to_csv


class ScoreFormat(StrEnum):
    """Form of printed results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


@grouped
def score(
    paths: Paths,
    labels: Annotated[
        LabelRule | None,
        labels_option(
            "The truth to measure against; votes:.6: safe if .6 of the people vote so. "
            "Default: published where it exists, else votes, else intended.",
            TRUTH,
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
            "Show calibration by temperature and by isotonic regression, each query by a fit on "
            "the others.",
            "Calibration",
        ),
    ] = False,
    seed: Annotated[int, seed_option("Seed of the folds.", UNCERTAINTY)] = 0,
    format: Annotated[ScoreFormat, option("Form of the output.", OUTPUT)] = ScoreFormat.TABLE,
) -> None:
    """Score judgements against people's votes, published rates, or what authors meant.

    First the finding in a sentence, then a row a run: changes of the context that it follows,
    both kinds of mistakes, right answers; below, chance, one person and the ceiling. --all
    adds accuracy, recalls, F1, correlation (PCC), cross-entropy (BCE), Brier score and every
    analysis. Intervals are 95 %, clustered by query; docs/method/statistics.md explains each
    number.

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
    table = read_judgements(paths, apart=True).table
    checks = truth.checks([table])
    with working("scoring"):
        scores = results.score_table(
            *(table, truth.scoring(labels)),
            by=by,
            seed=seed,
            calibrate=calibrate,
            checks=checks,
        )
    if format is ScoreFormat.CSV:
        write_out(to_csv(scores.record()))
        return
    print_as(Format(format.value), reporting.score_sheet(scores, whole=every_measure))
    if format is ScoreFormat.TABLE:
        note_grader_error(scores, paths)
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
    scores = results.score_table(table)
    out().print(reporting.score_sheet(scores).terminal())
    return scores


def note_grader_error(scores: Iterable[results.Score], paths: Sequence[Path]) -> None:
    """Say how to measure the grader's error, if nobody has."""
    if not any(score.acts and not (score.is_corrected or score.is_provisional) for score in scores):
        return
    note(
        "nobody has measured the grader's error on these replies; 50 labels do: casewise graders "
        f"sample {' '.join(map(quoted, paths))} && casewise graders label to-label.csv"
    )
