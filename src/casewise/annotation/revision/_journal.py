"""The journal's file: read whole, appended to, never rewritten."""

import os
import stat
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from casewise.annotation.revision._entry import BadLineError, Entry, seal, unseal
from casewise.errors import InputError
from casewise.files import Journal, journal_lines


def journal_path(cases: Path) -> Path:
    """Where the journal of a file of cases lies: ``cases.revisions.jsonl`` of ``cases.jsonl``."""
    return cases.with_name(f"{cases.stem}.revisions.jsonl")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a journal holds."""

    entries: tuple[Entry, ...]
    last_digest: str
    """Of the last line; empty where there is none."""
    size: int
    """Bytes of its whole lines."""
    torn: bytes
    """What stands behind them: a line that was cut short while it was written."""
    unended: bool
    """The last line is whole but for its line end."""


def read_journal(path: Path) -> Reading:
    """Read a journal, and check that no line is missing, altered or out of its place.

    A last line without a line end is what a crash leaves. It was never confirmed to anybody: it
    counts if it is whole, and else is handed back as ``torn``.

    Raises:
        InputError: A line is damaged, missing or not in its place; the message names it.
    """
    entries: list[Entry] = []
    digest, size, rest = "", 0, b""
    for number, line in enumerate(journal_lines(path), start=1):
        if not line.whole:
            rest = line.data
            break
        size += len(line.data) + 1
        try:
            digest = _next(line.data, digest, entries)
        except BadLineError as error:
            raise InputError(
                f"the journal is damaged: {error}. It is only ever added to, so restore it from a "
                "copy; or put it aside, and what it tells is no longer told",
                file=path,
                record=f"line {number}",
            ) from None
    if not rest:
        return Reading(tuple(entries), digest, size, b"", False)
    try:
        digest = _next(rest, digest, entries)
    except BadLineError:
        return Reading(tuple(entries), digest, size, rest, False)
    return Reading(tuple(entries), digest, size + len(rest), b"", True)


def _next(line: bytes, previous: str, entries: list[Entry]) -> str:
    """Take one more line, and return its digest."""
    try:
        entry, digest = unseal(line.decode())
    except UnicodeDecodeError:
        raise BadLineError("not UTF-8") from None
    if entry.number != len(entries) + 1:
        raise BadLineError(f"number {entry.number} stands where {len(entries) + 1} should")
    if entry.previous != previous:
        raise BadLineError("it does not follow the line before: one was altered or taken out")
    entries.append(entry)
    return digest


class JournalFile:
    """A journal that is open for adding to. One process at a time; the desk's lock sees to it."""

    def __init__(self, path: Path, *, like: Path) -> None:
        """Nothing is opened yet; a new journal gets the permissions of the file it is about."""
        self.path = path
        self._like = like
        self._size = 0
        self._file: Journal | None = None

    def repair(self, reading: Reading) -> None:
        """Make the file end in a whole line; what was torn goes into a file beside it."""
        self._size = reading.size
        if reading.torn:
            beside = self.path.with_name(f"{self.path.name}.torn")
            with closing(Journal(beside, sync=True, mode=self._mode)) as torn:
                torn.append(reading.torn)
            with self.path.open("r+b") as file:
                file.truncate(reading.size)
                os.fsync(file.fileno())
        if reading.unended:
            self._size = self._opened().size

    def append(self, entries: Sequence[Entry]) -> str:
        """Add lines, wait until the disk has them, and return the last one's digest.

        Raises:
            OSError: They could not be written, and the file is as it was.
            ChangedError: The file is not as this object left it.
        """
        sealed = [seal(entry) for entry in entries]
        file = self._opened()
        if file.size != self._size or not file.is_ours():
            raise ChangedError
        file.append("\n".join(line for line, _ in sealed).encode())
        self._size = file.size
        return sealed[-1][1]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> Journal:
        if self._file is None:
            self._file = Journal(self.path, sync=True, mode=self._mode)
        return self._file

    @property
    def _mode(self) -> int:
        return stat.S_IMODE(self._like.stat().st_mode)


class ChangedError(Exception):
    """Somebody else wrote to the journal, or took it away."""
