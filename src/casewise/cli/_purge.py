"""``casewise purge``: the texts of kept logs, removed for good."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from casewise.cli._console import err, note, note_all, working
from casewise.cli._late import exports
from casewise.errors import UsageError
from casewise.sheets import count

NOT_ALL = 1


def purge(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOGS...", help="Log folders, or .eval files.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
) -> None:
    """Remove the texts from logs that you keep; casewise score says the same as before.

    Queries, contexts, earlier turns, replies, explanations, tool calls and
    error messages go, and so do answers that a stopped run has kept beside its
    logs. Ids, categories, votes, verdicts, numbers, times and the lengths of
    texts stay. There is no way back, and a run can't go on in such a folder.
    Copies elsewhere, and files that were exported, are not touched. Logs of
    other tasks, and those that can't be read, are left as they are and named.

    [bold]Exit status[/]: 0 done, 1 some logs are left as they are, 2 bad input.

    [bold]Examples[/]

    casewise purge logs/

    casewise purge logs/june logs/july --yes
    """
    with working("looking for logs"):
        plan = exports.plan_purge(logs)
    note_all(plan.others)
    if plan.purged:
        note(f"{count(len(plan.purged))} logs hold no texts already")
    if plan.logs or plan.journals:
        _remove(plan, yes)
    if plan.others:
        raise typer.Exit(NOT_ALL)


def _remove(plan: exports.PurgePlan, yes: bool) -> None:
    beside = f", and {count(len(plan.journals))} files beside them" if plan.journals else ""
    what = f"the texts of {count(len(plan.logs))} logs{beside}"
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(
                f"{what} would be removed for good: give --yes to say that you want it"
            )
        if not typer.confirm(f"Remove {what} for good?", err=True):
            err().print("nothing was removed")
            return
    with working("removing texts"):
        done = exports.purge(plan, "casewise purge")
    note(
        f"removed the texts of {count(done.samples)} samples in {count(done.logs)} logs"
        + (f", and {count(done.journals)} files beside them" if done.journals else "")
    )
