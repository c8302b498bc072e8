"""What can be asked of an export, what comes of it, and the folder it is written to.

Folders appear whole or not at all, and replace nothing but their own kind.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

import casewise
from casewise.cases import Case, LabelRule
from casewise.choices import ExportForm
from casewise.errors import UsageError
from casewise.files import replace_folder

CONTENT_WARNING = (
    "Content warning: holds queries, contexts or replies in full. They touch on crime, self-harm, "
    "drugs and hatred, and may be distressing."
)
"""What stands before texts that are shown."""


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


MANIFEST = ".casewise-export.json"
"""Says who made a folder, and lists its files with their hashes."""


@contextmanager
def new_folder(out: Path, form: ExportForm, *, reveal: bool) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end it takes that name.

    An earlier folder is replaced if the same form of export made it and nobody added a file; it
    stays until the new one is in its place.

    Raises:
        UsageError: Something else stands at ``out``.
    """
    with replace_folder(out, lambda: check_replaceable(out, form)) as new:
        yield new
        manifest = about(form, reveal=reveal) | {"files": _hashes(new)}
        (new / MANIFEST).write_bytes(f"{json.dumps(manifest, indent=2)}\n".encode())


def check_replaceable(out: Path, form: ExportForm) -> None:
    """Refuse to write over what this form of export did not make.

    Raises:
        UsageError: A file, a folder of somebody else's, or one to which files were added.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError(f"{out} is a file: --to {form} writes a folder; give another --out")
    present = set(_hashes(out))
    if not present:
        return
    try:
        manifest = json.loads((out / MANIFEST).read_text("utf-8"))
        made = set(manifest["files"]) if manifest["form"] == form else None
    except (OSError, ValueError, KeyError, TypeError):
        made = None
    if made is None:
        raise UsageError(f"{out} is not empty, and no --to {form} made it; give another --out")
    if added := sorted(present - made - {MANIFEST}):
        raise UsageError(
            f"{out} holds files that the export did not write, such as {added[0]}; "
            "move them away or give another --out"
        )


def _hashes(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def fill(template: str, **values: Any) -> bytes:
    """A file of ``data/exports`` with its places filled.

    Nothing is escaped: the files are Markdown and YAML, and their values numbers and names.
    """
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    text = (files("casewise.data") / "exports" / template).read_text("utf-8")
    return environment.from_string(text).render(**values).encode()
