"""Journals: files of one record a line that are only ever added to."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from casewise.files._atomic import sync_folder


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line of a journal."""

    start: int
    """Bytes before it."""
    data: bytes
    """Its bytes, without the line end."""
    whole: bool
    """Whether it has a line end. The last line may lack it: a kill or a full disk cut it short."""


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
        """Read bytes that stand at a place, such as a line's."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(length)

    @property
    def size(self) -> int:
        """Bytes that the file has."""
        return self._size

    def is_ours(self) -> bool:
        """Whether the file is as this object left it: there, and with nothing added or cut."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        ours = os.fstat(self._file)
        return os.path.samestat(found, ours) and ours.st_size == self._size

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
