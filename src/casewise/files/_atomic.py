"""Files that are written whole or not at all, and journals: records that are only ever added to."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

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
            OSError: It could not be written; the error names the file.
        """
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
