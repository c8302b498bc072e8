"""Files and folders that appear whole or not at all, and locks and journals for those that grow.

What stood at a place before stays until the new is whole. Of two processes that hold one lock, the
second is told who was first. A journal's records are only ever added to.
"""

import errno
import glob
import json
import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

from filelock import FileLock, Timeout

from casewise.errors import UsageError

_NAME_SHOWN = 40
"""Most characters of a file's name in the name of the hidden folder beside it."""


def write_atomically(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file: the new one takes the place of the old one when it is complete.

    A link is followed, and what is no file (a pipe, a device) is written to as it is.

    Args:
        path: The file. Missing folders are made.
        data: All that it will hold.
        sync: Whether to wait until the disk has it.

    Raises:
        OSError: The file can't be written; the error names ``path``, and the old file stands.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    with new_file(path, sync=sync) as new, _naming(path):
        new.write_bytes(data)


@contextmanager
def new_file(path: Path, *, sync: bool = False, mode: int | None = None) -> Iterator[Path]:
    """Yield the path of a new file; at the end of the block it takes the place of ``path``.

    The block may make other files beside it, as databases do; those are deleted.

    Args:
        path: The file to replace or to make. Missing folders are made, a link is followed.
        sync: Whether to wait until the disk has the new file before the old one goes.
        mode: The permissions of the file; None keeps those of the old one, or gives those of any
            new file.

    Raises:
        OSError: The file can't be written; the old one stands.
    """
    place = path.resolve() if path.is_symlink() else path
    with _folder_beside(place, path) as beside:
        new = beside / place.name
        yield new
        with _naming(path):
            if sync:
                sync_file(new)
            kept = _mode(place) if mode is None else mode
            if kept is not None:
                new.chmod(kept)
            new.replace(place)
            if sync:
                sync_folder(place.parent)


def create_file(path: Path, data: bytes) -> bool:
    """Make a file that only its owner can read, unless there is one already.

    Of several processes that try at once, one makes the file, and no other sees half of it.

    Returns:
        Whether this call made it.

    Raises:
        OSError: The file can't be written.
    """
    with _folder_beside(path, path) as beside, _naming(path):
        new = beside / path.name
        _write_new(new, data)
        try:
            path.hardlink_to(new)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _WITHOUT_LINKS:
                raise
            try:
                _write_new(path, data)
            except FileExistsError:
                return False
        return True


_WITHOUT_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
"""Error numbers of file systems without hard links, such as those of memory sticks; Windows the
last."""


def _write_new(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)


@contextmanager
def _folder_beside(place: Path, known: Path) -> Iterator[Path]:
    """Make a hidden folder on the same disk, and delete it in the end.

    Only its owner can open it, so the data are private until they are in their place.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    with _naming(known):
        prefix = f".{place.name[:_NAME_SHOWN]}."
        beside = Path(tempfile.mkdtemp(dir=place.parent, prefix=prefix))
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file that people know in an error, not a hidden one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line of a journal."""

    start: int
    """Number of bytes before the line."""
    data: bytes
    """Bytes of the line, without its end."""
    whole: bool
    """True if it has a line end. The last line may lack it: a kill or a full disk cut it short."""


def journal_lines(path: Path) -> Iterator[JournalLine]:
    """Read a journal line by line; one that isn't there has none.

    Raises:
        OSError: It can't be read.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        start = 0
        for line in file:
            yield JournalLine(start, line.removesuffix(b"\n"), line.endswith(b"\n"))
            start += len(line)


class Journal:
    """A journal that is open for adding to, by one process at a time (``hold`` sees to that)."""

    def __init__(self, path: Path, *, sync: bool = False, mode: int = 0o600) -> None:
        """Open a journal, or make it; a last line that was cut short is ended.

        Args:
            path: The file, in a folder that exists.
            sync: Whether each addition waits until the disk has it. Without, the system has it:
                it outlives the process, but not a power cut.
            mode: The permissions of a new file.

        Raises:
            OSError: The file can't be opened.
        """
        self.path = path
        self._sync = sync
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        is_new = not path.exists()
        self._file = os.open(path, flags, 0o600)
        self._size = os.fstat(self._file).st_size
        if is_new:
            path.chmod(mode)
            if sync:
                sync_folder(path.parent)
        if self._size and self.read(self._size - 1, 1) != b"\n":
            self.append(b"")

    def append(self, lines: bytes) -> None:
        r"""Add a line, or several with ``\n`` between them, in one write.

        All of it is added, or nothing.

        Raises:
            OSError: It could not be written, as when somebody deleted the file; the error names it.
        """
        if not self.is_ours():
            raise OSError(errno.EIO, "deleted, or written by another process", str(self.path))
        data = lines + b"\n"
        try:
            written = os.write(self._file, data)
            while written < len(data):  # A full disk takes a part, and then says why no more.
                written += os.write(self._file, data[written:])
            if self._sync:
                os.fsync(self._file)
        except OSError as error:
            # Half a line in the middle would be lost together with the line that follows it.
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self._size += len(data)

    def read(self, start: int, length: int) -> bytes:
        """Read ``length`` bytes from ``start``."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(length)

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._size

    def is_ours(self) -> bool:
        """Tell whether the file still exists and nobody else added to it or cut it."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        ours = os.fstat(self._file)
        return os.path.samestat(found, ours) and ours.st_size == self._size

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class HeldError(UsageError):
    """Another process holds the lock."""

    def __init__(self, what: Path, holder: str) -> None:
        self.holder = holder
        """Process, host, time and command of the holder, if they are known."""
        super().__init__(
            f"{what}: another casewise is at work there ({holder}); wait for it, or stop it"
        )


@contextmanager
def hold(lock: Path, *, what: Path | None = None, command: str = "casewise") -> Iterator[None]:
    """Hold a lock while the block runs, and leave a note beside it that says who does.

    The lock is the operating system's: it goes with the process, however that ends. What a killed
    process leaves of both files holds up nobody. Some network disks have no locks, or don't share
    them: there the note holds others off for as long as it is renewed.

    Args:
        lock: A file for the lock alone. It and the note are made here, and deleted in the end.
        what: What is held, as a person knows it; None is the lock's folder.
        command: What the note says that this process does. Give no keys.

    Raises:
        HeldError: Another process, or another block of this one, holds it.
        OSError: The folder can't be written.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    note = lock.with_name(f"{lock.name}.holder")
    with ExitStack() as stack:
        try:
            is_locked = stack.enter_context(locked(lock))
            if not _is_renewed(note, is_locked):
                note.unlink(missing_ok=True)
            if not create_file(note, json.dumps(_ourselves(command)).encode()):
                raise BlockingIOError
        except BlockingIOError:
            raise HeldError(lock.parent if what is None else what, _holder(note)) from None
        stack.callback(note.unlink, missing_ok=True)
        note.chmod(0o644)
        ended = Event()
        stack.callback(ended.set)
        Thread(target=_renew, args=(note, ended), daemon=True).start()
        yield


RENEWED_S = 2
"""Seconds after which a holder renews its note."""

LEFT_S = 15
"""Seconds after which a note that nobody renews was left by a process that ended."""


def _is_renewed(note: Path, is_locked: bool) -> bool:
    """Tell whether a process is still there to renew its note."""
    try:
        found = json.loads(note.read_text("utf-8"))
        pid, here = found["pid"], found["host"] == socket.gethostname()
        # A lock that we got is no other block's of this process.
        if os.name != "posix" or (here and is_locked and pid == os.getpid()):
            return False
        if here:
            with suppress(PermissionError):
                os.kill(pid, 0)
        return time.time() - note.stat().st_mtime < LEFT_S
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _renew(note: Path, ended: Event) -> None:
    """Renew a note, until its holder has ended."""
    with suppress(OSError):
        while not ended.wait(RENEWED_S):
            os.utime(note)


@contextmanager
def locked(lock: Path) -> Iterator[bool]:
    """Hold a lock while the block runs, without a note.

    Yields:
        Whether it could be locked: some network file systems have no locks.

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
