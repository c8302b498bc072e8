"""Folders of results: what may be written over, and what a cell of a CSV file holds."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casewise.errors import UsageError
from casewise.files import csv_text, replace_folder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FolderKind = tuple[str, ...]
"""The files that a kind of folder holds; without the first, a folder is none of this kind, and one
with other files is never replaced."""

NEW_FILES: FolderKind = ()
"""Files that replace none."""

EXPORT: FolderKind = (
    *("summary.json", "data-card.md", "cases.jsonl"),
    *("votes.csv", "people.csv", "checks.csv"),
)
"""An export of a study."""


def to_csv(names: Iterable[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A table as text; what a row lacks, or holds as None or NaN, is an empty cell."""
    columns = list(names)
    return csv_text(columns, ([to_cell(row.get(name)) for name in columns] for row in rows))


def row_of(record: "DataclassInstance") -> dict[str, Any]:
    """The fields of a record as they are: ``asdict`` copies each, which takes ten times as long."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def to_cell(value: object) -> str:
    """A value as a cell that its field reads back."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return str(value)


def is_in_export(path: Path) -> bool:
    """Tell whether a file would lie in an export of a study, which is there to be published."""
    return any(
        (parent / name).exists() for parent in path.absolute().parents for name in EXPORT[:2]
    )


@contextmanager
def new_folder(out: Path, kind: FolderKind = NEW_FILES, *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end it takes that name.

    Raises:
        UsageError: As ``check_free``.
    """
    with replace_folder(out, lambda: check_free(out, kind, force=force)) as new:
        yield new


def write_folder(out: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a new or an empty folder.

    Raises:
        UsageError: As ``check_free``.
    """
    with new_folder(out) as new:
        for name, data in files.items():
            (new / name).write_bytes(data)


def check_free(out: Path, kind: FolderKind = NEW_FILES, *, force: bool = False) -> None:
    """Refuse to write over anything but, with ``force``, an earlier edition.

    Raises:
        UsageError: Something stands there and ``force`` is not given, or it holds what was never
            written by this.
    """
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir() or out.is_symlink():
        raise UsageError(f"{out} is no folder: give another place")
    names = {path.name for path in out.iterdir()}
    if not names:
        return
    if not kind:
        raise UsageError(f"{out}: is there already; name a new or an empty folder")
    if kind[0] not in names or names - {*kind}:
        foreign = min(names - {*kind}, default=min(names))
        raise UsageError(f"{out} holds other files, such as {foreign}: give another place")
    if not force:
        raise UsageError(f"{out} is not empty: give another place, or --force to replace it")
