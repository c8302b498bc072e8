"""Answers kept as they come, one a line, so that nothing is asked twice, not even after a kill.

Inspect's own cache does not fit: it keeps no answer that a provider's filter stopped, is a folder
of pickles, which nobody should load from a stranger, and its keys change with Inspect's version.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casewise.evaluation._lock import locked

ANSWERS = "answers.jsonl"

FAILED = "failed.jsonl"
"""What providers said of failed requests: their words may quote a query, and are not printed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a request."""

    text: str = ""
    refused: bool = False
    """Whether the provider itself says that the model, or its filter, declined."""
    cut: bool = False
    """Whether the answer ends at the limit of tokens."""
    input_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None
    """Why no answer came; such a reply is not kept, and is asked for again."""


class Journal:
    """A file of answers by key: appended to, and on the disk before anything builds on them."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / ANSWERS
        self.failed = folder / FAILED
        self._known = dict(_read(self._path))
        self.before = len(self._known)
        """Answers that were there at the start."""
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        if self._path.stat().st_size and not _ends_line(self._path):
            # A kill tore the last line; it stays a line of its own, which is not read.
            os.write(self._file, b"\n")

    def get(self, key: str) -> Reply | None:
        """The answer under a key, if it came before."""
        return self._known.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        """Write an answer to the disk; the first one under a key stands."""
        record = {name: value for name, value in asdict(reply).items() if value}
        line = json.dumps({"key": key, **record}, ensure_ascii=True)
        os.write(self._file, f"{line}\n".encode())
        os.fsync(self._file)
        self._known.setdefault(key, reply)

    def keep_failure(self, model: str, reason: str) -> None:
        """Write down why a request to a model failed."""
        with self.failed.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"model": model, "error": reason}) + "\n")

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


def _read(path: Path) -> Iterator[tuple[str, Reply]]:
    """Whole lines, the first under each key; what a kill tore is left out."""
    seen = set()
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            record: dict[str, Any] = json.loads(line)
            key, reply = record.pop("key"), Reply(**record)
        except (ValueError, TypeError, AttributeError, KeyError):
            continue
        if key not in seen:
            seen.add(key)
            yield key, reply


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


@contextmanager
def opened_journal(folder: Path) -> Iterator[Journal]:
    """The journal of a folder, which one process at a time may have.

    Raises:
        UsageError: Another process is at work there.
    """
    with locked(folder):
        journal = Journal(folder)
        try:
            yield journal
        finally:
            journal.close()
