"""Folders that appear whole or not at all; what stood there before stays until then."""

import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from casewise.errors import UsageError

if sys.platform != "win32":
    import fcntl

_NEW, _OLD = "new", "old"
"""What the hidden folder beside ``out`` holds: the folder being written, and the earlier one.

Which of them are there tells how far a replacement came: the new one alone, it was being written;
both, it was stopped between its two renames; the old one alone, it was done but for tidying up.
"""


@contextmanager
def replace_folder(out: Path) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end of the block it takes that place.

    An earlier folder stays until the new one is complete, and is put back if that can't take its
    place. Nobody is asked: what may be replaced is for the caller to check, after
    ``recover_folder``.

    Raises:
        UsageError: The new folder could not take the place, and the earlier one could not be put
            back; the message says where it is.
        OSError: A folder can't be made or moved; the earlier one stands.
    """
    out = _absolute(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside, handle = _hidden_folder(out)
    try:
        new = beside / _NEW
        new.mkdir()
        yield new
        _swap(beside, out)
    finally:
        if not _is_between_renames(beside):
            shutil.rmtree(beside, ignore_errors=True)
        _unlock(handle)


def recover_folder(out: Path) -> None:
    """Put back an earlier folder that a killed process had moved aside, and delete what it left.

    Whatever a process is still working on is left alone, and so is an earlier folder whose place
    has been taken since.

    Raises:
        OSError: The earlier folder can't be moved.
    """
    out = _absolute(out)
    for beside in sorted(out.parent.glob(f"{glob.escape(_prefix(out))}*")):
        try:
            handle = _lock(beside)
        except OSError:
            continue
        try:
            if _is_between_renames(beside) and (not os.path.lexists(out) or _is_empty(out)):
                if out.is_dir():
                    out.rmdir()
                (beside / _OLD).rename(out)
            # Without a lock nobody can tell whether the new folder is being written.
            is_left = handle is not None or not (beside / _NEW).exists()
            if is_left and not _is_between_renames(beside):
                shutil.rmtree(beside, ignore_errors=True)
        finally:
            _unlock(handle)


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


def _hidden_folder(out: Path) -> tuple[Path, int | None]:
    """A folder beside ``out``, locked for as long as this process works in it."""
    while True:
        beside = Path(tempfile.mkdtemp(dir=out.parent, prefix=_prefix(out)))
        try:
            handle = _lock(beside)
        except (BlockingIOError, FileNotFoundError):
            continue  # Another process was tidying up, and took it for left.
        if beside.is_dir():
            return beside, handle
        _unlock(handle)


def _lock(folder: Path) -> int | None:
    """Lock a folder until its handle is closed, be it by a kill; None where there are no locks.

    Raises:
        BlockingIOError: Another process holds it.
        OSError: It can't be opened.
    """
    if sys.platform == "win32":
        return None
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        os.close(handle)
        return None
    return handle


def _unlock(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)
