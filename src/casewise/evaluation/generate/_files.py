"""Files of making contexts: answers as they come, the results, and the settings they were made by.

An answer is on the disk before anything builds on it, so that nothing is asked twice, not even
after a kill.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casewise.errors import UsageError
from casewise.evaluation.runs.folder import locked
from casewise.files import Journal, journal_lines, write_atomically

ANSWERS = "answers.jsonl"

FAILED = "failed.jsonl"
"""Providers' words on failed requests, which may quote a query, and are not printed."""


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """Answer to a request, or why there is none."""

    text: str = ""
    refused: bool = False
    """True if the provider itself says that the model, or its filter, declined."""
    cut: bool = False
    """True if the answer ends at the limit of tokens."""
    input_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None
    """Reason why no answer came; such a request is sent again by the next start."""

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens in and out."""
        return self.input_tokens, self.output_tokens


class ReplyJournal:
    """Journal of answers by key, which are on the disk before anything builds on them."""

    def __init__(self, folder: Path) -> None:
        self.file = Journal(folder / ANSWERS, sync=True)
        self.failed = folder / FAILED
        self.known: dict[str, RequestOutcome] = {}
        """Answers by key; the first one under a key stands."""
        for line in journal_lines(self.file.path):
            # A line that was cut short is no answer.
            with suppress(ValueError, TypeError, AttributeError, KeyError):
                record: dict[str, Any] = json.loads(line.data)
                self.known.setdefault(record.pop("key"), RequestOutcome(**record))
        self.before = len(self.known)
        """Answers that were there at the start."""

    def keep(self, key: str, reply: RequestOutcome) -> None:
        """Write an answer to the disk."""
        record = {name: value for name, value in asdict(reply).items() if value}
        self.file.append(json.dumps({"key": key, **record}, ensure_ascii=True).encode())
        self.known.setdefault(key, reply)

    def keep_failure(self, model: str, reason: str) -> None:
        """Write down why a request to a model failed."""
        with closing(Journal(self.failed)) as file:
            file.append(json.dumps({"model": model, "error": reason}).encode())

    def close(self) -> None:
        """Close the file."""
        self.file.close()


@contextmanager
def opened_journal(folder: Path) -> Iterator[ReplyJournal]:
    """The journal of a folder, which one process at a time may have.

    Raises:
        UsageError: Another process is at work there.
    """
    with locked(folder), closing(ReplyJournal(folder)) as journal:
        yield journal


STATE = "state.json"


@dataclass(frozen=True, slots=True)
class Files:
    """Paths of all files: beside the cases, under their name."""

    cases: Path
    aside: Path
    record: Path
    folder: Path
    """Folder of the answers and the settings, by which a stopped start goes on."""


def files_beside(out: Path, settings: Mapping[str, Any]) -> Files:
    """Files that belong to a file of cases.

    Raises:
        UsageError: They would overwrite other work: the folder is of other settings, or a file is
            there that these settings did not make, or that was changed since.
    """
    others = (out.with_suffix(f".{end}") for end in ("aside.jsonl", "record.jsonl", "making"))
    files = Files(out, *others)
    state = _state(files)
    answers = files.folder / ANSWERS
    # A start that found no model leaves a folder without answers: nothing would be lost.
    has_answers = answers.exists() and answers.stat().st_size > 0
    before = state.get("settings") if has_answers else None
    for name, now in settings.items():
        if before and (then := before.get(name)) != now:
            raise UsageError(
                f"{files.folder} holds what was made with other settings "
                f"({name}: {_shown(then)} then, {_shown(now)} now): "
                f"give another --out, or delete that folder and {files.cases.name}"
            )
    for path in (files.cases, files.aside, files.record):
        if path.exists() and _hash(path.read_bytes()) not in state.get("written", ()):
            raise UsageError(
                f"{path} exists and was not made by this command with these settings, or was "
                "changed since: give another --out, or move it away"
            )
    return files


def begin(files: Files, settings: Mapping[str, Any]) -> None:
    """Leave the settings in the folder."""
    if _state(files).get("settings") != settings:
        _write_state(files, {"settings": settings, "written": []})


def write_files(files: Files, records: Mapping[Path, Iterable[Mapping[str, Any]]]) -> None:
    """Write each file of records as JSON Lines; one without records is removed."""
    contents = {path: b"".join(map(_line, lines)) for path, lines in records.items()}
    state = _state(files)
    # Noted first: a kill between the two must not make strangers of our own files.
    written = sorted({*state.get("written", ()), *map(_hash, contents.values())})
    _write_state(files, {**state, "written": written})
    for path, content in contents.items():
        if content:
            write_atomically(path, content)
        else:
            path.unlink(missing_ok=True)


def _line(record: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(record, ensure_ascii=False)}\n".encode()


def _state(files: Files) -> dict[str, Any]:
    path = files.folder / STATE
    try:
        state = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise UsageError(
            f"{path} can't be read: give another --out, or delete {files.folder}"
        ) from None
    return state if isinstance(state, dict) else {}


def _write_state(files: Files, state: Mapping[str, Any]) -> None:
    text = json.dumps(state, ensure_ascii=False, indent=1)
    write_atomically(files.folder / STATE, f"{text}\n".encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:60] or "none"
