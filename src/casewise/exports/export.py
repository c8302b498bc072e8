"""Exports to a table, a folder or logs without texts."""

import json
from collections.abc import Callable

import casewise
from casewise.choices import ExportForm
from casewise.errors import UsageError
from casewise.exports.casebench import write_casebench
from casewise.exports.every_eval_ever import write_every_eval_ever
from casewise.exports.lm_eval import write_lm_eval
from casewise.exports.redaction import redact_table, write_redacted
from casewise.exports.request import (
    CONTENT_WARNING,
    Exported,
    ExportRequest,
    check_free,
    fill,
    new_folder,
)
from casewise.files import write_atomically
from casewise.judgements import find_logs, nothing_judged, read_paths, table_bytes
from casewise.sheets import plural


def write_redacted_logs(request: ExportRequest) -> Exported:
    """Write a folder of logs that ``inspect view`` opens and ``casewise score`` scores.

    Raises:
        InputError: There is no log among the paths, or none holds a judgement.
    """
    runs, notes = find_logs(request.paths)
    headers = [header for run in runs for header in run.logs]
    with new_folder(request.out) as folder:
        samples = write_redacted(headers, folder)
        if not samples:
            raise nothing_judged(runs, request.paths)
        readme = fill("redacted-logs.md", logs=len(headers), samples=samples)
        (folder / "README.md").write_text(readme, "utf-8")
    return Exported(
        f"{plural(len(headers), 'log')}, {plural(samples, 'sample')}, without texts", tuple(notes)
    )


def write_table(request: ExportRequest) -> Exported:
    """Write the judgement table to one file; cells that a spreadsheet would run are guarded."""
    judgements = read_paths(request.paths, texts=True)
    table = judgements.table if request.reveal else redact_table(judgements.table)
    about = {
        "made by": f"casewise {casewise.__version__}",
        "texts": "included" if request.reveal else "withheld",
        **({"content warning": CONTENT_WARNING} if request.reveal else {}),
    }
    content = table_bytes(table, request.out, {"casewise": json.dumps(about)})
    write_atomically(request.out, content)
    return Exported(plural(len(table), "judgement"), judgements.notes)


_WRITERS: dict[ExportForm, Callable[[ExportRequest], Exported]] = {
    ExportForm.PARQUET: write_table,
    ExportForm.CSV: write_table,
    ExportForm.CASEBENCH: write_casebench,
    ExportForm.LM_EVAL: write_lm_eval,
    ExportForm.EVERY_EVAL_EVER: write_every_eval_ever,
    ExportForm.REDACTED_LOGS: write_redacted_logs,
}
WITHOUT_TEXTS = (ExportForm.REDACTED_LOGS, ExportForm.EVERY_EVAL_EVER)
"""Forms that have no place for texts."""
_OF_TEXTS = (ExportForm.CASEBENCH, ExportForm.LM_EVAL)
"""Forms that are nothing without texts."""


def export_to(request: ExportRequest) -> Exported:
    """Write an artefact.

    Raises:
        InputError: A path can't be used.
        UsageError: The form needs something that was not given, or ``out`` is there already, or
            nothing of the judgements has a place in the form.
    """
    form = request.form
    if _WRITERS[form] is not write_table:
        check_free(request.out)
    elif request.out.suffix.lower() != f".{form}":
        raise UsageError(f"{request.out}: --to {form} writes a name in .{form}")
    if request.reveal and form in WITHOUT_TEXTS:
        raise UsageError(f"--to {form} has nothing to reveal: no text has a place in it")
    if not request.reveal and form in _OF_TEXTS:
        raise UsageError(
            f"--to {form} writes queries and contexts in full: give --reveal to say that you want "
            "that"
        )
    if not request.paths and form is not ExportForm.LM_EVAL:
        raise UsageError(f"--to {form} exports judgements: give logs, tables or output files")
    return _WRITERS[form](request)
