"""What a log says of how a run was made, without what belongs to a machine or a person.

Keys, paths and addresses stay behind.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import Any


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as its log has it, without keys, paths and addresses. None is not recorded."""

    run_id: str
    model: str
    """As it may be shown: of a path, the last part."""
    status: str
    """``success``, or how the run ended."""
    model_args: tuple[str, ...] = ()
    """``KEY=VALUE`` as the command line takes them, sorted."""
    hidden_args: tuple[str, ...] = ()
    """Names of arguments whose values might be keys, paths or addresses."""
    generate: tuple[str, ...] = ()
    """Settings of the model's generation as ``--generate`` takes them, sorted."""
    hidden_generate: tuple[str, ...] = ()
    """Names of settings whose values might be keys, paths or addresses."""
    redacted: bool = False
    """Whether the log was made fit to publish, and lacks arguments and files."""
    own_address: bool = False
    """Whether the model was reached at an address that the run was given."""
    casewise: str | None = None
    inspect: str | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)
    """Of a model in this process: ``dtype``, ``device``, ``torch``, ``transformers``."""
    task: str | None = None
    """Name and version of the task."""
    data: str | None = None
    data_hash: str | None = None
    data_size: int | None = None
    """Cases in the whole data set."""
    variation_version: str | None = None
    grader: str | None = None
    """``rules`` or a model; None where nothing is graded, or nothing says so."""
    grader_version: str | None = None
    asked: Mapping[str, str | int] = field(default_factory=dict)
    """The task's arguments that were given or have a default; of paths, the last part."""
    settings: Mapping[str, int | float] = field(default_factory=dict)
    """``temperature``, ``top_p``, ``top_k``, ``max_tokens``, ``seed``: those that were set."""
    samples: int | None = None
    """Requests a case whose answers are put together."""
    epochs: int | None = None
    """How often each case was asked anew."""
    cut: bool = False
    """Whether Inspect's own option left cases out."""
    started: str | None = None
    completed: str | None = None
    done: int | None = None
    """Samples that were completed."""
    total: int | None = None
    """Samples that were meant."""


_URL = re.compile(r"\b[A-Za-z][\w+.-]*://\S+")
_PATH = re.compile(
    r"(?<![^\s/\\='\"(\[:])(?:~[\w.-]*|[A-Za-z]:)?[/\\](?=[\w.~-])"
    r"(?:[^/\\\s:;,'\"()|]+[/\\]+)*([^/\\\s:;,'\"()|]*)"
)
"""A path from a root, a home or a drive; the slash between the parts of a name is none."""

_PRIVATE = re.compile(
    r"key|token(?!i|s)|secret|passw|credential|auth|cookie|header|ur[li]|host|endpoint|address"
    r"|path|dir|file|folder|proxy|user|account|project|organi[sz]ation|region|tenant",
    re.IGNORECASE,
)
"""Names of arguments whose values are nobody else's business."""

_PLAIN = re.compile(r"(?!sk-|hf_|gh[a-z]_)[\w.+:@-]{1,40}(/[\w.+:@-]{1,40})?")
_LONG = re.compile(r"\w{24}")
"""What a key might look like, whatever its argument is called."""


def without_paths(text: str) -> str:
    """A text in which paths from a root are cut to their last part, and addresses to dots."""
    return _PATH.sub(lambda found: found[1] or "…", _URL.sub("…", text))


def last_part(text: str) -> str:
    """The last part of a path; of a name, all of it."""
    return PureWindowsPath(text).name or text


def clean_arguments(given: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A model's arguments as ``KEY=VALUE``, and the names of those that are not shown.

    Shown are numbers, truth values and short words whose names don't sound like keys, paths or
    addresses. A shown text that would be read as a number is written in quotation marks.
    """
    shown, hidden = [], []
    for name, value in sorted(given.items()):
        text = None if _PRIVATE.search(name) else _value(value)
        if text is None:
            hidden.append(name)
        else:
            shown.append(f"{name}={text}")
    return tuple(shown), tuple(hidden)


def clean_settings(given: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A model's settings, shown as ``clean_arguments`` shows its arguments.

    A list or a mapping is shown as JSON if all that stands in it may be.
    """
    shown, hidden = [], []
    for name, value in sorted(given.items()):
        nested = isinstance(value, list | dict)
        text = _value(value) if not nested else _nested(value)
        if text is None or name == "extra_headers":
            hidden.append(name)
        else:
            shown.append(f"{name}={text}")
    return tuple(shown), tuple(hidden)


def _nested(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False) if _may_be_shown(value) else None


def _may_be_shown(value: object) -> bool:
    if isinstance(value, dict):
        return all(
            not _PRIVATE.search(str(name)) and _may_be_shown(inner) for name, inner in value.items()
        )
    if isinstance(value, list):
        return all(map(_may_be_shown, value))
    return _value(value) is not None


def _value(value: object) -> str | None:
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str) or not _PLAIN.fullmatch(value) or _LONG.search(value):
        return None
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value)


def plain_notes(notes: Iterable[str], paths: Sequence[Path]) -> tuple[str, ...]:
    """Notes on what was read, with files named by their place in the folder that was given.

    So they are the same from wherever the folder is looked at. What a broken file's reader says
    of its content is left out.
    """
    names = _file_names(paths)
    longest_first = sorted(names, key=len, reverse=True)
    return tuple(_plain_note(note, names, longest_first) for note in notes)


def _file_names(paths: Sequence[Path]) -> dict[str, str]:
    names: dict[str, str] = {}
    for path in paths:
        top = Path(path.resolve().name)
        names.setdefault(str(path), str(top))
        for file in path.rglob("*") if path.is_dir() else ():
            names.setdefault(str(file), (top / file.relative_to(path)).as_posix())
    return names


_LEAD = "passed over "
_UNREADABLE = "not a readable Inspect log"


def _plain_note(note: str, names: Mapping[str, str], longest_first: Sequence[str]) -> str:
    lead = _LEAD if note.startswith(_LEAD) else ""
    body = note.removeprefix(_LEAD)
    for text in longest_first:
        if body.startswith((f"{text}:", f"{text},")):
            body = names[text] + body.removeprefix(text)
            break
    before, broken, _ = body.partition(_UNREADABLE)
    return without_paths(lead + before + broken)
