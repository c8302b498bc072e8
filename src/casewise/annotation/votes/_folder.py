"""Folders that appear whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from casewise.errors import UsageError

OWN = frozenset(
    {
        "cases.jsonl",
        "checks.csv",
        "data-card.md",
        "people.csv",
        "summary.json",
        "votes.csv",
        "votes.parquet",
    }
)
"""The files that are ever written into such a folder."""


@contextmanager
def new_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end it takes that name.

    Raises:
        UsageError: Something stands there and ``force`` is not given, or it holds what was never
            written by this.
    """
    check_free(out, force=force)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        new = beside / "new"
        new.mkdir()
        yield new
        _swap(new, out, beside / "old")
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _swap(new: Path, out: Path, old: Path) -> None:
    if not out.exists():
        new.rename(out)
        return
    out.rename(old)
    try:
        new.rename(out)
    except OSError:
        old.rename(out)
        raise


def check_free(out: Path, *, force: bool) -> None:
    """Refuse to write over anything but, with ``force``, an earlier edition.

    Raises:
        UsageError: As ``new_folder``.
    """
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir() or out.is_symlink():
        raise UsageError(f"{out} is no folder: give another place")
    found = {path.name for path in out.iterdir()}
    if foreign := sorted(found - OWN):
        raise UsageError(
            f"{out} holds what no export wrote, such as {foreign[0]}: give another place"
        )
    if found and not force:
        raise UsageError(f"{out} is not empty: give another place, or --force to replace it")
