"""What can be asked of an export, and what comes of it."""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import casewise
from casewise.cases import Case, LabelRule
from casewise.errors import UsageError

CONTENT_WARNING = (
    "Content warning: holds queries, contexts or replies in full. They touch on crime, self-harm, "
    "drugs and hatred, and may be distressing."
)
"""What stands before texts that are shown."""


class ExportForm(StrEnum):
    """The forms that judgements are exported in."""

    PARQUET = "parquet"
    """The judgement table, typed."""
    CSV = "csv"
    """The judgement table, for spreadsheets."""
    CASEBENCH = "casebench"
    """CASE-Bench's own output files."""
    LM_EVAL = "lm-eval"
    """A task folder for lm-evaluation-harness."""
    HF = "hf"
    """A folder that ``datasets`` loads, with its card."""
    REDACTED_LOGS = "redacted-logs"
    """Inspect's logs without texts."""


TABLES = {".parquet": ExportForm.PARQUET, ".csv": ExportForm.CSV}
"""The forms that are one file, by its suffix."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What is to be exported, and where to."""

    paths: tuple[Path, ...]
    """Logs, tables and published outputs; may be empty where ``cases`` suffice (lm-eval)."""
    out: Path
    """A file for tables, else a folder."""
    form: ExportForm
    reveal: bool = False
    """Whether queries, contexts, replies and explanations are included."""
    cases: tuple[Case, ...] | None = None
    """The whole cases; None takes those that the paths hold."""
    labels: LabelRule | None = None
    """The label rule of lm-eval's documents; None is the usual choice."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what a person should know of it."""

    content: str
    """In few words: ``56 judgements``."""
    notes: tuple[str, ...] = ()


def form_of(out: Path, asked: ExportForm | None) -> ExportForm:
    """The form that was asked for, else the one that the suffix names.

    Raises:
        UsageError: Neither names one, or they contradict each other.
    """
    by_suffix = TABLES.get(out.suffix.lower())
    if asked is None and by_suffix is None:
        raise UsageError(
            f"{out}: end the name in .parquet or .csv, or say what to write with --to "
            f"{', '.join(ExportForm)}"
        )
    form = asked or by_suffix
    assert form is not None
    if (form in TABLES.values() or by_suffix) and form is not by_suffix:
        wanted = f"a name in .{form}" if form in TABLES.values() else "a folder"
        raise UsageError(f"{out}: --to {form} writes {wanted}")
    return form


def about(form: ExportForm, *, reveal: bool) -> dict[str, str]:
    """What an artefact says of itself, where it has a place for it."""
    said = {"made by": f"casewise {casewise.__version__}", "form": str(form)}
    said["texts"] = "included" if reveal else "withheld"
    return said | ({"content warning": CONTENT_WARNING} if reveal else {})


def about_parquet(*, reveal: bool) -> dict[str, str]:
    """The same as the metadata of a Parquet file."""
    return {"casewise": json.dumps(about(ExportForm.PARQUET, reveal=reveal))}
