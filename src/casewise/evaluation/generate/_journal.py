"""Answers kept as they come, one a line, so that nothing is asked twice, not even after a kill.

Inspect's own cache does not fit: it keeps no answer that a provider's filter stopped, is a folder
of pickles, which nobody should load from a stranger, and its keys change with Inspect's version.
"""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casewise.evaluation._lock import locked
from casewise.files import Journal, journal_lines

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


class ReplyJournal:
    """A file of answers by key: appended to, and on the disk before anything builds on them."""

    def __init__(self, folder: Path) -> None:
        self._file = Journal(folder / ANSWERS, sync=True)
        self.failed = folder / FAILED
        self._known = dict(_read(self._file.path))
        self.before = len(self._known)
        """Answers that were there at the start."""

    def get(self, key: str) -> Reply | None:
        """The answer under a key, if it came before."""
        return self._known.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        """Write an answer to the disk; the first one under a key stands."""
        record = {name: value for name, value in asdict(reply).items() if value}
        self._file.append(json.dumps({"key": key, **record}, ensure_ascii=True).encode())
        self._known.setdefault(key, reply)

    def keep_failure(self, model: str, reason: str) -> None:
        """Write down why a request to a model failed."""
        with closing(Journal(self.failed)) as file:
            file.append(json.dumps({"model": model, "error": reason}).encode())

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def _read(path: Path) -> Iterator[tuple[str, Reply]]:
    """The replies of lines that can be read, the first under each key; not of those cut short."""
    seen = set()
    for line in journal_lines(path):
        try:
            record: dict[str, Any] = json.loads(line.data)
            key, reply = record.pop("key"), Reply(**record)
        except (ValueError, TypeError, AttributeError, KeyError):
            continue
        if key not in seen:
            seen.add(key)
            yield key, reply


@contextmanager
def opened_journal(folder: Path) -> Iterator[ReplyJournal]:
    """The journal of a folder, which one process at a time may have.

    Raises:
        UsageError: Another process is at work there.
    """
    with locked(folder):
        journal = ReplyJournal(folder)
        try:
            yield journal
        finally:
            journal.close()
