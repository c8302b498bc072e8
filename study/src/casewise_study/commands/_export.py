"""``casewise annotate export``, and the tables that it prints."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from casewise.cli import note, out, working, write_out
from casewise.errors import UsageError
from casewise.sheets import plural, terminal
from casewise_study.commands.shared import DatabaseOption, ResultFormat, StudyFile, open_store
from casewise_study.study.schema import Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import read_collected
from casewise_study.votes.data_card import card_tables
from casewise_study.votes.export import export_study
from casewise_study.votes.result_files import EXPORT, check_free
from casewise_study.votes.results import NO_INTERVALS, Results, summarise

_TITLES = {
    "arms": "People's votes (95 %)",
    "contrasts": "What the context does to votes (95 %)",
    "sensitivity": "With and without those whom screening flags",
}


def results_renderable(results: Results) -> RenderableType:
    """The summary of a study."""
    funnel, study = results.funnel, results.study
    flagged = ", ".join(
        f"{rule.value.replace('_', ' ')} {count}" for rule, count in funnel.flagged.items()
    )
    tables = card_tables(results)
    remarks = [NO_INTERVALS] if study.collection.is_sequential else []
    if results.turned:
        turned = plural(len(results.turned), "label")
        remarks.append(
            f"without flagged people turned: {turned} (data-card.md; --with-flagged keeps them)"
        )
    return terminal(
        f"{study.title}: {results.counted} ({funnel.came} came)",
        results.completeness,
        f"flagged: {plural(funnel.flagged_any, 'person')} ({flagged})",
        "",
        *(replace(tables[name], title=title) for name, title in _TITLES.items()),
        *remarks,
    )


def export(
    file: StudyFile,
    to: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write.")],
    database: DatabaseOption = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Plain CSV instead: a folder with votes.csv, or a file of votes alone.",
        ),
    ] = None,
    with_flagged: Annotated[
        bool,
        typer.Option("--with-flagged", help="Include flagged people's votes in cases and figures."),
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
    format: Annotated[ResultFormat, typer.Option(help="Form of the output.")] = ResultFormat.TABLE,
) -> None:
    """Screen and summarise a study's votes, and write them down to be published.

    The folder gets votes.csv, people.csv, checks.csv, cases.jsonl with the
    votes on each case, data-card.md and summary.json.
    People are flagged by the rules of the study file, with reasons, and the
    cases and their figures go without the votes of those flagged. votes.csv
    has every vote, and the data card both figures and the labels that turn.
    People are pseudonyms.

    Content warning: cases.jsonl holds queries and contexts.

    [bold]Examples[/]

    casewise annotate export study.yaml --out votes/

    casewise annotate export study.yaml --votes collected/ --out votes/

    casewise annotate export study.yaml --out votes/ --with-flagged --force

    casewise annotate export study.yaml --out votes/ --format json > summary.json
    """
    if database is not None and votes is not None:
        raise UsageError("--database and --votes: give one of them")
    if votes is not None and to.exists() and votes.exists() and to.samefile(votes):
        raise UsageError(f"{to}: would overwrite the votes; give another --out")
    study = load_study(file)
    check_free(to, EXPORT, force=force)
    with working("reading the votes"):
        collected = _collected(study, file, database, votes)
    if not any(vote.counted for vote in collected.votes):
        raise UsageError(f"{votes or database or file}: no vote that counts, so nothing to export")
    with working("screening and summarising"):
        results = summarise(study, collected, with_flagged=with_flagged)
        summary = export_study(
            results,
            to,
            with_reasons=with_reasons,
            with_demographics=with_demographics,
            force=force,
        )
    if format is ResultFormat.JSON:
        write_out(summary)
    else:
        out().print(results_renderable(results))
    note(f"{to}: votes, people, cases, data-card.md; cases.jsonl holds {results.votes_words}")


def _collected(study: Study, file: Path, database: str | None, votes: Path | None) -> Collected:
    if votes is not None:
        return read_collected(votes, study)
    with open_store(study, file, database) as store:
        return store.collected()
