"""The journal of revisions: lines sealed by digests, appended to, never rewritten."""

import hashlib
import json
import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer

from casewise.cases import Case, to_fields
from casewise.errors import CasewiseError, InputError
from casewise.files import Journal, journal_lines


class RevisionError(CasewiseError):
    """A revision that was not made; nothing was written."""

    status: int
    """The page's answer by HTTP."""


class UnknownPairError(RevisionError):
    """No pair of the file has, or had, this query id."""

    status = 404


class StaleError(RevisionError):
    """The pair was revised since the copy was read that this revision was made from."""

    status = 409


class VotedError(RevisionError):
    """The case carries votes: a change needs a new version of it."""

    status = 423


class UnfitError(RevisionError):
    """The revision makes no valid cases."""

    status = 422


class OutsideError(RevisionError):
    """The file or its journal was changed by other means while it was being revised."""

    status = 412


class UnwrittenError(RevisionError):
    """The revision could not be written to the disk."""

    status = 507


@dataclass(frozen=True, slots=True)
class OutsideChange:
    """Change of the file by other means since its last revision."""

    changed: int
    """Cases that kept their id."""
    added: int
    removed: int
    kept_votes: int
    """Cases whose text changed under votes that were cast before."""

    def __str__(self) -> str:
        """One sentence for a person."""
        text = f"{self.changed} cases changed, {self.added} added, {self.removed} removed"
        if self.changed + self.added + self.removed == 0:
            text = "the order of the cases changed"
        if self.kept_votes:
            text += f"; {self.kept_votes} of them kept votes that were cast on another text"
        return text


FORMAT: Literal[1] = 1
"""The version of the journal's form."""

_SEAL = ', "digest": "'


class Action(StrEnum):
    """Action that a line of the journal records."""

    BEGIN = "begin"
    EDIT = "edit"
    NEW_VERSION = "new-version"
    ACCEPT = "accept"
    REJECT = "reject"
    REOPEN = "reopen"
    OUTSIDE = "outside"


SNAPSHOTS = (Action.BEGIN, Action.OUTSIDE)
"""Lines that hold the whole file."""


class StrictModel(BaseModel):
    """Model that refuses unknown fields, and whose fields stay as they are."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Entry(StrictModel):
    """One line of the journal."""

    format: Literal[1] = FORMAT
    number: int = Field(ge=1)
    """1, 2, 3, without a gap."""
    time: str
    """Time in UTC, ISO 8601."""
    author: str = Field(min_length=1)
    action: Action
    query_id: str | None = None
    """The pair, by its query id before the action; none where the whole file is meant."""
    reason: str = ""
    before: tuple[Case, ...] = ()
    """The cases that the action replaced or removed, votes and all."""
    after: tuple[Case, ...] = ()
    """Cases in their place, one for one; in ``begin`` and ``outside`` the whole file."""
    file_before: str
    """The data set's hash (``dataset_hash``) before the action."""
    file_after: str
    """And after it; the same where only a decision was taken."""
    previous: str
    """The digest of the line before; empty in the first line."""

    @field_serializer("before", "after")
    def _plain(self, cases: tuple[Case, ...]) -> list[dict[str, Any]]:
        return [to_fields(case) for case in cases]


class BadLineError(ValueError):
    """A line that is no whole, unaltered line of a journal."""


def seal(entry: Entry) -> tuple[str, str]:
    """The line of an entry, without its line end, and its digest.

    The digest is SHA-256 over the line as it would stand without it. It shows slips and careless
    changes; who means to deceive can compute every digest anew.
    """
    body = json.dumps(entry.model_dump(mode="json"), ensure_ascii=False)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f'{body[:-1]}{_SEAL}{digest}"}}', digest


def unseal(line: str) -> tuple[Entry, str]:
    """Read a line and check its digest.

    Raises:
        BadLineError: The line is cut short, altered, or of another form.
    """
    body, mark, rest = line.rpartition(_SEAL)
    if not mark or not rest.endswith('"}'):
        raise BadLineError("the line is cut short or has no digest")
    digest = rest[:-2]
    body += "}"
    if hashlib.sha256(body.encode()).hexdigest() != digest:
        raise BadLineError("the line was altered: its digest differs")
    try:
        return Entry.model_validate(json.loads(body)), digest
    except (ValidationError, ValueError, RecursionError):
        raise BadLineError("the line is of a form that this version does not read") from None


def journal_path(cases: Path) -> Path:
    """Path of the journal of a file of cases: ``cases.revisions.jsonl`` of ``cases.jsonl``."""
    return cases.with_name(f"{cases.stem}.revisions.jsonl")


@dataclass(frozen=True, slots=True)
class JournalReading:
    """Contents of a journal."""

    entries: tuple[Entry, ...]
    last_digest: str
    """Digest of the last line; empty where there is none."""
    size: int
    """Bytes of its whole lines."""
    torn: bytes
    """Bytes behind them: a line that was cut short while it was written."""
    unended: bool
    """The last line is whole but for its line end."""


def read_journal(path: Path) -> JournalReading:
    """Read a journal, and check that no line is missing, altered or out of its place.

    A last line without a line end is what a crash leaves. It was never confirmed to anybody: it
    counts if it is whole, and else is handed back as ``torn``.

    Raises:
        InputError: A line is damaged, missing or not in its place; the message names it.
    """
    entries: list[Entry] = []
    digest, size, unended = "", 0, False
    for number, line in enumerate(journal_lines(path), start=1):
        try:
            digest = _next(line.data, digest, entries)
        except BadLineError as error:
            if not line.whole:
                return JournalReading(tuple(entries), digest, size, line.data, False)
            raise InputError(
                f"the journal is damaged: {error}. It is only ever added to, so restore it from a "
                "copy; or put it aside, and what it tells is no longer told",
                file=path,
                record=f"line {number}",
            ) from None
        size += len(line.data) + line.whole
        unended = not line.whole
    return JournalReading(tuple(entries), digest, size, b"", unended)


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
        self._opened = ExitStack()

    def repair(self, reading: JournalReading) -> None:
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
            self._size = self._file.size

    def append(self, entries: Sequence[Entry]) -> str:
        """Add lines, wait until the disk has them, and return the last one's digest.

        Raises:
            OSError: They could not be written, and the file is as it was.
            ChangedError: The file is not as this object left it.
        """
        sealed = [seal(entry) for entry in entries]
        if self._file.size != self._size or not self._file.is_ours():
            raise ChangedError
        self._file.append("\n".join(line for line, _ in sealed).encode())
        self._size = self._file.size
        return sealed[-1][1]

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    @cached_property
    def _file(self) -> Journal:
        return self._opened.enter_context(closing(Journal(self.path, sync=True, mode=self._mode)))

    @property
    def _mode(self) -> int:
        return stat.S_IMODE(self._like.stat().st_mode)


class ChangedError(Exception):
    """Somebody else wrote to the journal, or took it away."""
