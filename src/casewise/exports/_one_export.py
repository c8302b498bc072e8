"""Exports to a table, a folder or logs without texts."""

import re
from itertools import chain, count
from pathlib import Path

from casewise.cases import Case
from casewise.choices import ExportForm
from casewise.errors import UsageError
from casewise.exports._casebench_outputs import write_casebench
from casewise.exports._export_form import (
    TABLES,
    Exported,
    ExportRequest,
    about_parquet,
    check_replaceable,
    fill,
    known_parameters,
    new_folder,
    show_id,
    withhold,
)
from casewise.exports._hf_folder import write_hf
from casewise.exports._lm_eval import write_lm_eval
from casewise.exports._results import write_results
from casewise.files import write_atomically
from casewise.judgements import Judgements, find_logs, nothing_judged, read_paths, table_bytes

_TASKS = {"casewise/judge": "judge", "casewise/respond": "respond"}


def write_redacted_logs(request: ExportRequest) -> Exported:
    """Write a folder of logs that ``inspect view`` opens and ``casewise score`` scores.

    Raises:
        InputError: There is no log among the paths, or none holds a judgement.
    """
    # Inspect takes seconds to import; no other export needs it.
    from casewise.exports._log_redaction import write_redacted
    from casewise.logs import LogHeader

    def name(header: LogHeader) -> str:
        """As Inspect names its logs; the name that the file had may say anything."""
        spec = header.log.eval
        time = re.sub(r"[^0-9T+Z-]", "-", spec.created)
        return f"{time}_{_TASKS.get(spec.task, 'task')}_{show_id(spec.task_id)}.eval"

    runs, notes = find_logs(request.paths)
    headers = [header for run in runs for header in run.logs]
    known = known_parameters(header.metadata for header in headers)
    samples = 0
    with new_folder(request.out, request.form, reveal=False) as folder:
        for header in headers:
            path = _free(folder / name(header))
            samples += write_redacted(header, known, path)
        if not samples:
            raise nothing_judged(runs, request.paths)
        (folder / "README.md").write_bytes(
            fill("redacted-logs.md.j2", logs=len(headers), samples=samples)
        )
    return Exported(f"{len(headers)} logs, {samples:,} samples, without texts", tuple(notes))


def _free(path: Path) -> Path:
    """The path, numbered where it is taken."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return next(free for free in chain([path], numbered) if not free.exists())


def export_to(request: ExportRequest) -> Exported:
    """Write an artefact.

    Raises:
        InputError: A path can't be used.
        UsageError: The form needs something that was not given, or ``out`` can't be replaced, or
            nothing of the judgements has a place in the form.
    """
    form = request.form
    if form not in TABLES.values():
        check_replaceable(request.out, form)
    if form is ExportForm.LM_EVAL:
        if not request.reveal:
            raise UsageError(
                "--to lm-eval writes the prompts that a model is sent, and they hold the queries "
                "and contexts in full: give --reveal to say that you want that"
            )
        return write_lm_eval(request, _cases(request))
    if not request.paths:
        raise UsageError(f"--to {form} exports judgements: give logs, tables or output files")
    if form is ExportForm.REDACTED_LOGS:
        if request.reveal:
            raise UsageError("--to redacted-logs has nothing to reveal: share the logs themselves")
        return write_redacted_logs(request)
    if form is ExportForm.EVERY_EVAL_EVER:
        return write_results(request, read_paths(request.paths))
    judgements = read_paths(request.paths, texts=True)
    match form:
        case ExportForm.CASEBENCH:
            return write_casebench(request, judgements, _known_cases(request, judgements))
        case ExportForm.HF:
            return write_hf(request, judgements, _known_cases(request, judgements))
        case _:
            return _write_table(request, judgements)


def _write_table(request: ExportRequest, judgements: Judgements) -> Exported:
    table = judgements.table if request.reveal else withhold(judgements.table)
    about = about_parquet(reveal=request.reveal)
    write_atomically(request.out, table_bytes(table, request.out, about))
    return Exported(f"{len(table):,} judgements", judgements.notes)


def _known_cases(request: ExportRequest, judgements: Judgements) -> dict[str, Case]:
    """The whole cases by id: those given, else those that the paths hold."""
    if request.cases is None:
        return dict(judgements.cases)
    return {case.id: case for case in request.cases}


def _cases(request: ExportRequest) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Cases for a task, and notes on their reading."""
    if request.cases is not None:
        if request.paths:
            raise UsageError("--to lm-eval makes a task of cases: give --cases or PATH, not both")
        return request.cases, ()
    if not request.paths:
        raise UsageError("--to lm-eval makes a task of cases: give --cases FILE, or logs")
    judgements = read_paths(request.paths, texts=True)
    if not judgements.cases:
        raise UsageError("these paths hold no cases with their texts: give --cases FILE")
    return tuple(judgements.cases.values()), judgements.notes
