"""One request, one artefact."""

from casewise.analysis._sources import Judgements, read_paths
from casewise.analysis._table import table_bytes
from casewise.analysis.exports._casebench import write_casebench
from casewise.analysis.exports._folder import check_replaceable
from casewise.analysis.exports._form import (
    TABLES,
    Exported,
    ExportForm,
    ExportRequest,
    about_parquet,
)
from casewise.analysis.exports._hf import write_hf
from casewise.analysis.exports._lm_eval import write_lm_eval
from casewise.analysis.exports._redacted_logs import write_redacted_logs
from casewise.analysis.exports._withhold import withhold
from casewise.cases import Case
from casewise.errors import UsageError
from casewise.files import write_atomically


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
