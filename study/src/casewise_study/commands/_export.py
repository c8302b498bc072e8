"""``casewise annotate export``, and the tables that it prints."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from casewise.cli import note, out, working, write_out
from casewise.errors import UsageError
from casewise.sheets import estimate, p_value, terminal
from casewise_study.commands.shared import DatabaseOption, ResultFormat, StudyFile, open_store
from casewise_study.study.schema import Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.cells import NO_INTERVALS
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import read_collected
from casewise_study.votes.data_card import ExportChoices, card_tables
from casewise_study.votes.export import export_study
from casewise_study.votes.result_files import EXPORT, check_free
from casewise_study.votes.results import Results, summarise

_SMALL = 0.01
"""Below such a p, panels are said to judge otherwise."""


def results_renderable(results: Results) -> RenderableType:
    """The summary of a study."""
    titles = {
        "arms": "What people said",
        "agreement": "How far they agree",
        "contrasts": "What the context does to votes",
        "sensitivity": "With and without those whom screening flags",
    }
    tables = card_tables(results)
    titled = [
        replace(tables[name], title=title + (" (95 %)" if name != "sensitivity" else ""))
        for name, title in titles.items()
    ]
    return terminal(*_opening(results), *titled, *_remarks(results))


def _opening(results: Results) -> list[str]:
    funnel, study = results.funnel, results.study
    met = sum(cell.quota_met for cell in results.cells)
    flagged = ", ".join(
        f"{rule.value.replace('_', ' ')} {count}" for rule, count in funnel.flagged.items()
    )
    decided = "were decided or " if results.stops else ""
    return [
        f"{study.title}: {funnel.votes} counted votes of {funnel.people} people "
        f"({funnel.came} came)",
        f"{met} of {len(results.cells)} cells {decided}have their {study.votes} votes",
        f"flagged: {funnel.flagged_any} people ({flagged})",
        *([results.groups.told] if results.groups.told else []),
        "",
    ]


def _remarks(results: Results) -> list[str]:
    panels, drift = results.panels, results.drift
    lines = [NO_INTERVALS] if results.stops else []
    if results.turned:
        lines.append(f"{len(results.turned)} labels turn without flagged people: data-card.md")
    slope = drift.safe_by_page
    if math.isfinite(slope.value):
        lines.append(f"over ten pages of a person: share safe {estimate(slope, with_signs=True)}")
    if math.isfinite(panels.p):
        unlike = "judge the same cases otherwise" if panels.p < _SMALL else "don't clearly differ"
        lines.append(
            f"panels {unlike} (p {p_value(panels.p)}, over {panels.shared_cells} shared cells)"
        )
    elif len(panels.panels) > 1:
        lines.append("panels can't be compared: too few people on the same cells")
    short = sum(not cell.quota_met for cell in results.cells)
    if short:
        lines.append(f"{short} cells have fewer votes than planned")
    if not results.classes.converged:
        lines.append("Dawid and Skene's model did not settle: don't use its probabilities")
    return lines


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
        typer.Option("--with-flagged", help="Count flagged people's votes in cases and figures."),
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
    format: Annotated[
        ResultFormat, typer.Option(help="How to print the summary.")
    ] = ResultFormat.TABLE,
) -> None:
    """Screen and summarise a study's votes, and write them down to be published.

    The folder gets votes.csv, votes.parquet, people.csv, checks.csv,
    cases.jsonl with the votes on each case, data-card.md and summary.json.
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
    choices = ExportChoices(
        with_reasons=with_reasons,
        with_demographics=with_demographics,
        force=force,
    )
    check_free(to, EXPORT, force=force)
    with working("reading the votes"):
        collected = _collected(study, file, database, votes)
    if not any(vote.counted for vote in collected.votes):
        raise UsageError(f"{votes or database or file}: no vote that counts, so nothing to export")
    with working("screening and summarising"):
        results = summarise(study, collected, with_flagged=with_flagged)
        summary = export_study(results, to, choices)
    if format is ResultFormat.JSON:
        write_out(summary)
    else:
        out().print(results_renderable(results))
    note(f"{to}: votes, people, cases, data-card.md; cases.jsonl holds {results.votes_words}")


def _collected(study: Study, file: Path, database: str | None, votes: Path | None) -> Collected:
    if votes is not None:
        return read_collected(votes, study)
    with open_store(study, file, database, "export") as store:
        return store.collected()
