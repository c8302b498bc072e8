"""``casewise contexts revise``: read, edit, accept or reject pairs on a local page."""

import getpass
import subprocess
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from casewise.cases import dataset_hash, write_cases
from casewise.cli import note, out, write_out
from casewise.errors import UsageError
from casewise.sheets import Column, Kind, Row, Table, terminal, to_json
from casewise_study.commands._store import ResultFormat
from casewise_study.revision.desk import Desk, progress
from casewise_study.revision.journal import journal_path
from casewise_study.revision.revised_file import Revision, accepted_cases, read_history


def revise(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Cases as JSON Lines (.jsonl).")],
    author: Annotated[
        str | None, typer.Option(help="Whose revisions these are. Default: git's user.name.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Of 127.0.0.1. Default: always the same for a file."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    record_outside: Annotated[
        bool,
        typer.Option("--record-outside", help="Take over what other means did to the file."),
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Print who revised what, when and why, and end.")
    ] = False,
    format: Annotated[ResultFormat, typer.Option(help="How --history is printed.")] = (
        ResultFormat.TABLE
    ),
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the cases of the accepted pairs, and end."),
    ] = None,
) -> None:
    """Read, edit, accept or reject each pair on a page of this computer.

    Each revision goes to cases.revisions.jsonl beside the file, with author,
    time and reason, and then into the file. What people voted on stays as it
    is: a change needs a new version of the case, which has no votes. One
    process at a time revises a file; several browsers may have its page open.

    Content warning: queries and contexts may be distressing.

    [bold]Examples[/]

    casewise cases convert starter cases.jsonl

    casewise contexts revise cases.jsonl --author "Ada Example"

    casewise contexts revise cases.jsonl --history

    casewise contexts revise cases.jsonl --export accepted.jsonl
    """
    if history and export:
        raise UsageError("--history and --export: one at a time")
    if history:
        _print_history(read_history(file), format)
    elif export:
        _export(file, export)
    else:
        _serve(file, author, port, browser=browser, record_outside=record_outside)


def _serve(
    file: Path, given: str | None, port: int | None, *, browser: bool, record_outside: bool
) -> None:
    # The web framework takes a while to load, and no other command needs it.
    from casewise_study.revision.revision_app import listen, serve

    author = _author(given, file)
    with Desk(file, author=author, record_outside=record_outside) as desk:
        for line in desk.notes:
            note(f"note: {line}")
        listening = listen(desk, port)
        pairs = desk.pairs()
        decided, total = progress(pairs)

        def ready(address: str) -> None:
            note(f"{file}: {total} pairs, {decided} decided. Ctrl-C stops.")
            note("Content warning: queries and contexts may be distressing.")
            write_out(f"{address}\n")
            if browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        serve(desk, listening, author=author, ready=ready)
        decided, total = progress(desk.pairs())
        journal = journal_path(desk.path)
        kept = f"; the history is in {journal}" if desk.entries else ""
        note(f"stopped: {decided} of {total} pairs decided{kept}")


def _author(given: str | None, file: Path) -> str:
    if given is not None:
        if not given.strip():
            raise UsageError("--author: a name, please")
        return given.strip()
    folder = file.parent if file.parent.is_dir() else Path()
    command = ["git", "config", "user.name"]
    with suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
        asked = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", timeout=5, check=False
        )
        if name := asked.stdout.strip():
            return name
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return "unknown"


def _export(file: Path, target: Path) -> None:
    if target.exists() and (
        target.samefile(file) or target.resolve() == journal_path(file.resolve())
    ):
        raise UsageError(f"{target}: would overwrite what is being revised")
    accepted = accepted_cases(file)
    write_cases(accepted.cases, target)
    note(
        f"{target}: {len(accepted.cases)} cases of {accepted.pairs} accepted pairs "
        f"(version {dataset_hash(accepted.cases)}); left out: {accepted.rejected} rejected, "
        f"{accepted.undecided} undecided"
    )


def _print_history(revisions: Sequence[Revision], format: ResultFormat) -> None:
    if format is ResultFormat.JSON:
        write_out(to_json([asdict(revision) for revision in revisions]))
        return
    names = ("when (UTC)", "who", "what", "query id", "changed", "why")
    columns = [Column("", Kind.COUNT), *map(Column, names)]
    rows = [
        Row(
            [
                revision.number,
                revision.time[:16].replace("T", " "),
                revision.author,
                revision.action,
                revision.query_id or "all",
                ", ".join(name for name in revision.changed if name not in ("id", "query_id")),
                revision.reason,
            ]
        )
        for revision in revisions
    ]
    out().print(terminal(Table(columns, rows)))
