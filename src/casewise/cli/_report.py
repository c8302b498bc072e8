"""``casewise compare`` and ``casewise report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from casewise.cli._console import Format, FormatOption, note, print_as, working
from casewise.cli._help import CASES, OUTPUT
from casewise.cli._main import (
    case_files,
    judgement_files,
    reporting,
    results,
)
from casewise.cli._options import (
    READ,
    Force,
    Labels,
    Paths,
    Truth,
    argument,
    cases_option,
    flag,
    grouped,
    option,
    out_option,
    read_judgements,
)
from casewise.errors import UsageError
from casewise.sheets import plural


@grouped
def compare(
    paths: Annotated[tuple[Path, ...], argument("BEFORE AFTER...", READ)],
    labels: Labels = None,
    *,
    truth: Truth,
    force: Force = False,
    whole: Annotated[bool, flag("--all", "Show every measure.", OUTPUT)] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Compare runs over the same cases: is the difference more than chance?

    Runs with the same protocol, delivery and ablation are compared, two at a time, over the
    cases that both answered; if no two match, all are. Models of the same name in BEFORE and
    AFTER are compared with themselves. The difference is after minus before, clustered by
    query; of more than two runs, the earlier argument is before. Printed first are changes for
    the worse, then for the better, by more than chance; then a table, and five newly wrong
    cases. With --all, p-values are adjusted (Holm) over all pairs of runs, and DETECTABLE is
    the smallest true difference that these cases would show in 80 % of tries. Runs over
    different versions of the data need --force, which compares the cases that both have.

    [bold]Examples[/]

    casewise compare logs/last-week logs/today

    casewise compare before.parquet after.parquet --format json
    """
    tables = {str(path): read_judgements([path]).table for path in dict.fromkeys(paths)}
    checks = truth.checks(tables.values())
    runs = results.find_runs(tables)
    pairs = results.find_pairs(runs, across_versions=force)
    paired = {(run.place, run.condition) for pair in pairs for run in pair}
    alone = [run.condition.title for run in runs if (run.place, run.condition) not in paired]
    if alone:
        note(f"left out, as no other run is like it: {'; '.join(alone)}")
    with working("comparing"):
        comparisons = results.compare_runs(pairs, truth.scoring(labels), checks)
    print_as(format, reporting.comparison_sheet(results.Comparisons.of(comparisons), whole=whole))


PAGE, CARD = "report.html", "card.md"
"""Files of a folder."""


@grouped
def report(
    paths: Paths,
    out: Annotated[
        Path,
        out_option(
            "The page (FILE.html), the evaluation card (FILE.md), or a folder, which gets both.",
            OUTPUT,
            "FILE|FOLDER",
        ),
    ] = Path(PAGE),
    reveal: Annotated[
        bool,
        flag(
            "--reveal",
            "Show queries, contexts and replies, behind a content warning. Without it ids, "
            "categories and lengths stand in.",
            OUTPUT,
        ),
    ] = False,
    compare: Annotated[
        bool,
        flag(
            "--compare",
            "Begin with what changed between the runs BEFORE AFTER: after minus before.",
            OUTPUT,
        ),
    ] = False,
    trend: Annotated[
        bool,
        flag(
            "--trend",
            "Begin with the latest run of PATH, and how the measures moved in time, by "
            "version of the model (from logs, which have dates).",
            OUTPUT,
        ),
    ] = False,
    force: Force = False,
    cases: Annotated[
        str | None,
        cases_option(
            "Cases with the texts that the judgements lack: starter, casebench, a file.", CASES
        ),
    ] = None,
    labels: Labels = None,
    *,
    truth: Truth,
    title: Annotated[str, option("The page's title.", OUTPUT)] = "Safety in context",
) -> None:
    """Make a page that shows the scores and every case, or a card.

    The page is one file that opens from disk, without a network: the state of the runs, one
    sentence, a table of runs that any column sorts, the worst cases, and every analysis. The card
    is the same in Markdown, for a model's or a release's documentation. Numbers are those of
    casewise score.

    [bold]Examples[/]

    casewise report logs/ --out report.html

    casewise report logs/before logs/after --compare --out what-changed.html

    casewise report nightly/ --trend --out trend.html

    casewise report logs/ --out card.md

    casewise report logs/ --grader-check labelled.csv --out report.html

    casewise report logs/ --reveal --out everything/
    """
    outputs = _output_files(out)
    if compare:
        parts = {str(path): read_judgements([path], texts=True) for path in dict.fromkeys(paths)}
    else:
        parts = {"": read_judgements(paths, texts=True, apart=not trend)}
    with working("scoring"):
        overview = results.make_overview(
            parts,
            truth.scoring(labels),
            cases=case_files.open_cases(cases) if cases is not None else (),
            checks=truth.checks(part.table for part in parts.values()),
            records=judgement_files.run_records(paths),
            compare=compare,
            across_versions=force,
            trend=trend,
        )
    if reveal:
        note("content warning: the page holds queries, contexts and replies as they are")
        _note_missing(overview)
    for path in outputs:
        with working(f"writing {path}"):
            reporting.write_report(overview, path, title=title, reveal=reveal, trend=trend)
        runs, judged = len(overview.scores), overview.scores.table["case_id"].n_unique()
        note(f"{path}: {plural(runs, 'run')}, {plural(judged, 'case')}")


def _output_files(out: Path) -> list[Path]:
    """The files to write: the one that is named, or both kinds into a folder."""
    suffix = out.suffix.lower()
    if suffix in (".html", ".htm", ".md"):
        return [out]
    if suffix and not out.is_dir():
        raise UsageError(
            f"can't make a report of the kind {out.suffix!r}: --out takes FILE.html, FILE.md "
            "or a folder"
        )
    return [out / PAGE, out / CARD]


def _note_missing(overview: results.Overview) -> None:
    missing = len(set(overview.scores.table["case_id"]) - overview.cases.keys())
    if missing:
        note(
            f"note: the texts of {missing} cases are not in what was read; --cases names the file "
            "that has them"
        )
