"""``casewise cases audit``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from casewise.analysis import (
    CONTENT_WARNING,
    audit_cases,
    parse_demands,
    undefined_demands,
    unmet_demands,
)
from casewise.cases import open_cases
from casewise.cli._cases import File
from casewise.cli._console import err, note, out, working, write_out
from casewise.errors import UsageError
from casewise.files import write_atomically
from casewise.reporting import audit_json, audit_markdown, audit_renderable

FAILED = 1
"""The exit status where something was found that ``--fail-on`` names."""


class AuditFormat(StrEnum):
    """How an audit is printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def audit(
    file: File,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="WHAT,...",
            help="Exit with 1 if this is found: error, warning (errors too), a code, or a code "
            "with a limit.",
        ),
    ] = "",
    format: Annotated[AuditFormat, typer.Option(help="How to print.")] = AuditFormat.TABLE,
    to: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Also write the audit as Markdown."),
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Show pieces of the texts, not only ids.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of folds and hashing.")] = 0,
) -> None:
    """Look for what is wrong with a set of cases, before anybody judges them.

    Copies and misplaced contexts; whether words, lengths or one parameter
    give the intended side away; twins that differ in length or readability;
    languages, personal data, unfinished texts; parameters that the set does
    not cover; pairs, categories, votes. No model is run. Votes have more
    checks in casewise describe. Each finding has a code that stays.

    A limit is held against a figure where the check has one (accuracy,
    Cohen's d), and else against the count: shortcut-leakage>.9,
    misplaced-context>0.

    [bold]Exit status[/]: 0 done, 1 found what --fail-on names, 2 bad input.

    [bold]Examples[/]

    casewise cases audit mine.yaml

    casewise cases audit casebench --format json > audit.json

    casewise cases audit mine.jsonl --fail-on "error,personal-data,shortcut-leakage>.9"
    """
    demands = parse_demands(fail_on) if fail_on.strip() else ()
    if to is not None and to.exists() and Path(file).exists() and to.samefile(file):
        raise UsageError(f"{to}: would overwrite the cases")
    loaded = open_cases(file)
    for line in loaded.notes:
        note(f"note: {line}")
    with working("auditing"):
        found = audit_cases(loaded, seed=seed)
    if reveal:
        err().print(CONTENT_WARNING, style="yellow")
    if to is not None:
        write_atomically(to, audit_markdown(found, reveal=reveal).encode())
        note(f"wrote {to}")
    if format is AuditFormat.JSON:
        write_out(audit_json(found, reveal=reveal))
    elif format is AuditFormat.MARKDOWN:
        write_out(audit_markdown(found, reveal=reveal))
    else:
        out().print(audit_renderable(found, reveal=reveal))
    for text in undefined_demands(found, demands):
        note(f"note: --fail-on {text}: this set has too few cases for the figure")
    failed = unmet_demands(found, demands)
    for one in failed:
        err().print(f"failed on {one.text}: found {one.found}", markup=False)
    if failed:
        raise typer.Exit(FAILED)
