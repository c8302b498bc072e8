"""The files that making contexts leaves: answers as they come, the results, and whose they are.

An answer is on the disk before anything builds on it, so that nothing is asked twice, not even
after a kill.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casewise.errors import UsageError
from casewise.evaluation.executor._log_folder import locked
from casewise.files import Journal, journal_lines, write_atomically

ANSWERS = "answers.jsonl"

FAILED = "failed.jsonl"
"""Words of providers on failed requests: their words may quote a query, and are not printed."""


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """Outcome of a request."""

    text: str = ""
    refused: bool = False
    """True if the provider itself says that the model, or its filter, declined."""
    cut: bool = False
    """True if the answer ends at the limit of tokens."""
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

    def get(self, key: str) -> RequestOutcome | None:
        """The answer under a key, if it came before."""
        return self._known.get(key)

    def keep(self, key: str, reply: RequestOutcome) -> None:
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


def _read(path: Path) -> Iterator[tuple[str, RequestOutcome]]:
    """The replies of lines that can be read, the first under each key; not of those cut short."""
    seen = set()
    for line in journal_lines(path):
        try:
            record: dict[str, Any] = json.loads(line.data)
            key, reply = record.pop("key"), RequestOutcome(**record)
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


STATE = "state.json"


@dataclass(frozen=True, slots=True)
class Files:
    """Places of all files: beside the cases, under their name."""

    cases: Path
    aside: Path
    record: Path
    folder: Path
    """Folder of what is needed to go on."""


def files_beside(out: Path) -> Files:
    """The files that belong to a file of cases."""
    return Files(
        out,
        out.with_suffix(".aside.jsonl"),
        out.with_suffix(".record.jsonl"),
        out.with_suffix(".making"),
    )


def check_files(files: Files, settings: Mapping[str, Any]) -> None:
    """Refuse what would overwrite another's work.

    Raises:
        UsageError: The folder is of other settings; or a file is there that these settings did
            not make, or that was changed since.
    """
    state = _state(files)
    before = state.get("settings", {}) if _has_answers(files) else {}
    for name in settings:
        if before and before.get(name) != settings[name]:
            raise UsageError(
                f"{files.folder} holds what was made with other settings "
                f"({name}: {_shown(before.get(name))} then, {_shown(settings[name])} now): "
                f"give another --out, or delete that folder and {files.cases.name}"
            )
    for path in (files.cases, files.aside, files.record):
        if path.exists() and _hash(path.read_bytes()) not in state.get("written", ()):
            raise UsageError(
                f"{path} exists and was not made by this command with these settings, or was "
                "changed since: give another --out, or move it away"
            )


def _has_answers(files: Files) -> bool:
    """Tell whether there is anything to lose: a start that found no model leaves a bare folder."""
    path = files.folder / ANSWERS
    return path.exists() and path.stat().st_size > 0


def begin(files: Files, settings: Mapping[str, Any]) -> None:
    """Leave the settings in the folder."""
    state = _state(files)
    if state.get("settings") != dict(settings):
        _write_state(files, {"settings": dict(settings), "written": []})


def write_files(files: Files, texts: Mapping[Path, str]) -> None:
    """Write the results, each beside and renamed; one without text is taken away."""
    state = _state(files)
    hashes = {_hash(text.encode()) for text in texts.values()}
    # Noted first: a kill between the two must not make strangers of our own files.
    written = sorted({*state.get("written", ()), *hashes})
    _write_state(files, {**state, "written": written})
    for path, text in texts.items():
        if text:
            write_atomically(path, text.encode())
        else:
            path.unlink(missing_ok=True)


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
