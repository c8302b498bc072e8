"""Request of an export, what was written, and folders that appear whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import casewise
from casewise.cases import Case, LabelRule
from casewise.choices import ExportForm
from casewise.errors import UsageError
from casewise.files import replace_folder
from casewise.judgements import Judgements

CONTENT_WARNING = (
    "Content warning: holds queries, contexts or replies in full. They touch on crime, self-harm, "
    "drugs and hatred, and may be distressing."
)
"""Warning before texts that are shown."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Judgements to export, the form, and the place."""

    paths: tuple[Path, ...]
    """Logs, tables and published outputs; may be empty where ``cases`` suffice (lm-eval)."""
    out: Path
    """A file for tables, else a folder."""
    form: ExportForm
    reveal: bool = False
    """True if queries, contexts, replies and explanations are included."""
    cases: tuple[Case, ...] | None = None
    """The whole cases; None takes those that the paths hold."""
    labels: LabelRule | None = None
    """The label rule of results and of lm-eval's documents; None is the usual choice."""
    evaluator: str | None = None
    """Organization that made the results."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Files that were written, and notes on them."""

    content: str
    """Content in few words: ``56 judgements``."""
    notes: tuple[str, ...] = ()


def whole_cases(judgements: Judgements) -> Mapping[str, Case]:
    """The cases of judgements by id, with their texts.

    Raises:
        UsageError: There are none.
    """
    if not judgements.cases:
        raise UsageError("these paths hold no cases with their texts: give --cases FILE")
    return judgements.cases


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to write into; at the end, and only then, it stands at ``out``.

    Raises:
        UsageError: Something stands at ``out`` already.
    """
    with replace_folder(out, lambda: check_free(out)) as new:
        yield new


def check_free(out: Path) -> None:
    """Refuse to write over anything but an empty folder.

    Raises:
        UsageError: Something stands at ``out`` already.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UsageError(f"{out} is there already: give another --out, or move it away first")


def write_texts(out: Path, texts: Mapping[str, str]) -> None:
    """Write a new folder of texts, by their paths in it.

    Raises:
        UsageError: Something stands at ``out`` already.
    """
    with new_folder(out) as folder:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8", newline="\n")


def fill(template: str, **values: object) -> str:
    """A page of ``data/exports``, filled in."""
    text = (files("casewise.data") / "exports" / template).read_text("utf-8")
    return Template(text).substitute(values, version=casewise.__version__)
