"""Read logs: the header of each, the attempts at a case, and which one counts of several logs.

Inspect, which takes seconds to import, is asked for what only it can read: logs in its form of
JSON, logs that stand elsewhere, and whole samples.

Summaries are read in less than a fifth of the time that Inspect takes, which shortens every text
of a summary when it writes it, and again when it reads it: over a million of them that is a
quarter of an hour. Whole samples, too, are read without it: Inspect opens the log, starts an event
loop and reads the table of contents for each sample anew.
"""

import json
import logging
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self
from zipfile import BadZipFile, ZipFile, is_zipfile
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field

from casewise.cases import turn_text
from casewise.errors import InputError, first_line
from casewise.files import address_of, check_archive, is_elsewhere, journal_lines, place_of
from casewise.protocols import RunCondition

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSampleSummary
    from inspect_ai.model import ChatMessage, ModelOutput
    from inspect_ai.tool import ToolCall


class TokenUsage(Protocol):
    """Tokens of a model: ``Usage``, or Inspect's ``ModelUsage``."""

    @property
    def input_tokens(self) -> int:
        """Tokens sent, those in the provider's cache left out."""

    @property
    def output_tokens(self) -> int:
        """Tokens answered."""

    @property
    def input_tokens_cache_read(self) -> int | None:
        """Tokens sent that the provider's cache held."""

    @property
    def input_tokens_cache_write(self) -> int | None:
        """Tokens sent that the provider's cache holds from now on."""

    @property
    def total_cost(self) -> float | None:
        """Dollars; None where the price is unknown."""


class _Part(BaseModel):
    model_config = ConfigDict(from_attributes=True, protected_namespaces=(), frozen=True)


class Usage(_Part):
    """Tokens of a model, as a log keeps them."""

    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None
    total_cost: float | None = None


class DataSet(_Part):
    """Samples of a run."""

    samples: int | None = None
    sample_ids: list[str | int] | None = None


class RunLimits(_Part):
    """Epochs of a run, and the part of its samples that it takes."""

    epochs: int | None = None
    limit: int | tuple[int, int] | None = None
    sample_id: str | int | list[str | int] | None = None


class Spec(_Part):
    """Task, model and data set of a run."""

    eval_id: str = ""
    created: str
    task: str
    task_id: str = ""
    task_version: int | str = 0
    task_args: dict[str, Any] = Field(default_factory=dict)
    task_args_passed: dict[str, Any] = Field(default_factory=dict)
    dataset: DataSet
    model: str
    model_base_url: str | None = None
    model_args: dict[str, Any] = Field(default_factory=dict)
    config: RunLimits
    packages: dict[str, str] = Field(default_factory=dict)
    metadata: dict[str, Any] | None = None


class Settings(_Part):
    """Settings of a run's generation."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int | None = None


class Steps(_Part):
    """Plan of a run."""

    config: Settings = Field(default_factory=Settings)


class Counts(_Part):
    """Samples of a run that ended."""

    total_samples: int = 0
    completed_samples: int = 0


class Times(_Part):
    """Times of a run, and its tokens by model."""

    started_at: str = ""
    completed_at: str = ""
    model_usage: dict[str, Usage] = Field(default_factory=dict)


class Fault(_Part):
    """Error that ended a run."""

    message: str


class Header(_Part):
    """Header of a log."""

    status: str = "started"
    eval: Spec
    plan: Steps = Field(default_factory=Steps)
    results: Counts | None = None
    stats: Times = Field(default_factory=Times)
    error: Fault | None = None


GENERATE = "generate"
"""Key in a log's metadata of the generation settings that a person gave."""

TARGETS = "casewise-target"
"""Provider of targets, whose arguments name the file that describes them."""


ANSWERED_BY = "answered_by"
"""Key in a score of the model that answered, where it is not the one that was asked."""

CUT = "cut"
"""Key in a score of a counted answer that ended at a token limit."""

CUT_TURNS = "cut_turns"
"""Key in a score of the replies among several that ended so: their numbers from 1, by spaces."""

TURN_DOUBTS = "turn_doubts"
"""Key in a score of the graders' doubts of several replies, by spaces; ``-`` is one not known."""

TURNS_BY = "turns_by"
"""Key in a score of the graders of several replies: each with the numbers of those it graded."""

EMBEDDED = "casewise/"
"""Prefix of the names of embedded models, whose replies are short."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """One model under one condition, without addresses, prices and limits of requests."""

    task: str
    version: str
    """Version of the task, which ends with a hash of cases and wording."""
    model: str
    arguments: Mapping[str, Any]
    """Arguments of the task; one that is None counts as not given."""
    model_args: Mapping[str, Any]
    """Arguments of the model's client, without keys."""
    settings: Mapping[str, Any]
    """Settings of the model's generation, beside those of the sampling."""

    @property
    def identity(self) -> str:
        """The key as text: a file by the version's hash, and without the number of cases."""
        given = {
            name: self.version if isinstance(value, str) and Path(value).is_absolute() else value
            for name, value in self.arguments.items()
            if value is not None and name != "limit"
        }
        asked = (self.task, self.version, self.model, given, self.model_args, self.settings)
        return json.dumps(asked, sort_keys=True, default=str)

    @classmethod
    def of_log(cls, log: "Header | EvalLog") -> Self:
        """Key of a log."""
        spec = log.eval
        return cls(
            spec.task,
            str(spec.task_version),
            spec.model,
            spec.task_args_passed,
            without_keys(spec.model_args),
            (spec.metadata or {}).get(GENERATE) or {},
        )


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
"""Folder within a log folder for its lock."""

LOCK = "lock"
"""Name of the lock in ``OURS``."""

COMMAND = "command"
"""Key in a log's metadata of the command that wrote it, by which a stopped run goes on."""

RUNNING = ".running"
"""Suffix of a log that grows, or whose process was killed: see ``LogWriter``."""

BROKEN = ".broken"
"""Suffix for the name of a log that can't be read."""

ESTIMATED = " (estimated)"
"""Ending of a model's name over the tokens of answers that told none: the plan's estimate."""

REDACTED = "redacted"
"""Key in a log's metadata that marks removed texts."""

ADDRESSES = "addresses"
"""Key in a log's metadata of its server's address, and of those of earlier starts."""

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
    log: Header

    def read_log(self) -> "EvalLog":
        """The whole header as Inspect reads it, without scores over the epochs."""
        log = _read_header(_now_at(self.path))
        # Sample by sample: nobody reads them, and they take megabytes.
        log.reductions = None
        log.location = address_of(self.path)
        return log

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
    path = _now_at(path)
    if not is_elsewhere(path):
        check_archive(path)
    try:
        if path.suffix == RUNNING:
            log = Header.model_validate(running_header(path))
        else:
            own = None if is_elsewhere(path) else _member(str(path), "header.json")
            log = Header.model_validate(own or _read_header(path))
    except Exception as error:  # Inspect raises whatever the broken part raises
        raise InputError(f"not a readable Inspect log: {first_line(error)}", file=path) from None
    if "casewise" not in (log.eval.metadata or {}):
        raise InputError(
            "a log of another task",
            file=path,
            found=log.eval.task,
            expected="a log of casewise run or of inspect eval casewise/judge",
        )
    return LogHeader(path, log)


def _now_at(path: Path) -> Path:
    """Place of a log that may have ended since its folder was read."""
    ended = path.with_suffix(".eval")
    return ended if path.suffix == RUNNING and not path.exists() and ended.exists() else path


def running_header(path: Path) -> dict[str, Any]:
    """Header of a log that grows.

    Raises:
        ValueError: It can't be read.
    """
    first = next(journal_lines(path), None)
    found = json.loads(first) if first is not None else None
    if not isinstance(found, dict):
        raise ValueError("no header")
    return found


def running_samples(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Summary and whole of each sample of a log that grows; a line that was cut short is none."""
    for line in islice(journal_lines(path), 1, None):
        summary, tab, sample = line.partition(b"\t")
        if tab:
            yield summary, sample


def _member(path: str, name: str) -> Any:
    """JSON of a part of a log in Inspect's form; None where Inspect alone can read it.

    Raises:
        BadZipFile: It is not as it was written.
    """
    with _open(path) as opened:
        if not is_zipfile(opened):
            return None
        with ZipFile(opened) as archive, suppress(KeyError, NotImplementedError):
            content = archive.read(name)
            # Once imported, Inspect has taught zipfile a compression whose content isn't checked.
            if crc32(content) != archive.getinfo(name).CRC:
                raise BadZipFile(f"{name}: wrong checksum")
            return json.loads(content)
    return None


def _read_header(path: Path) -> "EvalLog":
    from inspect_ai.log import EvalLog, read_eval_log

    if path.suffix == RUNNING:
        return EvalLog.model_validate(running_header(path))
    return read_eval_log(address_of(path), header_only=True)


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

    def add(self, log: "EvalLog") -> None:
        """Take the header of a log that this process has written, so that it needn't be read."""
        path = Path(log.location)
        if not is_elsewhere(path):
            self._read[path] = _stamp(path), LogHeader(path, Header.model_validate(log))


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
        from inspect_ai.log import list_eval_logs

        try:
            found = list_eval_logs(address_of(folder), formats=["eval"])
        except Exception as error:  # whatever its file system raises
            problem = f"can't be read: {first_line(error)}"
            raise InputError(problem, file=address_of(folder)) from None
        return {Path(one.name): (one.size, one.mtime) for one in found}
    logs = product((folder, *(folder / SHARDS).glob("*")), (".eval", RUNNING))
    paths = [path for place, suffix in logs for path in place.glob(f"*{suffix}")]
    return {path: _stamp(path) for path in map(_now_at, paths)}


SCORERS = ("read_answers", "grade_reply")
"""Names of the scores in a log: of a judge's answer, and of a chatbot's reply."""

GRADER = "grader"
"""The role of the model that grades replies."""

CANCELLED = "CancelledError"
"""Beginning of the error of a sample that was in flight when the run was stopped."""

_UNREAD = ("events", "events_data", "timelines", "attachments", "store")
"""Fields of a sample that casewise does not read; they are most of its bytes."""


def calls_of(message: "ChatMessage") -> "list[ToolCall]":
    """Tool calls of an assistant's message; other messages have none."""
    return (message.tool_calls or []) if message.role == "assistant" else []


def message_text(message: "ChatMessage") -> str:
    """A message as text, with the assistant's tool calls."""
    calls = calls_of(message)
    return turn_text(message.text, ((call.function, call.arguments) for call in calls))


def provider_refused(output: "ModelOutput") -> bool:
    """Tell whether the provider itself says that the model, or its filter, declined."""
    # Of a sample that ended in an error, there is no answer at all.
    if not output.choices:
        return False
    if output.stop_reason == "content_filter":
        return True
    content = output.message.content
    return not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)


def input_tokens(usage: TokenUsage) -> int:
    """Input tokens, those in the provider's cache included."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """Reading of an answer, as a log keeps it."""

    values: Mapping[str, Any]
    """Numbers, NaN where undefined."""
    answer: str | None
    explanation: str | None
    metadata: Mapping[str, Any]
    """Status, verdict, and what else is no number."""


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """One attempt at a case."""

    case: str
    epoch: int
    """Epoch of the case, from 1, counted over the whole run."""
    metadata: Mapping[str, Any]
    """Metadata of the case."""
    score: ScoreRecord | None
    error: str | None
    usage: Mapping[str, TokenUsage]
    """Tokens by the model that used them."""
    role_usage: Mapping[str, TokenUsage]
    seconds: float | None
    """Seconds spent on it, without waiting for its turn."""
    in_flight: bool
    """True if it was under way when the run was stopped: such an attempt does not count."""
    messages: tuple[tuple[str, str], ...] = ()
    """Role and text of each message of the conversation, where it was read whole."""

    @property
    def judged(self) -> bool:
        """Tell whether there is a judgement; an answer that could not be read is one."""
        return self.error is None and self.score is not None


def read_records(header: LogHeader, *, whole: bool = False) -> Iterator[SampleRecord]:
    """Read what a log keeps of its samples, in the order in which they ended.

    Args:
        header: The log.
        whole: Read answers and the cases' texts whole, which takes fifteen times as long.
            Summaries cut what is long.

    Raises:
        InputError: The log can't be read.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    path = address_of(_now_at(header.path))
    try:
        found = read_samples(path, header.log) if whole else _summaries_of(path)
        yield from (_record(one, header) for one in found)
    except Exception as error:  # whatever the broken part raises
        raise InputError(f"samples can't be read: {first_line(error)}", file=path) from None


def read_samples(path: str, log: "Header | EvalLog") -> "Iterator[EvalSample]":
    """Read a log's samples one at a time, without events, attachments and stores.

    Args:
        path: Where the log stands.
        log: Its header.

    Returns:
        Those that the log has, in the order of its data set.

    Raises:
        Exception: A part can't be read: whatever Inspect, zipfile or zlib raises.
    """
    from inspect_ai.log import read_eval_log_samples

    if path.endswith(RUNNING):
        yield from (_sample(whole) for _, whole in running_samples(Path(path)))
        return
    ids, epochs = log.eval.dataset.sample_ids, log.eval.config.epochs or 1
    with _open(path) as opened:
        if ids is not None and is_zipfile(opened):
            archive = ZipFile(opened)
            names = frozenset(archive.namelist())
            asked = (f"samples/{one}_epoch_{n + 1}.json" for one in ids for n in range(epochs))
            for name in filter(names.__contains__, asked):
                yield _sample(archive.read(name))
            return
    # A log in Inspect's form of JSON.
    yield from read_eval_log_samples(path, all_samples_required=False)


def _sample(content: bytes) -> "EvalSample":
    from inspect_ai.log import EvalSample

    found = json.loads(content)
    return EvalSample.model_validate({key: found[key] for key in found if key not in _UNREAD})


def is_readable(path: Path) -> bool:
    """Tell whether a log, be it of another task, is whole and as it was written.

    Raises:
        PermissionError: This process may not read it.
    """
    try:
        if path.suffix == RUNNING:
            Header.model_validate(running_header(path))
            return True
        check_archive(path)
        with ZipFile(path) as archive, suppress(NotImplementedError):
            if archive.testzip() is not None:
                return False
        _summaries_of(str(path))
        Header.model_validate(_member(str(path), "header.json") or _read_header(path))
    except PermissionError:
        raise
    except Exception:  # Inspect and zlib raise whatever the broken part raises
        return False
    return True


def _summaries_of(path: str) -> "Iterable[EvalSampleSummary | dict[str, Any]]":
    if path.endswith(RUNNING):
        return [json.loads(summary) for summary, _ in running_samples(Path(path))]
    if (found := _member(path, "summaries.json")) is not None:
        # Where Inspect's runner asked a sample again, the later summary stands.
        return {(str(one["id"]), one["epoch"]): one for one in found}.values()
    from inspect_ai.log import read_eval_log_sample_summaries

    return read_eval_log_sample_summaries(path)


def _open(path: str) -> AbstractContextManager[IO[bytes]]:
    if "://" not in path:
        return Path(path).open("rb")
    # Only here: it takes a while to import, and logs that stand here don't need it.
    import fsspec

    opened: AbstractContextManager[IO[bytes]] = fsspec.open(path, "rb")
    return opened


def _record(
    sample: "EvalSample | EvalSampleSummary | dict[str, Any]", header: LogHeader
) -> SampleRecord:
    """A sample; a summary that is a mapping was checked when it was written."""
    of = _getter(sample)
    scores = of("scores") or {}
    of_score = _getter(next((scores[name] for name in SCORERS if name in scores), {}))
    score = None
    if isinstance(values := of_score("value"), Mapping):
        said = of_score("metadata") or {}
        score = ScoreRecord(values, of_score("answer"), of_score("explanation"), said)
    error = of("error")
    # A summary has the message alone.
    error = getattr(error, "message", error)
    return SampleRecord(
        case=str(of("id")),
        epoch=of("epoch") if header.part is None else header.part.epoch,
        metadata=of("metadata") or {},
        score=score,
        error=error,
        usage=_usage(of("model_usage")),
        role_usage=_usage(of("role_usage")),
        seconds=of("working_time"),
        in_flight=not header.ended and error is not None and error.startswith(CANCELLED),
        messages=tuple((one.role, one.text) for one in of("messages") or ()),
    )


def _getter(found: Any) -> Callable[[str], Any]:
    """Fields by name, of a mapping or an object; None where there is no such field."""
    return found.get if isinstance(found, dict) else lambda name: getattr(found, name, None)


def _usage(found: Mapping[str, Any] | None) -> dict[str, TokenUsage]:
    """Tokens by model; a model with an absurd count is left out: its tokens are unknown."""
    usages = {name: Usage.model_validate(used) for name, used in (found or {}).items()}
    return {
        name: used
        for name, used in usages.items()
        if all(0 <= count <= MOST_TOKENS for count in (input_tokens(used), used.output_tokens))
    }


MOST_TOKENS = 10**15
"""Tokens that a case may take, over all of its answers."""


Asked = tuple[str, int]
"""A case and its epoch."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Outcome of each case of one log."""

    judged: Set[Asked] = frozenset()
    stayed: Set[Asked] = frozenset()
    """Ended in an error, in a log that ended well: they aren't asked again."""
    open: Set[Asked] = frozenset()
    """Ended in an error, or without a score, and will be asked again."""

    def __contains__(self, asked: Asked) -> bool:
        """Tell whether it holds an attempt at a case in an epoch."""
        return any(asked in found for found in (self.judged, self.stayed, self.open))

    @classmethod
    def of_records(cls, header: LogHeader, records: Iterable[SampleRecord]) -> "Attempts":
        """Outcome of each case, from what the log keeps of it."""
        judged, stayed, open_ = set[Asked](), set[Asked](), set[Asked]()
        for one in records:
            asked = one.case, one.epoch
            if one.judged:
                judged.add(asked)
            elif header.ended and one.error is not None:
                stayed.add(asked)
            elif not one.in_flight:
                open_.add(asked)
        return cls(judged, stayed, open_)

    @classmethod
    def of_header(cls, header: LogHeader) -> "Attempts":
        """Outcome of each case of a log that judged them all; only its header is read.

        Over many such logs, reading what they keep of each case would take minutes.
        """
        return cls(set(product(header.sample_ids, header.epochs)))


def counting(logs: Sequence[Attempts]) -> list[Attempts]:
    """Attempts that count: one rule, for reading a run and for going on with it.

    The first judgement of a case counts. Where there is none, the first error that stays counts,
    else the first other error.

    Args:
        logs: All logs of a run, in the order in which they were made.

    Returns:
        What counts of each log; no case is in two of them.
    """
    taken = set[Asked]()

    def first(found: Set[Asked]) -> Set[Asked]:
        new = found - taken
        taken.update(new)
        return new

    judged = [first(one.judged) for one in logs]
    stayed = [first(one.stayed) for one in logs]
    others = [first(one.open) for one in logs]
    return list(map(Attempts, judged, stayed, others))


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """The logs of one model under one condition that count together."""

    logs: tuple[LogHeader, ...]
    """Logs in the order in which they were made; at least one."""

    @property
    def first(self) -> LogHeader:
        """The log that was made first."""
        return self.logs[0]

    @property
    def alone(self) -> bool:
        """Tell whether its one log is whole by itself."""
        return len(self.logs) == 1 and self.first.part is None

    @property
    def run_id(self) -> str:
        """Id of one execution of one task; Inspect's own run id is shared by a run's tasks."""
        return self.first.log.eval.eval_id if self.alone else self.first.run

    @property
    def planned(self) -> int | None:
        """Samples that it was to judge, over all epochs; None where the logs don't say."""
        return max((one.planned or 0 for one in self.logs), default=0) or None

    @property
    def complete(self) -> bool:
        """Tell whether it ended well; several logs did where no case needs a further request."""
        if self.alone:
            return self.first.ended
        planned = self.planned
        return planned is not None and len(set().union(*map(_settled, self.logs))) >= planned

    @property
    def stopped(self) -> str | None:
        """Reason why it did not end, without a provider's own words; None where it did."""
        if self.complete:
            return None
        ended = [one.log for one in self.logs if one.log.status != "success"]
        if not ended:
            return "its logs don't hold every case"
        return _STOPS[ended[-1].status]

    @property
    def condition(self) -> RunCondition:
        """Columns of the judgement table that are the same in every row."""
        return replace(self.first.condition, run_id=self.run_id)


_STOPS = {
    "cancelled": "stopped by hand, or by a cap such as --max-cost",
    "error": "requests failed",
    "started": "killed, or still running",
}
"""Reasons why a run did not end, by its log's status."""


def runs_of(headers: Iterable[LogHeader]) -> list[LoggedRun]:
    """Put the logs of each run together.

    Where attempts at a run are whole by themselves, the one that ended well counts alone: it holds
    what those before it held.

    Returns:
        The runs, in the order in which the first log of each comes.
    """
    groups: dict[tuple[str, str], list[LogHeader]] = {}
    for header in headers:
        groups.setdefault((header.run, header.model), []).append(header)
    return [LoggedRun(tuple(_that_count(attempts))) for attempts in groups.values()]


def _that_count(attempts: Sequence[LogHeader]) -> Sequence[LogHeader]:
    by_age = sorted(attempts, key=lambda one: one.age)
    ended = [one for one in by_age if one.ended]
    return ended[-1:] if ended and not any(one.part for one in by_age) else by_age


def _settled(header: LogHeader) -> Set[Asked]:
    """Cases of a log that need not be asked again."""
    if header.ended:
        return Attempts.of_header(header).judged
    return Attempts.of_records(header, read_records(header)).judged


def recorded_line(headers: Iterable[LogHeader], log_dir: Path) -> str | None:
    """Command line that goes on in a folder, as its latest log has it; None if unknown."""
    for header in sorted(headers, key=lambda one: one.age, reverse=True):
        with suppress(ValueError):
            arguments = shlex.split(str(header.metadata.get(COMMAND, "")))[1:]
            # Whoever runs models from Python has another command line.
            if arguments[:1] == ["run"]:
                return resume_line(arguments, log_dir)
    return None


def resume_line(arguments: Sequence[str], log_dir: Path | None) -> str:
    """Command line of ``casewise`` that goes on in a folder.

    Args:
        arguments: Those that the run was started with, without the program's name.
        log_dir: The folder of its logs, which may not have been named; None where it has none.
    """
    command = ["casewise", *without_option("--log-dir", arguments)]
    return shlex.join([*command, *([] if log_dir is None else ["--log-dir", address_of(log_dir)])])


def without_option(option: str, arguments: Sequence[str]) -> list[str]:
    """Arguments without an option and its value."""
    kept = list(arguments)
    while option in kept:
        at = kept.index(option)
        del kept[at : at + 2]
    return [one for one in kept if not one.startswith(f"{option}=")]
