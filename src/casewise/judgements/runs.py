"""Recorded settings of a run, as its log has them, and the command that wrote it.

What belongs to a machine or a person (keys, paths, addresses) stays behind.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from casewise.choices import TARGETS
from casewise.logs import (
    COMMAND,
    REDACTED,
    SHARDS,
    LoggedRun,
    read_headers,
    recorded_line,
    without_option,
)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as its log has it, without keys, paths and addresses. None is not recorded."""

    run_id: str
    model: str
    """Name as it may be shown: of a path, the last part."""
    data: str
    """Name of the cases; empty where it is not recorded."""
    model_args: tuple[str, ...]
    """``KEY=VALUE`` as the command line takes them, sorted."""
    started: str | None
    completed: str | None
    command: tuple[str, ...]
    """Arguments of the ``casewise`` that wrote the log, without its folder and what is hidden."""
    shown: Mapping[str, Any]
    """All that is recorded, by the name that a reader sees: versions, options, counts too."""


_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_FACTS = ("casewise", "dataset_hash", "dataset_size", "grader", "grader_version", "samples")


def run_record(run: LoggedRun) -> RunRecord:
    """Record of a run from its logs."""
    first = run.first
    spec, metadata = first.eval, first.metadata
    ended = run.alone or run.complete
    target = spec.model_args.get("target") if spec.model.startswith(f"{TARGETS}/") else None
    arguments = {} if target else spec.model_args
    generate = metadata.get("generate") or {}
    config = first.plan.get("config") or {}
    started = [log.stats.get("started_at") or log.eval.created for log in run.logs]
    completed = [log.stats.get("completed_at") for log in run.logs]
    epochs = max((log.part.epoch for log in run.logs if log.part), default=None)
    named: dict[str, Any] = {
        "data": metadata.get("dataset") or "",
        "model_args": _plain(arguments),
        "started": min(filter(None, started), default=None),
        "completed": max(filter(None, completed), default=None) if ended else None,
    }
    facts = {
        "inspect": spec.packages.get("inspect_ai"),
        "task": f"{spec.task} {spec.task_version}",
        **{name: metadata.get(name) for name in _FACTS},
        "condition": without_paths(run.condition.text),
        "generate": _plain(generate),
        "epochs": epochs or spec.config.get("epochs"),
        "redacted": metadata.get(REDACTED) is True,
        "own_address": spec.model_base_url is not None,
        "settings": {name: config[name] for name in _SETTINGS if config.get(name) is not None},
        **named,
    }
    return RunRecord(
        run_id=run.run_id,
        model=without_paths(spec.model),
        command=_command(metadata, {**arguments, **generate}),
        shown={
            name.replace("_", " "): fact
            for name, fact in facts.items()
            if fact or type(fact) is int
        },
        **named,
    )


# --- what may be shown ----------------------------------------------------------------------------

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
"""Names of arguments whose values may be private."""

_PLAIN = re.compile(r"(?!sk-|hf_|gh[a-z]_)[\w.+:@-]{1,40}(/[\w.+:@-]{1,40})?")
_LONG = re.compile(r"\w{24}")
"""Form of a possible key, whatever its argument is called."""


def without_paths(text: str) -> str:
    """A text in which paths from a root are cut to their last part, and addresses to dots."""
    return _PATH.sub(lambda match: match[1] or "…", _URL.sub("…", text))


def last_part(text: str) -> str:
    """The last part of a path; of a name, all of it."""
    return PureWindowsPath(text).name or text


def _plain(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Arguments as ``KEY=VALUE``, those that may be shown.

    Numbers, truth values and short words whose names don't sound like keys, paths or addresses,
    and what is nested if all in it may be.
    """
    shown = (
        (name, value) for name, value in sorted(arguments.items()) if _may_be_shown(name, value)
    )
    return tuple(f"{name}={_text(value)}" for name, value in shown)


def _may_be_shown(name: str, value: object) -> bool:
    if _PRIVATE.search(name):
        return False
    if isinstance(value, dict):
        return all(_may_be_shown(str(inner), item) for inner, item in value.items())
    if isinstance(value, list):
        return all(_may_be_shown(name, item) for item in value)
    if isinstance(value, str):
        return bool(_PLAIN.fullmatch(value)) and not _LONG.search(value)
    return True


def _text(value: object) -> str:
    """A value as the command line takes it: JSON, and a word that is no JSON as it is."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, ensure_ascii=False)


_OF_PLACE = ("--log-dir", "--model-base-url")
_PAIRS = ("-M", "--model-arg", "--generate")
_FILE_NAMES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".parquet", ".xlsx", ".txt")


def _command(metadata: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Arguments of the command that wrote a log; none where no ``casewise run`` is recorded."""
    try:
        arguments = shlex.split(str(metadata.get(COMMAND, "")))[1:]
    except ValueError:
        return ()
    if arguments[:1] != ["run"]:
        return ()
    for option in _OF_PLACE:
        arguments = without_option(option, arguments)
    hidden = {name for name, value in settings.items() if not _may_be_shown(name, value)}
    shown: list[str] = []
    for argument in arguments:
        if shown and shown[-1] in _PAIRS and argument.partition("=")[0] in hidden:
            shown.pop()
        elif argument in _PAIRS or not argument.startswith(_PAIRS):
            shown.append(_shown(argument))
    return tuple(shown)


def _shown(argument: str) -> str:
    return last_part(argument) if argument.endswith(_FILE_NAMES) else without_paths(argument)


_UNREADABLE = "not a readable Inspect log"


def plain_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes on what was read, without paths, and without what a reader says of a broken file."""
    parts = (note.partition(_UNREADABLE) for note in notes)
    return tuple(without_paths(before + broken) for before, broken, _ in parts)


# --- going on -------------------------------------------------------------------------------------


def folder_of(path: Path) -> Path:
    """Log folder of a log's run; a cluster's shards have folders of their own in it."""
    return path.parents[2] if path.parent.parent.name == SHARDS else path.parent


def recorded_command(path: Path) -> str | None:
    """Command that goes on in a log folder, or in that of a log; None where none is recorded."""
    folder = path if path.is_dir() else folder_of(path)
    return recorded_line(read_headers(folder), folder)
