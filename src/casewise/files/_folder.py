"""Folders that appear whole or not at all; what stood there before stays until then."""

import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from casewise.errors import UsageError
from casewise.files._lock import locked

_LOCK = "lock"
"""File in the hidden folder that the process holds which works in it."""

_NEW, _OLD = "new", "old"
"""What the hidden folder beside ``out`` holds: the folder being written, and the earlier one.

Which of them are there tells how far a replacement came: the new one alone, it was being written;
both, it was stopped between its two renames; the old one alone, it was done but for tidying up.
"""


@contextmanager
def replace_folder(out: Path, check: Callable[[], None] | None = None) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end of the block it takes that place.

    An earlier folder stays until the new one is complete, and is put back if that can't take its
    place. What a killed process left there is recovered first.

    Args:
        out: The place.
        check: Raises an error if what stands at the place may not be replaced.

    Raises:
        UsageError: The new folder could not take the place, and the earlier one could not be put
            back; the message says where it is.
        OSError: A folder can't be made or moved; the earlier one stands.
    """
    out = _absolute(out)
    recover_folder(out)
    if check is not None:
        check()
    out.parent.mkdir(parents=True, exist_ok=True)
    with _hidden_folder(out) as beside:
        new = beside / _NEW
        new.mkdir()
        try:
            yield new
            _swap(beside, out)
        finally:
            _tidy(beside)


def recover_folder(out: Path) -> None:
    """Put back an earlier folder that a killed process had moved aside, and delete what it left.

    Whatever a process is still working on is left alone, and so is an earlier folder whose place
    has been taken since.

    Raises:
        OSError: The earlier folder can't be moved.
    """
    out = _absolute(out)
    for beside in sorted(out.parent.glob(f"{glob.escape(_prefix(out))}*")):
        with ExitStack() as stack:
            stack.callback(_remove_empty, beside)
            try:
                is_locked = stack.enter_context(locked(beside / _LOCK))
            except OSError:
                continue
            if _is_between_renames(beside) and (not os.path.lexists(out) or _is_empty(out)):
                if out.is_dir():
                    out.rmdir()
                (beside / _OLD).rename(out)
            # Without a lock nobody can tell whether the new folder is being written.
            if is_locked or not (beside / _NEW).exists():
                _tidy(beside)


def _swap(beside: Path, out: Path) -> None:
    new, old = beside / _NEW, beside / _OLD
    try:
        if os.path.lexists(out):
            out.rename(old)
        new.rename(out)
    except BaseException as error:
        if os.path.lexists(old) and not os.path.lexists(out):
            _put_back(old, out)
        if isinstance(error, OSError):
            # Of the names in it, people know this one.
            raise OSError(error.errno, error.strerror, str(out)) from None
        raise


def _put_back(old: Path, out: Path) -> None:
    try:
        old.rename(out)
    except OSError as error:
        raise UsageError(
            f"{out} could not be replaced, nor put back ({error.strerror}): what it held is in "
            f"{old}; move it, or write to the same place again, which puts it back first"
        ) from None


def _is_between_renames(beside: Path) -> bool:
    return os.path.lexists(beside / _OLD) and os.path.lexists(beside / _NEW)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())


def _absolute(out: Path) -> Path:
    """The path with a name of its own, which ``.`` and ``..`` have not."""
    return out.resolve() if out.name in ("", "..") else out


def _prefix(out: Path) -> str:
    return f".{out.name}.casewise-"


@contextmanager
def _hidden_folder(out: Path) -> Iterator[Path]:
    """A folder beside ``out``, locked for as long as this process works in it."""
    with ExitStack() as stack:
        while True:
            beside = Path(tempfile.mkdtemp(dir=out.parent, prefix=_prefix(out)))
            # Windows deletes no locked file, so the folder may be left empty.
            stack.callback(_remove_empty, beside)
            try:
                stack.enter_context(locked(beside / _LOCK))
                break
            except (BlockingIOError, FileNotFoundError):
                continue  # Another process was tidying up, and took it for left.
        yield beside


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _tidy(beside: Path) -> None:
    """Delete a hidden folder, unless the earlier folder is in it and has no other place."""
    if not _is_between_renames(beside):
        shutil.rmtree(beside, ignore_errors=True)
