"""Folders that appear whole or not at all, and that replace nothing but their own last edition."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from casewise.analysis.exports._form import ExportForm, about
from casewise.errors import UsageError
from casewise.files import replace_folder

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
    found = set(_hashes(out))
    if not found:
        return
    try:
        manifest = json.loads((out / MANIFEST).read_text("utf-8"))
        made = set(manifest["files"]) if manifest["form"] == form else None
    except (OSError, ValueError, KeyError, TypeError):
        made = None
    if made is None:
        raise UsageError(f"{out} is not empty, and no --to {form} made it; give another --out")
    if added := sorted(found - made - {MANIFEST}):
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
