"""``casewise export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from casewise.choices import ExportForm, LabelRule
from casewise.cli._console import note, note_all, working
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
    evaluator: Annotated[
        str | None, option("Organization that results are by (every-eval-ever).", None, "NAME")
    ] = None,
) -> None:
    """Write judgements, logs or cases in another form; texts are withheld.

    Without --reveal, queries, contexts, replies, explanations and error messages are left out;
    the table has their lengths. docs/how-to/exports.md lists what each form holds.

    [bold]Examples[/]

    casewise export logs/ --out judgements.parquet

    casewise export logs/ --to redacted-logs --out publishable/

    casewise export logs/ --to casebench --reveal --out exp/

    casewise export logs/ --to every-eval-ever --evaluator "Our lab" --out records/

    casewise export --to lm-eval --cases starter --reveal --out task/
    """
    tables = (ExportForm.PARQUET, ExportForm.CSV)
    form = to or next((table for table in tables if out.suffix.lower() == f".{table}"), None)
    if form is None:
        raise UsageError(
            f"{out}: end the name in .parquet or .csv, or say what to write with --to "
            f"{', '.join(ExportForm)}"
        )
    request = exports.ExportRequest(
        paths=tuple(paths or ()),
        out=out,
        form=form,
        reveal=reveal,
        cases=open_cases(cases).cases if cases is not None else None,
        labels=labels,
        evaluator=evaluator,
    )
    with working("exporting"):
        done = exports.export_to(request)
    note_all(done.notes)
    if reveal:
        warn_of_content()
    whole = reveal or form in exports.WITHOUT_TEXTS
    note(f"{out}: {done.content}{'' if whole else '; texts withheld (--reveal includes them)'}")
