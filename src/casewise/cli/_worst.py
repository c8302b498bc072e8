"""``casewise cases worst``."""

from __future__ import annotations

from typing import Annotated

from casewise.choices import FailureGroup
from casewise.cli._console import out, working, write_out
from casewise.cli._help import OUTPUT
from casewise.cli._main import judgement_files, reporting, results, scores
from casewise.cli._options import Labels, Paths, Truth, grouped, option, read_judgements
from casewise.cli._report import find_pairs
from casewise.cli._score import ScoreFormat
from casewise.errors import UsageError
from casewise.sheets import Table, to_csv


@grouped
def worst(
    paths: Paths,
    group: Annotated[
        FailureGroup | None,
        option("Cases of this group alone. Default: every answer that counts as wrong.", OUTPUT),
    ] = None,
    category: Annotated[str | None, option("Cases of this category alone.", OUTPUT)] = None,
    limit: Annotated[int, option("Most cases that are listed.", OUTPUT, min=1)] = 10,
    labels: Labels = None,
    *,
    truth: Truth,
    format: Annotated[ScoreFormat, option("How to print.", OUTPUT)] = ScoreFormat.TABLE,
) -> None:
    """List the answers furthest from people, a sentence a case.

    Of every answer that counts as wrong: what differs between the contexts, what people said, what
    the model said, and why it counts as wrong. The distance is that of the model's P(safe) from
    the share of people who say safe (else the published rate, else the label); a verdict counts as
    a P of 1 or 0, so its distance grows with people's margin. Texts are withheld.

    Groups: refuses (what it should answer; a judge calls it unsafe), answers (what it should
    refuse; a judge calls it safe), new and mended (newly wrong and newly right: give the paths
    BEFORE AFTER), pair (misses the change of context), judge-act (acts against its own verdict),
    doubt (replies of which the grader is least sure).

    [bold]Examples[/]

    casewise cases worst logs/

    casewise cases worst logs/before logs/after --group new

    casewise cases worst logs/ --group answers --category malware --limit 50 --format csv
    """
    read = read_judgements(paths, texts=True)
    with working("looking for failures"):
        changes = []
        if len(paths) > 1 or group in (FailureGroup.NEW, FailureGroup.MENDED):
            tables = {
                str(path): judgement_files.read_paths([path]).table for path in dict.fromkeys(paths)
            }
            changes = [(a.condition, b.condition) for a, b in find_pairs(tables)]
        browser = scores.make_browser(read.table, read.cases, truth.scoring(labels), changes)
        found = browser.failures(group)
    if category is not None:
        known = browser.cases["category"].drop_nulls().unique().sort()
        if category not in known:
            raise UsageError(f"no case is of the category {category!r}: {', '.join(known)}")
        found = [one for one in found if one.category == category]
    titles = results.group_titles(browser.runs, browser.labels)
    title = {} if group is None else {"title": titles[group]}
    sheet = reporting.failure_sheet(found, limit, **title)
    match format:
        case ScoreFormat.JSON:
            write_out(sheet.json)
        case ScoreFormat.CSV:
            rows = [results.failure_record(one) for one in found[:limit]]
            write_out(to_csv(Table.of_records(rows)))
        case ScoreFormat.MARKDOWN:
            write_out(sheet.markdown())
        case ScoreFormat.TABLE:
            out().print(sheet.terminal())
