"""``casewise report``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from casewise.cases import MAX_SEED, Case, Ties, open_cases
from casewise.cli._compare import find_pairs
from casewise.cli._console import note, working
from casewise.cli._options import (
    Force,
    GraderCheck,
    Labels,
    Paths,
    TiesOption,
    Unread,
    read_judgements,
)
from casewise.dataset import plural
from casewise.errors import UsageError
from casewise.files import write_atomically
from casewise.reporting import evaluation_card, report_page
from casewise.scores import (
    CheckFile,
    Comparison,
    Overview,
    Scoring,
    UnreadPolicy,
    compare_runs,
    evaluation_facts,
    load_checks,
    make_overview,
    read_paths,
)

PAGE, CARD = "report.html", "card.md"
"""What a folder gets."""


def report(
    paths: Paths,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The page (FILE.html), the evaluation card (FILE.md), or a folder."
        ),
    ] = Path(PAGE),
    reveal: Annotated[
        bool,
        typer.Option(
            "--reveal",
            help="Show queries, contexts and replies, behind a content warning. Without it ids, "
            "categories and lengths stand in.",
        ),
    ] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Begin with what changed between the runs BEFORE AFTER: after minus before.",
        ),
    ] = False,
    trend: Annotated[
        bool,
        typer.Option(
            "--trend",
            help="Begin with how the measures moved over the runs of PATH in time, by version of "
            "the model (from logs, which have dates).",
        ),
    ] = False,
    force: Force = False,
    cases: Annotated[
        str | None,
        typer.Option(help="Where texts are that the judgements lack: starter, casebench, a file."),
    ] = None,
    labels: Labels = None,
    unparsed: Unread = UnreadPolicy.HONEST,
    ties: TiesOption = Ties.HALF,
    grader_check: GraderCheck = None,
    title: Annotated[str, typer.Option(help="The page's title.")] = "Safety in context",
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of simulated ceilings.")] = 0,
) -> None:
    """Make a page that shows the scores and every case, or an evaluation card.

    The page is one file that opens from disk, without a network: three figures with intervals and
    baselines, charts with the tables behind them, and a case browser. The card is Markdown for a
    model's or a release's documentation. Numbers are those of casewise score.

    [bold]Examples[/]

    casewise report logs/ --out report.html

    casewise report logs/before logs/after --compare --out what-changed.html

    casewise report nightly/ --trend --out trend.html

    casewise report logs/ --out card.md

    casewise report logs/ --grader-check labelled.csv --out report.html

    casewise report logs/ --reveal --out everything/
    """
    wanted = _wanted(out)
    judgements = read_judgements(paths, texts=True)
    scoring = Scoring(labels, unparsed, ties)
    with working("scoring"):
        checks = load_checks(grader_check or (), [judgements.table])
        comparisons = _compare(paths, scoring, checks, force=force) if compare else []
        overview = make_overview(
            judgements,
            scoring,
            cases=_known(cases),
            comparisons=comparisons,
            checks=checks,
            seed=seed,
        )
        facts = evaluation_facts(paths, judgements, overview, scoring, seed=seed)
    if reveal:
        note("content warning: the page holds queries, contexts and replies as they are")
        _note_missing(overview)
    for path in wanted:
        with working(f"writing {path}"):
            if path.suffix.lower() == ".md":
                text = evaluation_card(overview, facts)
            else:
                text = report_page(overview, title=title, reveal=reveal, facts=facts, trend=trend)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode())
        runs, cases_shown = len(overview.scores), len(overview.browser.cases)
        note(f"{path}: {plural(runs, 'run')}, {plural(cases_shown, 'case')}")


def _wanted(out: Path) -> list[Path]:
    """The files to write: the one that is named, or both kinds into a folder."""
    suffix = out.suffix.lower()
    if suffix in (".html", ".htm", ".md"):
        return [out]
    if suffix and not out.is_dir():
        raise UsageError(
            f"can't make a report of the kind {out.suffix!r}: --out takes FILE.html, FILE.md or a "
            "folder"
        )
    return [out / PAGE, out / CARD]


def _known(cases: str | None) -> dict[str, Case]:
    return {case.id: case for case in open_cases(cases).cases} if cases is not None else {}


def _compare(
    paths: Sequence[Path], scoring: Scoring, checks: Sequence[CheckFile], *, force: bool
) -> list[Comparison]:
    """Every two runs that can be subtracted, told apart by where they were read."""
    tables = {str(path): read_paths([path]).table for path in dict.fromkeys(paths)}
    return compare_runs(find_pairs(tables, force=force), scoring, checks=checks)


def _note_missing(overview: Overview) -> None:
    missing = overview.browser.cases["query"].null_count()
    if missing:
        note(
            f"note: the texts of {missing} cases are not in what was read; --cases names the file "
            "that has them"
        )
