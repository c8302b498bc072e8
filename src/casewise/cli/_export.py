"""``casewise export``, and ``casewise purge``: the texts of kept logs, removed for good."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from casewise.choices import ExportForm, LabelRule
from casewise.cli._console import err, note, note_all, working
from casewise.cli._main import exports
from casewise.cli._options import (
    READ,
    argument,
    cases_option,
    flag,
    labels_option,
    open_cases,
    option,
    out_option,
    warn_of_content,
)
from casewise.errors import UsageError
from casewise.sheets import count


def export(
    out: Annotated[
        Path, out_option("What to write: FILE.parquet, FILE.csv, or a folder.", None, "FILE|FOLDER")
    ],
    paths: Annotated[list[Path] | None, argument("PATH...", READ, show_default=False)] = None,
    to: Annotated[
        ExportForm | None, option("The form. Default: the table that the name of --out ends in.")
    ] = None,
    reveal: Annotated[
        bool, flag("--reveal", "Include queries, contexts, replies and explanations (distressing).")
    ] = False,
    cases: Annotated[
        str | None,
        cases_option(
            "The whole cases, for forms that hold them: a file, starter or casebench. "
            "Default: those in the logs and outputs."
        ),
    ] = None,
    labels: Annotated[
        LabelRule | None,
        labels_option(
            "The truth of results, and in the documents of lm-eval. Default: published, else "
            "votes, else intended."
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        option("Dataset on Hugging Face's Hub that results are of.", None, "OWNER/NAME"),
    ] = None,
    evaluator: Annotated[
        str | None, option("Organization that results are by (every-eval-ever).", None, "NAME")
    ] = None,
) -> None:
    """Write judgements, logs or cases in another form; texts are withheld.

    Without --reveal, queries, contexts, replies, explanations and error
    messages are left out; ids, categories and lengths stand in for them.
    docs/how-to/exports.md says what each form holds.

    [bold]Examples[/]

    casewise export logs/ --out judgements.parquet

    casewise export logs/ --to redacted-logs --out publishable/

    casewise export logs/ --to hf --out dataset/

    casewise export logs/ --to casebench --reveal --out exp/

    casewise export logs/ --to every-eval-ever --evaluator "Our lab" --out records/

    casewise export --to lm-eval --cases starter --reveal --out task/
    """
    form = exports.form_of(out, to)
    request = exports.ExportRequest(
        paths=tuple(paths or ()),
        out=out,
        form=form,
        reveal=reveal,
        cases=open_cases(cases).cases if cases is not None else None,
        labels=labels,
        dataset=dataset,
        evaluator=evaluator,
    )
    with working("exporting"):
        done = exports.export_to(request)
    note_all(done.notes)
    if reveal:
        warn_of_content()
    whole = reveal or form in _WITHOUT_TEXTS
    note(f"{out}: {done.content}{'' if whole else '; texts withheld (--reveal includes them)'}")


_WITHOUT_TEXTS = (ExportForm.REDACTED_LOGS, ExportForm.EVERY_EVAL_EVER, ExportForm.HF_RESULTS)
"""Forms that have no place for texts."""

NOT_ALL = 1


def purge(
    logs: Annotated[list[Path], argument("LOGS...", "Log folders, or .eval files.")],
    yes: Annotated[bool, flag("--yes", "Do it without asking.")] = False,
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
