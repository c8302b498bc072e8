"""Folders: appearing whole or not at all, held by one process at a time, named by address.

What stood at a folder's place before stays until the new one is whole. Of two processes, the second
is told who was first.
"""

import errno
import glob
import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from casewise.errors import UsageError
from casewise.files._atomic import write_atomically


class HeldError(UsageError):
    """Another process holds the lock."""

    def __init__(self, what: Path, holder: str) -> None:
        self.holder = holder
        """Process, host, time and command of the holder, if they are known."""
        super().__init__(
            f"{what}: another casewise is at work there ({holder}); wait for it, or stop it"
        )


@contextmanager
def hold(lock: Path, *, what: Path | None = None, command: str = "casewise") -> Iterator[bool]:
    """Hold a lock while the block runs, and leave a note beside it that says who does.

    The lock is the operating system's: it goes with the process, however that ends. What a killed
    process leaves of both files holds up nobody.

    Args:
        lock: A file for the lock alone. It and the note are made here, and deleted in the end.
        what: What is held, as a person knows it; None is the lock's folder.
        command: What the note says that this process does. Give no keys.

    Yields:
        Whether it could be locked: some network file systems have no locks.

    Raises:
        HeldError: Another process, or another block of this one, holds it.
        OSError: The folder can't be written.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    note = lock.with_name(f"{lock.name}.holder")
    with ExitStack() as stack:
        try:
            is_locked = stack.enter_context(locked(lock))
        except BlockingIOError:
            raise HeldError(lock.parent if what is None else what, _holder(note)) from None
        if is_locked:
            stack.callback(note.unlink, missing_ok=True)
            write_atomically(note, json.dumps(_ourselves(command)).encode())
        yield is_locked


@contextmanager
def locked(lock: Path) -> Iterator[bool]:
    """Hold a lock while the block runs; yields and raises as ``hold`` does, but for the note.

    Raises:
        BlockingIOError: Another process, or another block of this one, holds it.
    """
    # Not bound to a thread: a server may end in another one than it began in.
    held = FileLock(lock, thread_local=False, fallback_to_soft=False)
    try:
        held.acquire(blocking=False)
    except Timeout:
        raise BlockingIOError(errno.EWOULDBLOCK, "held by another process", str(lock)) from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        yield False
        return
    try:
        yield True
    finally:
        # Before it is let go, so that it is nobody else's. Windows deletes no open file.
        with suppress(OSError):
            lock.unlink()
        held.release()


_WITHOUT_LOCKS = tuple(
    number
    for name in ("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "ENOLCK")
    if (number := getattr(errno, name, None)) is not None
)


def _ourselves(command: str) -> dict[str, str | int]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": command,
    }


def _holder(note: Path) -> str:
    try:
        found = json.loads(note.read_text("utf-8"))
        return (
            f"process {found['pid']} on {found['host']} since {found['since']}: {found['command']}"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "it left no note of itself"


_LOCK = "lock"
"""File in a hidden folder, locked by the process that works there."""

_NEW, _OLD = "new", "old"
"""Folders in the hidden folder beside ``out``: the new one, and the earlier one.

Which of them are there tells how far a replacement came: the new one alone, it was being written;
both, it was stopped between its two renames; the old one alone, it was done but for tidying up.
"""


@contextmanager
def replace_folder(out: Path, check: Callable[[], None] | None = None) -> Iterator[Path]:
    """Yield a folder to write into; at the end of the block it replaces ``out``.

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
    """Path that ends in a name, also for ``.`` and ``..``."""
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


_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def address_of(path: Path | str) -> str:
    """Address of a folder or file, as fsspec and Inspect take it.

    A path makes one slash of two: the two of ``s3://`` are put back. Whatever has no scheme, and
    ``file://``, is a path of this machine.
    """
    text = str(path)
    match = _URL.fullmatch(text)
    if match is None:
        return text
    scheme, rest = match.groups()
    return f"/{rest}" if scheme == "file" else f"{scheme}://{rest}"


def is_elsewhere(path: Path | str) -> bool:
    """Tell whether a path is an address, and not on this machine."""
    return "://" in address_of(path)


def place_of(path: Path) -> Path:
    """The path, without ``file://`` where it is on this machine."""
    return path if is_elsewhere(path) else Path(address_of(path))
