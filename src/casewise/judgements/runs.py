"""Making of a run, as its log has it, and the commands that make it again or go on with it.

What belongs to a machine or a person (keys, paths, addresses) stays behind.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any

from casewise.cases import CASEBENCH, STARTER
from casewise.choices import RULES
from casewise.logs import (
    REDACTED,
    SHARDS,
    TARGETS,
    LogFolder,
    LoggedRun,
    recorded_line,
    resume_line,
)
from casewise.protocols import is_acting


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as its log has it, without keys, paths and addresses. None is not recorded."""

    run_id: str
    model: str
    """Name as it may be shown: of a path, the last part."""
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
    """True if the log was made fit to publish, and lacks arguments and files."""
    own_address: bool = False
    """True if the model was reached at an address that the run was given."""
    casewise: str | None = None
    inspect: str | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)
    """Settings of a model in this process: ``dtype``, ``device``, ``torch``, ``transformers``."""
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
    """Number of times that each case was asked anew."""
    cut: bool = False
    """True if Inspect's own option left cases out."""
    started: str | None = None
    completed: str | None = None
    done: int | None = None
    """Samples that were completed."""
    total: int | None = None
    """Samples that were planned."""


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


_LISTS = ("vary", "swap", "ablate", "delivery", "protocol", "model")
"""Options that take several values, in the order in which requests are joined by them."""


@dataclass(frozen=True, slots=True)
class _Request:
    """Options of one ``casewise run``; every product of its lists is run."""

    same: tuple[str, ...]
    """The options that are no lists, the cases first."""
    seed: str
    """Seed of variations and of drawn answers; empty without any."""
    lists: tuple[tuple[str, ...], ...]
    """Values of each of ``_LISTS``; none where the option is not given."""

    def values(self, name: str) -> tuple[str, ...]:
        """The values of one option."""
        return self.lists[_LISTS.index(name)]

    def having(self, name: str, values: tuple[str, ...]) -> "_Request":
        """The same request with other values of one option."""
        place = _LISTS.index(name)
        return replace(self, lists=(*self.lists[:place], values, *self.lists[place + 1 :]))

    @property
    def changed(self) -> bool:
        """Tell whether it varies or swaps, so that plain runs come with it."""
        return bool(self.values("vary") or self.values("swap"))


def run_commands(records: Iterable[RunRecord]) -> list[tuple[str, ...]]:
    """Arguments of ``casewise`` that make runs again, as few commands as hold them all.

    Runs are joined where the command line makes the product of their options. Variations and
    swaps bring the plain run with them, whether it stood there or not.
    """
    requests = list(dict.fromkeys(_request(record) for record in records))
    changed = _joined(one for one in requests if one.changed)
    plain = [one for one in requests if not one.changed]
    left = [one for one in plain if not any(_brings(other, one) for other in changed)]
    return [_arguments(one) for one in (*_joined(left), *changed)]


def _request(record: RunRecord) -> _Request:
    asked = record.asked
    given = {name: str(asked[name]) for name in _LISTS if name in asked}
    given |= {"model": str(asked.get("target", record.model))}
    if "evidence" in asked:
        # Every rung is asked, and says itself where the context stands.
        given.pop("delivery", None)
    acts = is_acting(given.get("protocol"))
    options = {
        "cases": None if "deployment" in asked else _cases(record),
        "deployment": asked.get("deployment"),
        "evidence": asked.get("evidence"),
        "grader": _grader(record) if acts else None,
        "prompt": asked.get("prompt"),
        "sampling": asked.get("sampling"),
        "samples": asked.get("samples"),
        "limit": asked.get("limit"),
        "max-tokens": asked.get("max_tokens"),
    }
    same = [text for name, value in options.items() for text in _option(f"--{name}", value)]
    same += [text for pair in record.model_args for text in ("-M", pair)]
    same += [text for pair in record.generate for text in ("--generate", pair)]
    return _Request(
        same=tuple(same),
        seed=str(asked.get("seed", "")),
        lists=tuple((given[name],) if name in given else () for name in _LISTS),
    )


def _cases(record: RunRecord) -> str:
    """Name that the cases were asked for by; a log without texts says only what data set it was."""
    if "cases" in record.asked:
        return str(record.asked["cases"])
    return str(record.data) if record.data in (STARTER, CASEBENCH) else "CASES"


def _grader(record: RunRecord) -> str | None:
    return None if record.grader in (None, RULES) else record.grader


def _option(name: str, value: object) -> tuple[str, ...]:
    return () if value is None else (name, str(value))


def _joined(requests: Iterable[_Request]) -> list[_Request]:
    """Join requests that differ in one list only, list by list."""
    found = list(requests)
    for name in _LISTS:
        groups: dict[tuple[_Request, bool], list[str]] = {}
        for one in found:
            values = one.values(name)
            # To give an option where there was none would change the run.
            groups.setdefault((one.having(name, ()), bool(values)), []).extend(values)
        found = [
            one.having(name, tuple(dict.fromkeys(found_))) for (one, _), found_ in groups.items()
        ]
    return found


def _brings(changed: _Request, plain: _Request) -> bool:
    """Tell whether a request with variations or swaps makes a plain run too."""
    same = (changed.same, changed.values("ablate")) == (plain.same, plain.values("ablate"))
    return same and all(
        set(plain.values(name)) <= set(changed.values(name))
        for name in ("model", "protocol", "delivery")
    )


def _arguments(request: _Request) -> tuple[str, ...]:
    parts = [text for model in request.values("model") for text in ("-m", model)]
    parts += request.same[:2]
    for name in ("protocol", "delivery"):
        parts += _option(f"--{name}", ",".join(request.values(name)) or None)
    # One ablation may remove several parts, joined by commas; the others are one name each.
    parts += [text for names in request.values("ablate") for text in ("--ablate", names)]
    for name in ("vary", "swap"):
        parts += _option(f"--{name}", ",".join(request.values(name)) or None)
    return ("run", *parts, *_option("--seed", request.seed or None), *request.same[2:])


def hidden_arguments(records: Iterable[RunRecord]) -> tuple[str, ...]:
    """Names of arguments that a person must add to the commands, sorted."""
    return tuple(sorted({name for record in records for name in record.hidden_args}))


_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_MADE_WITH = ("dtype", "device", "torch", "transformers")
_FILES = ("cases", "prompt", "deployment", "evidence")
_NAMES = ("protocol", "delivery", "ablate", "swap", "vary", "sampling", "grader")
_NUMBERS = ("seed", "samples", "limit", "max_tokens")


def run_record(run: LoggedRun) -> RunRecord:
    """Record of a run from its logs, without keys, paths and addresses."""
    first = run.first.log
    spec = first.eval
    parts = [one.log for one in run.logs]
    started = [one.stats.started_at or one.eval.created for one in parts]
    completed = [one.stats.completed_at for one in parts]
    ended = run.alone or run.complete
    said = spec.metadata or {}
    target = _target(spec.model, spec.model_args)
    shown, hidden = clean_arguments({} if target else spec.model_args)
    given = said.get("generate")
    settings_shown, settings_hidden = clean_settings(given if isinstance(given, Mapping) else {})
    config = first.plan.config
    settings = {name: getattr(config, name) for name in _SETTINGS}
    return RunRecord(
        run_id=run.run_id,
        model=without_paths(spec.model),
        status=first.status if run.alone else "success" if ended else "started",
        model_args=shown,
        hidden_args=hidden,
        generate=settings_shown,
        hidden_generate=settings_hidden,
        redacted=said.get(REDACTED) is True,
        own_address=spec.model_base_url is not None,
        casewise=_text(said.get("casewise")),
        inspect=_text(spec.packages.get("inspect_ai")),
        made_with=_made_with(said.get("made_with")),
        task=f"{spec.task} {spec.task_version}",
        data=_text(said.get("dataset")),
        data_hash=_text(said.get("dataset_hash")),
        data_size=_whole(said.get("dataset_size")),
        variation_version=_text(said.get("variation_version")),
        grader=_text(said.get("grader")),
        grader_version=_text(said.get("grader_version")),
        asked=_asked(spec.task_args, said) | ({"target": last_part(target)} if target else {}),
        settings={name: value for name, value in settings.items() if value is not None},
        samples=_whole(said.get("samples")),
        epochs=max((one.part.epoch for one in run.logs if one.part), default=None)
        or spec.config.epochs,
        cut=spec.config.limit is not None or spec.config.sample_id is not None,
        started=min((one for one in started if one), default=None),
        completed=max((one for one in completed if one), default=None) if ended else None,
        done=_sum(one.results.completed_samples if one.results else None for one in parts),
        total=_sum(
            one.results.total_samples if one.results else one.eval.dataset.samples for one in parts
        ),
    )


def _target(model: str, given: Mapping[str, Any]) -> str | None:
    """Name of the target that a run asked: its file, or MODULE:FUNCTION."""
    return _text(given.get("target")) if model.startswith(f"{TARGETS}/") else None


def _made_with(said: object) -> dict[str, str]:
    given = said if isinstance(said, Mapping) else {}
    return {name: value for name in _MADE_WITH if (value := _text(given.get(name))) is not None}


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [one for one in numbers if one is not None]
    return sum(known) if known else None


def _asked(given: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, str | int]:
    asked: dict[str, str | int] = {}
    for name in (*_FILES, *_NAMES):
        value = given.get(name)
        # Inspect's command line turns a,b into a list.
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else _text(value)
        if text is not None:
            asked[name] = last_part(text) if name in _FILES else without_paths(text)
    numbers = {name: _whole(given.get(name)) for name in _NUMBERS}
    # The task respond has no argument of this name.
    protocol = {"protocol": str(said["protocol"])} if "protocol" in said else {}
    return asked | {name: value for name, value in numbers.items() if value is not None} | protocol


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def command_to_resume(runs: Sequence[LoggedRun]) -> str:
    """Command that resumes runs (one at least), those in the folder of the first.

    It is the command that started them, where the folder holds it; else it is made from the logs.
    """
    log_dir = _folder(runs[0])
    records = [_record(one) for one in runs if _folder(one) == log_dir]
    return recorded_line([log for run in runs for log in run.logs], log_dir) or " && ".join(
        resume_line(one, log_dir) for one in run_commands(records)
    )


def recorded_command(path: Path) -> str | None:
    """Command that goes on in a log folder, or in that of a log; None where none is recorded."""
    folder = path if path.is_dir() else _folder_of(path)
    return recorded_line(LogFolder.at(folder).headers(), folder)


def _folder(run: LoggedRun) -> Path:
    return _folder_of(run.first.path)


def _folder_of(path: Path) -> Path:
    """Log folder that a log's run was given; a cluster's shards have folders of their own in it."""
    return path.parents[2] if path.parent.parent.name == SHARDS else path.parent


def _record(run: LoggedRun) -> RunRecord:
    """Record of a run for a command: with the whole paths of its files."""
    record = run_record(run)
    spec = run.first.log.eval
    files = {name: str(spec.task_args[name]) for name in _FILES if name in record.asked}
    files |= {"target": target} if (target := _target(spec.model, spec.model_args)) else {}
    return replace(record, asked={**record.asked, **files})
