"""``casewise cases``: validate, show, convert, fetch, audit."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from casewise.cli import _complete as complete
from casewise.cli._console import (
    Format,
    FormatOption,
    err,
    note,
    note_all,
    out,
    print_as,
    working,
    write_out,
)
from casewise.cli._main import case_files, contexts, dataset, reporting
from casewise.cli._options import (
    argument,
    flag,
    note_versions,
    open_cases,
    option,
    warn_of_content,
)
from casewise.cli.arguments import File
from casewise.errors import UsageError
from casewise.sheets import plural

MOST_PROBLEMS = 20
"""Problems of a file that are named."""


def validate(file: File) -> None:
    """Check every record of a file, and say what it holds.

    [bold]Example[/]

    casewise cases validate mine.yaml
    """
    if file in ("starter", "casebench"):
        _print_summary(case_files.open_cases(file))
        return
    loaded, problems = case_files.find_problems(file)
    print_problems("error", problems)
    if problems:
        raise typer.Exit(2)
    _print_summary(loaded)


def print_problems(kind: str, problems: Sequence[object]) -> None:
    """Print the first problems of a file, and how many more there are."""
    for problem in problems[:MOST_PROBLEMS]:
        err().print(f"{kind}: {problem}", markup=False)
    if len(problems) > MOST_PROBLEMS:
        err().print(f"... and {len(problems) - MOST_PROBLEMS} more")


def _print_summary(loaded: case_files.CaseSet) -> None:
    cases = loaded.cases
    queries = {case.query_id for case in cases}
    categories = {case.category for case in cases if case.category}
    arms = Counter(case.intended for case in cases)
    bare = sum(case.context is None for case in cases)
    voted = sum(case.votes is not None for case in cases)
    note_all(loaded.notes)
    out().print(
        f"{loaded.name}: {plural(len(cases), 'case')} of {plural(len(queries), 'query')} in "
        f"{plural(len(categories), 'category')} ({loaded.identity})\n"
        f"intended safe {arms['safe']}, unsafe {arms['unsafe']}, without context {bare}; "
        f"with votes {voted}"
    )


def show(
    file: File,
    id: Annotated[str | None, argument("ID", "A case's id, or its query's.")] = None,
) -> None:
    """Show one case, a pair, or the list of a file's cases.

    Content warning: queries and contexts may be distressing.

    [bold]Examples[/]

    casewise cases show starter

    casewise cases show mine.jsonl 1f0c3a2b4d5e6f70
    """
    chosen = case_files.open_cases(file).cases
    if id is not None:
        chosen = tuple(case for case in chosen if id in (case.id, case.query_id))
        if not chosen:
            raise UsageError(f"{file}: no case and no query has the id {id!r}")
    if id is None:
        write_out("".join(f"{_line(case)}\n" for case in chosen))
    else:
        write_out("\n".join(map(_page, chosen)))


def _line(case: case_files.Case) -> str:
    words = " ".join(case.query.split())
    short = words if len(words) <= 48 else f"{words[:45]}..."
    return f"{case.id}  {case.intended or 'none':6}  {case.category or '':20.20}  {short}"


def _page(case: case_files.Case) -> str:
    votes = "none" if case.votes is None else f"{case.votes_safe} safe, {case.votes_unsafe} unsafe"
    head = {
        "case": case.id,
        "query id": case.query_id,
        "category": case.category or "none",
        "intended": case.intended or "none",
        "votes": votes,
        "source": case.source or "unknown",
        "licence": case.licence or "unknown",
    }
    lines = [f"{name:9} {value}" for name, value in head.items()]
    lines += [turn.line for turn in case.history]
    return "\n".join([*lines, "", case.query, "", contexts.render_text(case.context), ""])


def convert(
    source: Annotated[str, argument("IN", "A file of cases, or starter.", complete.cases)],
    target: Annotated[Path, argument("OUT", ".jsonl, .yaml or .csv")],
) -> None:
    """Convert a file of cases; the suffix of OUT names its form.

    Cases lose nothing; the version of the file is left out.

    [bold]Example[/]

    casewise cases convert CASEBench_data.json cases.jsonl
    """
    loaded = open_cases(source)
    note_versions(loaded)
    case_files.write_cases(loaded.cases, target)
    note(f"{target}: {plural(len(loaded), 'case')}")


class DataSet(StrEnum):
    """Data set that can be fetched."""

    CASEBENCH = "casebench"


def _accept(terms: str, accepted: bool) -> None:
    """Show terms, and ask a person to accept them who has not yet.

    Raises:
        UsageError: They are not accepted.
    """
    err().print(terms, markup=False, highlight=False)
    if not accepted:
        if not sys.stdin.isatty():
            raise UsageError("the terms were not accepted: read them and give --accept-terms")
        if not typer.confirm("\nDo you accept these terms?", err=True):
            raise UsageError("the terms were not accepted; nothing was fetched")


def fetch(
    name: Annotated[DataSet, typer.Argument(help="The data set.")],  # noqa: ARG001 - the only one
    origin: Annotated[
        Path | None,
        option(
            "A checkout, or the data file, instead of the network.",
            None,
            "FILE|FOLDER",
            None,
            "--from",
        ),
    ] = None,
    accept_terms: Annotated[
        bool, flag("--accept-terms", "Accept the data's terms without being asked.")
    ] = False,
) -> None:
    """Fetch CASE-Bench and its prompts into your cache, after you accept its terms.

    [bold]Examples[/]

    casewise cases fetch casebench

    casewise cases fetch casebench --from ~/CASEBench --accept-terms
    """
    _accept(case_files.TERMS, accept_terms)
    fetched = case_files.fetch_casebench(origin)
    note(f"data: {fetched.data}")
    if fetched.templates:
        note(f"prompts: {fetched.templates} (--prompt upstream)")
    else:
        note(f"note: {origin} holds no scripts/template.py, so --prompt upstream is not available")


FAILED = 1
"""Exit status where ``--fail-on`` names something that was found."""


def audit(
    file: File,
    fail_on: Annotated[
        str,
        option(
            "Exit with 1 if this is found: error, warning (errors too), or a code.",
            metavar="WHAT,...",
        ),
    ] = "",
    format: FormatOption = Format.TABLE,
    reveal: Annotated[bool, flag("--reveal", "Show pieces of the texts, not only ids.")] = False,
) -> None:
    """Look for what is wrong with a set of cases, before anybody judges them.

    It finds copies; words, lengths or parameters that give the intended side away; personal
    data; unfinished texts; broken pairs; and what casewise describe finds of votes. No model is
    run. Each finding has a fixed code.

    [bold]Exit status[/]: 0 done, 1 found what --fail-on names, 2 bad input.

    [bold]Examples[/]

    casewise cases audit mine.yaml

    casewise cases audit casebench --format json > audit.json

    casewise cases audit mine.jsonl --fail-on error,personal-data
    """
    demands = dataset.parse_demands(fail_on) if fail_on.strip() else ()
    loaded = open_cases(file)
    with working("auditing"):
        audited = dataset.audit_cases(loaded)
    if reveal:
        warn_of_content()
    print_as(format, reporting.audit_sheet(audited, reveal=reveal))
    failed = dataset.unmet_demands(audited, demands)
    for demand, codes in failed.items():
        err().print(f"failed on {demand}: found {', '.join(codes)}", markup=False)
    if failed:
        raise typer.Exit(FAILED)
