"""Header of a log, before its samples: its run, its part of the run, its cases."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from casewise.errors import InputError, first_line
from casewise.files import address_of, is_elsewhere, place_of
from casewise.protocols import RunCondition

GENERATE = "generate"
"""Key in a log's metadata of the generation settings that a person gave."""

TARGETS = "casewise-target"
"""Provider of targets, whose arguments name the file that describes them."""


ANSWERED_BY = "answered_by"
"""Key in a score of the model that answered, where it is not the one that was asked."""

CUT = "cut"
"""Key in a score of a counted answer that ended at a token limit; older logs don't say."""

CUT_TURNS = "cut_turns"
"""Key in a score of the replies among several that ended so: their numbers from 1, by spaces."""

EMBEDDED = "casewise/"
"""Prefix of the names of embedded models, whose replies are short."""

RESPOND = "casewise/respond"
"""Name of the task in which models reply."""

OLD_REPLY_TOKENS = 1024
"""Longest reply of runs whose log names no limit in its task's arguments: their default."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """One model under one condition, without addresses, prices and limits of requests."""

    task: str
    version: str
    """Version of the task: another where cases or wording are."""
    model: str
    arguments: Mapping[str, Any]
    """Arguments of the task; one that is None counts as not given."""
    model_args: Mapping[str, Any]
    """Arguments of the model's client, without keys."""
    seed: int | None
    """Sent with every request."""
    settings: Mapping[str, Any] | None = None
    """Settings of the model's generation, beside those of the sampling; None or empty where there
    are none."""

    @property
    def identity(self) -> str:
        """The key as text."""
        given = {name: value for name, value in self.arguments.items() if value is not None}
        if given.get("max_tokens") == OLD_REPLY_TOKENS and self._replies:
            # As older logs have it, which don't name it.
            del given["max_tokens"]
        parts: list[Any] = [self.task, self.version, self.model, given]
        parts += [dict(self.model_args), self.seed]
        # At the end, and only if there are any: older logs know nothing of them.
        parts += [dict(self.settings)] if self.settings else []
        return json.dumps(parts, sort_keys=True, default=str)

    @property
    def _replies(self) -> bool:
        """Tell whether it is of replies, and not the embedded model's."""
        return self.task == RESPOND and not self.model.startswith(EMBEDDED)

    @property
    def old_limit(self) -> Self:
        """The key with replies of at most ``OLD_REPLY_TOKENS``; itself where there are none."""
        if not self._replies:
            return self
        return replace(self, arguments={**self.arguments, "max_tokens": OLD_REPLY_TOKENS})

    @classmethod
    def of_log(cls, log: EvalLog) -> Self:
        """Key of a log."""
        spec, limit = log.eval, log.plan.config.max_tokens
        found = cls(
            spec.task,
            str(spec.task_version),
            spec.model,
            spec.task_args_passed,
            without_keys(spec.model_args),
            log.plan.config.seed,
            (spec.metadata or {}).get(GENERATE),
        )
        if limit is None or not found._replies:
            return found
        # A limit that was the default stands in no argument of the task.
        return replace(found, arguments={"max_tokens": limit, **found.arguments})


def without_keys(model_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a model's client without keys, as a log may show them."""
    return {
        name: value
        for name, value in model_args.items()
        if name != "api_key" and not name.startswith("aws_")
    }


SHARD = "shard"
"""Key in a log's metadata of its part of the run."""

SHARDS = "shards"
"""Folder of shards within a log folder, where a cluster writes; each shard has a folder in it."""

OURS = ".casewise"
"""Folder within a log folder: the lock, answers that no log holds yet, and the last start."""

LOCK = "lock"
"""Name of the lock in ``OURS``."""

START = "start.json"
"""File in ``OURS``: the command that was started last, by which a stopped run goes on."""

BROKEN = ".broken"
"""Suffix for the name of a log that can't be read."""

REDACTED = "redacted"
"""Key in a log's metadata that marks removed texts."""

ORDER = "order"
"""Key of the place of its model and condition in the run."""


@dataclass(frozen=True, slots=True)
class Part:
    """Place of a log's cases in the whole run, by which readers join the parts."""

    run: str
    """Id that all parts of a run share; the task's id of a run that began whole."""
    epoch: int
    """Epoch of all its cases; the log itself counts from 1."""
    places: tuple[int, ...]
    """Places of its samples in the condition's order."""
    of: int
    """Judgements of the whole run."""

    def as_metadata(self) -> dict[str, Any]:
        """The part as a log keeps it."""
        return {SHARD: asdict(self) | {"places": list(self.places)}}

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, Any] | None) -> Self | None:
        """Part that a log is, by its metadata; None of a log that is whole by itself."""
        said = (metadata or {}).get(SHARD)
        if not isinstance(said, dict):
            return None
        return cls(str(said["run"]), int(said["epoch"]), tuple(said["places"]), int(said["of"]))


OF_RUN = tuple(name for name in RunCondition() if name not in ("model", "run_id"))
"""Keys of a log's metadata that are columns of the judgement table."""


@dataclass(frozen=True)
class LogHeader:
    """Header of one log."""

    path: Path
    log: EvalLog
    """Without samples."""

    @cached_property
    def part(self) -> Part | None:
        """Place in the run; None of a log that is whole by itself."""
        return Part.of_metadata(self.log.eval.metadata)

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata that casewise wrote of the run."""
        return self.log.eval.metadata or {}

    @property
    def model(self) -> str:
        """The model under test."""
        return self.log.eval.model

    @property
    def key(self) -> RunKey:
        """Model and condition of the log."""
        return RunKey.of_log(self.log)

    @property
    def run(self) -> str:
        """Id that all attempts at one task, and all parts of a run, share."""
        return self.part.run if self.part is not None else self.log.eval.task_id

    @property
    def order(self) -> int:
        """The place of its model and condition in the run; -1 where the log doesn't say."""
        order = self.metadata.get(ORDER)
        return order if isinstance(order, int) else -1

    @property
    def age(self) -> tuple[str, str]:
        """Sort key of logs: the time at which they were made, and their id."""
        return self.log.eval.created, self.log.eval.eval_id

    @property
    def ended(self) -> bool:
        """Tell whether it ended well."""
        return self.log.status == "success"

    @property
    def sample_ids(self) -> list[str]:
        """The ids of its samples, in the condition's order."""
        return [str(one) for one in self._ids]

    @property
    def _ids(self) -> Sequence[str | int]:
        return self.log.eval.dataset.sample_ids or []

    @property
    def epochs(self) -> range:
        """Epochs of its cases, counted over the whole run."""
        if self.part is not None:
            return range(self.part.epoch, self.part.epoch + 1)
        return range(1, (self.log.eval.config.epochs or 1) + 1)

    @property
    def planned(self) -> int | None:
        """Judgements of the whole run, over all epochs; None where the log doesn't say."""
        if self.part is not None:
            return self.part.of
        return len(self._ids) * len(self.epochs) or None

    @property
    def all_judged(self) -> bool:
        """Tell whether its header counts a judgement of each of its cases."""
        results = self.log.results
        size = len(self._ids) * len(self.epochs)
        return self.ended and results is not None and results.completed_samples == size > 0

    @property
    def condition(self) -> RunCondition:
        """Condition as the log tells it, without the run's id."""
        return RunCondition.of_row({**self.metadata, "model": self.model})

    @property
    def places(self) -> dict[str, int]:
        """Places of the samples in the whole run, by their ids."""
        ids = self.sample_ids
        return dict(zip(ids, self.part.places if self.part else range(len(ids)), strict=False))


def read_header(path: Path) -> LogHeader:
    """Read a log's header.

    Raises:
        InputError: The file is no log, is cut short, or belongs to another task.
    """
    try:
        log = read_eval_log(address_of(path), header_only=True)
    except Exception as error:  # Inspect raises whatever the broken part raises
        raise InputError(f"not a readable Inspect log: {first_line(error)}", file=path) from None
    # Scores over the epochs, sample by sample: nobody reads them, and they take megabytes.
    log.reductions = None
    log.location = address_of(path)
    if "casewise" not in (log.eval.metadata or {}):
        raise InputError(
            "a log of another task",
            file=path,
            found=log.eval.task,
            expected="a log of casewise run or of inspect eval casewise/judge",
        )
    return LogHeader(path, log)


def list_logs(folder: Path) -> list[Path]:
    """The logs of a folder and of the shards in it, by name; there may be none.

    Raises:
        InputError: It is elsewhere (``s3://...``), and can't be reached.
    """
    return sorted(_stamped(folder))


@dataclass(slots=True)
class LogFolder:
    """The headers of a folder's logs, each read once, and again only if its file has changed."""

    path: Path
    _read: dict[Path, tuple["_Stamp", LogHeader | None]] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: "Path | LogFolder") -> "LogFolder":
        """The folder at a path, or itself."""
        return folder if isinstance(folder, LogFolder) else cls(place_of(folder))

    def headers(self) -> list[LogHeader]:
        """The headers of casewise's logs as they stand now, by name.

        Logs that are cut short, or of another task, are left out.
        """
        logging.getLogger("inspect_ai").setLevel(logging.ERROR)
        before, self._read = self._read, {}
        for path, stamp in sorted(_stamped(self.path).items()):
            known = before.get(path)
            self._read[path] = (
                known if known and known[0] == stamp else (stamp, _header_or_none(path))
            )
        return [header for _, header in self._read.values() if header is not None]

    def add(self, log: EvalLog) -> None:
        """Take the header of a log that this process has written, so that it needn't be read."""
        path = Path(log.location)
        if not is_elsewhere(path):
            self._read[path] = _stamp(path), LogHeader(path, log)


_Stamp = tuple[int, float | None]
"""State of a file: bytes, and time of its last change."""


def _stamp(path: Path) -> _Stamp:
    stat = path.stat()
    return stat.st_size, stat.st_mtime


def _header_or_none(path: Path) -> LogHeader | None:
    try:
        return read_header(path)
    except InputError:
        return None


def _stamped(folder: Path) -> dict[Path, _Stamp]:
    """The logs of a folder and of the shards in it, in no certain order."""
    if is_elsewhere(folder):
        try:
            found = list_eval_logs(address_of(folder), formats=["eval"])
        except Exception as error:  # whatever its file system raises
            problem = f"can't be read: {first_line(error)}"
            raise InputError(problem, file=address_of(folder)) from None
        return {Path(one.name): (one.size, one.mtime) for one in found}
    paths = [*folder.glob("*.eval"), *(folder / SHARDS).glob("*/*.eval")]
    return {path: _stamp(path) for path in paths}
