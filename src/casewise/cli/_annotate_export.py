"""``casewise annotate export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from casewise.annotation.study import Study, load_study
from casewise.annotation.votes import (
    Collected,
    ExportChoices,
    check_export,
    export_study,
    read_collected,
    summarise,
)
from casewise.cli._annotate_export_tables import results_renderable
from casewise.cli._annotate_store import open_store
from casewise.cli._console import note, out, working, write_out
from casewise.errors import UsageError


class Format(StrEnum):
    """How the summary is printed."""

    TABLE = "table"
    JSON = "json"


def export(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    to: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write.")],
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where the study was served. Default: the .db file beside the study.",
        ),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Plain CSV instead: a folder with votes.csv, or a file of votes alone.",
        ),
    ] = None,
    without_flagged: Annotated[
        bool,
        typer.Option("--without-flagged", help="Leave flagged people's votes out of cases.jsonl."),
    ] = False,
    with_reasons: Annotated[
        bool,
        typer.Option("--with-reasons", help="Include what people wrote; it may identify them."),
    ] = False,
    with_demographics: Annotated[
        bool,
        typer.Option("--with-demographics", help="Include age and the like; so may these."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    format: Annotated[Format, typer.Option(help="How to print the summary.")] = Format.TABLE,
) -> None:
    """Screen and summarise a study's votes, and write them down to be published.

    The folder gets votes.csv, votes.parquet, people.csv, checks.csv,
    cases.jsonl with the votes on each case, data-card.md and summary.json.
    People are flagged by the rules of the study file, with reasons; flags
    delete nothing, and a table shows what would change without those flagged.
    People are pseudonyms.

    Content warning: cases.jsonl holds queries and contexts.

    [bold]Examples[/]

    casewise annotate export study.yaml --out votes/

    casewise annotate export study.yaml --votes collected/ --out votes/

    casewise annotate export study.yaml --out votes/ --without-flagged --force

    casewise annotate export study.yaml --out votes/ --format json > summary.json
    """
    if database is not None and votes is not None:
        raise UsageError("--database and --votes: give one of them")
    if votes is not None and to.exists() and votes.exists() and to.samefile(votes):
        raise UsageError(f"{to}: would overwrite the votes; give another --out")
    study = load_study(file)
    choices = ExportChoices(
        with_reasons=with_reasons,
        with_demographics=with_demographics,
        without_flagged=without_flagged,
        force=force,
    )
    check_export(to, choices)
    with working("reading the votes"):
        collected = _collected(study, file, database, votes)
    if not any(one.counted for one in collected.votes):
        raise UsageError(f"{votes or database or file}: no vote that counts, so nothing to export")
    with working("screening and summarising"):
        results = summarise(study, collected)
        summary = export_study(results, to, choices)
    if format is Format.JSON:
        write_out(summary)
    else:
        out().print(results_renderable(results))
    note(f"{to}: votes, people, cases, data-card.md; cases.jsonl holds {choices.votes_words}")


def _collected(study: Study, file: Path, database: str | None, votes: Path | None) -> Collected:
    if votes is not None:
        return read_collected(votes, study)
    with open_store(study, file, database, "export") as store:
        return store.collected()
