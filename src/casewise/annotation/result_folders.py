"""Write folders atomically, and never replace what casewise has not written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import UsageError
from casewise.files import replace_folder


@dataclass(frozen=True, slots=True)
class FolderKind:
    """The files that a kind of folder holds; a folder with others is never replaced."""

    names: frozenset[str]
    """The files that are written into it; empty for folders that are never replaced."""
    mark: str
    """The one without which a folder is not taken for one of this kind."""


TASKS = FolderKind(frozenset(), "")
"""A study's tasks as a platform's files."""

PLAIN = FolderKind(frozenset({"checks.csv", "people.csv", "votes.csv"}), "votes.csv")
"""Plain CSV of what was collected."""

EXPORT = FolderKind(
    PLAIN.names | {"cases.jsonl", "data-card.md", "summary.json", "votes.parquet"}, "summary.json"
)
"""An export of a study."""


def is_in_export(path: Path) -> bool:
    """Whether a file would lie in an export of a study, which is there to be published."""
    marks = (EXPORT.mark, "data-card.md")
    return any(all((one / name).exists() for name in marks) for one in path.absolute().parents)


@contextmanager
def new_folder(out: Path, kind: FolderKind, *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end it takes that name.

    Raises:
        UsageError: As ``check_free``.
    """
    with replace_folder(out, lambda: check_free(out, kind, force=force)) as new:
        yield new


def write_folder(
    out: Path, files: Mapping[str, bytes], kind: FolderKind = TASKS, *, force: bool = False
) -> None:
    """Write files, named by their paths under the folder.

    Raises:
        UsageError: As ``check_free``.
    """
    with new_folder(out, kind, force=force) as new:
        for name, data in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def check_free(out: Path, kind: FolderKind = TASKS, *, force: bool = False) -> None:
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
    if names and kind is TASKS:
        raise UsageError(f"{out}: is there already; name a new or an empty folder")
    if names and kind.mark not in names and not names - EXPORT.names:
        raise UsageError(f"{out} holds files of such names, and is no export: give another place")
    if foreign := sorted(names - kind.names):
        raise UsageError(
            f"{out} holds what no export wrote, such as {foreign[0]}: give another place"
        )
    if names and not force:
        raise UsageError(f"{out} is not empty: give another place, or --force to replace it")
