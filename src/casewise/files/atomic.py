"""Files and folders that appear whole or not at all, and locks and journals for those that grow.

What stood at a place before stays until the new is whole. Of two processes that hold one lock, the
second is told who was first. A journal's records are only ever added to.
"""

import errno
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from casewise.errors import UsageError

_NAME_SHOWN = 40
"""Most characters of a file's name in the name of the hidden folder beside it."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file: the new one takes the place of the old one when it is complete.

    What is no file (a pipe, a device) is written to as it is.

    Raises:
        OSError: The file can't be written; the error names ``path``, and the old file stands.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    with new_file(path) as new:
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
    with _folder_beside(place) as folder:
        new = folder / place.name
        yield new
        if sync:
            with new.open("rb+") as file:
                os.fsync(file.fileno())
        if mode is None and place.exists():
            mode = stat.S_IMODE(place.stat().st_mode)
        if mode is not None:
            new.chmod(mode)
        new.replace(place)


def create_file(path: Path, data: bytes) -> None:
    """Make a file that only its owner can read, unless there is one already.

    Of several processes that try at once, one makes the file, and no other sees half of it.

    Raises:
        OSError: The file can't be written.
    """
    with _folder_beside(path) as folder:
        new = folder / path.name
        new.touch(0o600)
        new.write_bytes(data)
        try:
            path.hardlink_to(new)
        except FileExistsError:
            return
        except OSError:  # Memory sticks have no hard links.
            new.replace(path)


@contextmanager
def replace_folder(out: Path, check: Callable[[], None]) -> Iterator[Path]:
    """Yield a folder to write into; at the end of the block it replaces ``out``.

    An earlier folder stays until the new one is complete, and is put back if that can't take its
    place; where a process was killed in between, the next one puts it back.

    Args:
        out: The place.
        check: Raises an error if what stands at the place may not be replaced.

    Raises:
        OSError: A folder can't be made or moved.
    """
    out = out.resolve() if out.name in ("", "..") else out
    old = out.with_name(f".{out.name}.casewise-old")
    if old.exists() and not out.exists():
        old.rename(out)
    check()
    with _folder_beside(out) as folder:
        new = folder / out.name
        new.mkdir()
        yield new
        if out.exists():
            shutil.rmtree(old, ignore_errors=True)
            out.rename(old)
        try:
            new.rename(out)
        except BaseException:
            if old.exists():
                old.rename(out)
            raise
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _folder_beside(place: Path) -> Iterator[Path]:
    """Make a hidden folder on the same disk, and delete it in the end.

    Only its owner can open it, so the data are private until they are in their place.
    """
    folder = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{place.name[:_NAME_SHOWN]}."
        folder = Path(tempfile.mkdtemp(dir=place.parent, prefix=prefix))
        yield folder
    except OSError as error:
        if error.filename is None or Path(error.filename).is_relative_to(place.parent):
            # Of the names in it, people know this one.
            raise OSError(error.errno, error.strerror, str(place)) from None
        raise
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


class Journal:
    """A new journal that is open for adding to, by one process.

    Raises:
        OSError: The file can't be opened or made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab+", buffering=0)

    def append(self, lines: bytes) -> None:
        r"""Add a line, or several with ``\n`` between them.

        All of it is added, or nothing. It outlives the process, but not a power cut.

        Raises:
            OSError: It could not be written, as when somebody deleted the file; the error names it.
        """
        if not self._path.exists():
            raise OSError(errno.EIO, "deleted by another process", str(self._path))
        start = self._file.seek(0, os.SEEK_END)
        data = memoryview(lines + b"\n")
        try:
            while data:  # A full disk takes a part, and then says why no more.
                data = data[self._file.write(data) or 0 :]
        except OSError as error:
            # Half a line in the middle would be lost together with the line that follows it.
            with suppress(OSError):
                self._file.truncate(start)
            raise OSError(error.errno, error.strerror, str(self._path)) from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def journal_lines(path: Path) -> Iterator[bytes]:
    """Lines of a journal without their ends; one that isn't there has none.

    A last line that a kill or a full disk cut short is left out.

    Raises:
        OSError: It can't be read.
    """
    with suppress(FileNotFoundError), path.open("rb") as file:
        yield from (line[:-1] for line in file if line.endswith(b"\n"))


@contextmanager
def hold(lock: Path, *, what: Path | None = None, command: str = "casewise") -> Iterator[None]:
    """Hold a lock while the block runs, and leave a note beside it that says who does.

    The lock is the operating system's: it goes with the process, however that ends.

    Args:
        lock: A file for the lock alone. It and the note are made here.
        what: What is held, as a person knows it; None is the lock's folder.
        command: What the note says that this process does. Give no keys.

    Raises:
        UsageError: Another process, or another block of this one, holds it.
        OSError: The folder can't be written, or its disk has no locks.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    note = lock.with_name(f"{lock.name}.holder")
    # Not bound to a thread: a server may end in another one than it began in.
    file_lock = FileLock(lock, thread_local=False)
    try:
        file_lock.acquire(blocking=False)
    except Timeout:
        holder = note.read_text("utf-8") if note.exists() else "it left no note of itself"
        raise UsageError(
            f"{what or lock.parent}: another casewise is at work there ({holder}); wait for it, or "
            "stop it"
        ) from None
    try:
        since = datetime.now().astimezone().isoformat(timespec="seconds")
        process = f"process {os.getpid()} on {socket.gethostname()} since {since}: {command}"
        write_atomically(note, process.encode())
        yield
    finally:
        note.unlink(missing_ok=True)
        file_lock.release()
