"""Read logs: the header of each, the attempts at a case, and which one counts of several logs.

Inspect, which takes a second to import, is asked for what only it can read: logs in its form of
JSON, those of its own killed processes, and the messages of whole samples. Headers and summaries
are read from the archive in less than a fifth of its time: it shortens every text of a summary
when it writes it, and again when it reads it.
"""

import json
import logging
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import islice, product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, Union
from zipfile import BadZipFile, ZipFile, is_zipfile

from pydantic import BaseModel, ConfigDict

from casewise.cases import turn_text
from casewise.errors import InputError, first_line
from casewise.files import address_of, check_archive, is_elsewhere, journal_lines
from casewise.logs.names import (
    CANCELLED,
    COMMAND,
    GENERATE,
    ORDER,
    RUNNING,
    SCORERS,
    SHARD,
    SHARDS,
)
from casewise.protocols import RunCondition

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage
    from inspect_ai.tool import ToolCall


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


def without_keys(model_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a model's client without keys, as a log may show them."""
    return {
        name: value
        for name, value in model_args.items()
        if name != "api_key" and not name.startswith("aws_")
    }


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
    def of_metadata(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Part that a log is, by its metadata; None of a log that is whole by itself."""
        said = metadata.get(SHARD)
        return cls(**said) if isinstance(said, dict) else None


class _Record(BaseModel):
    model_config = ConfigDict(protected_namespaces=(), frozen=True)


class Usage(_Record):
    """Tokens of a model, as a log keeps them."""

    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None
    total_cost: float | None = None


TokenUsage = Union[Usage, "ModelUsage"]


class Spec(_Record):
    """Task, model and data set of a run."""

    eval_id: str = ""
    created: str
    task: str
    task_id: str = ""
    task_version: int | str = 0
    task_args: dict[str, Any] = {}
    task_args_passed: dict[str, Any] = {}
    dataset: dict[str, Any]
    model: str
    model_base_url: str | None = None
    model_args: dict[str, Any] = {}
    config: dict[str, Any]
    packages: dict[str, str] = {}
    metadata: dict[str, Any] | None = None


class Header(_Record):
    """Header of a log."""

    status: str = "started"
    eval: Spec
    plan: dict[str, Any] = {}
    results: dict[str, Any] | None = None
    stats: dict[str, Any] = {}


@dataclass(frozen=True)
class LogHeader:
    """Header of one log."""

    path: Path
    log: Header

    def read_log(self) -> "EvalLog":
        """The whole header as Inspect has it, without scores over the epochs."""
        from inspect_ai.log import EvalLog

        # Sample by sample: nobody reads them, and they take megabytes.
        return EvalLog.model_validate(_read_header(_now_at(self.path)) | {"reductions": None})

    @cached_property
    def part(self) -> Part | None:
        """Place in the run; None of a log that is whole by itself."""
        return Part.of_metadata(self.metadata)

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
        spec = self.log.eval
        return RunKey(
            spec.task,
            str(spec.task_version),
            spec.model,
            spec.task_args_passed,
            without_keys(spec.model_args),
            self.metadata.get(GENERATE) or {},
        )

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
    def planned(self) -> int | None:
        """Judgements of the whole run, over all epochs; None where the log doesn't say."""
        if self.part is not None:
            return self.part.of
        return len(self.places) * (self.log.eval.config.get("epochs") or 1) or None

    @property
    def condition(self) -> RunCondition:
        """Condition as the log tells it, without the run's id."""
        return RunCondition.of_row({**self.metadata, "model": self.model})

    @property
    def places(self) -> dict[str, int]:
        """Places of the samples in the whole run, by their ids."""
        ids = [str(one) for one in self.log.eval.dataset.get("sample_ids") or ()]
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
        log = Header.model_validate(_read_header(path))
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


def _read_header(path: Path) -> dict[str, Any]:
    if path.suffix == RUNNING:
        return running_header(path)
    found: dict[str, Any] | None = _read_member(address_of(path), "header.json")
    if found is None:
        from inspect_ai.log import read_eval_log

        found = read_eval_log(address_of(path), header_only=True).model_dump()
    return found


def running_header(path: Path) -> dict[str, Any]:
    """Header of a log that grows.

    Raises:
        ValueError: It can't be read.
    """
    found = json.loads(next(journal_lines(path), b""))
    if not isinstance(found, dict):
        raise ValueError("no header")
    return found


def running_samples(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Summary and whole of each sample of a log that grows."""
    for line in islice(journal_lines(path), 1, None):
        summary, tab, sample = line.partition(b"\t")
        if tab:
            yield summary, sample


def _read_member(path: str, name: str) -> Any:
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
            if zlib.crc32(content) != archive.getinfo(name).CRC:
                raise BadZipFile(f"{name}: wrong checksum")
            return json.loads(content)
    return None


def _open(path: str) -> AbstractContextManager[IO[bytes]]:
    if "://" not in path:
        return Path(path).open("rb")
    # Only here: it takes a while to import, and logs that stand here don't need it.
    import fsspec

    opened: AbstractContextManager[IO[bytes]] = fsspec.open(path, "rb")
    return opened


def check_whole(path: Path) -> None:
    """Check that a log is whole and as it was written.

    Raises:
        InputError: It is not.
    """
    try:
        with suppress(NotImplementedError), ZipFile(path) as archive:
            if archive.testzip() is None:
                return
    except (BadZipFile, EOFError, zlib.error):
        pass
    raise InputError(DAMAGED, file=path)


DAMAGED = "can't be read: move it away, and what it held is judged again"


# --- the logs of a folder -------------------------------------------------------------------------


def list_logs(folder: Path) -> list[Path]:
    """The logs of a folder and of the shards in it, by name; there may be none.

    Raises:
        InputError: It is elsewhere (``s3://...``), and can't be reached.
    """
    return sorted(_stamped(folder))


def read_headers(folder: Path) -> list[LogHeader]:
    """The headers of casewise's logs in a folder as they stand now, by name.

    Logs that are cut short, or of another task, are left out. A header is read again only if its
    file has changed.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    found = (_header_or_none(path, stamp) for path, stamp in sorted(_stamped(folder).items()))
    return [header for header in found if header is not None]


@lru_cache(maxsize=1024)
def _header_or_none(path: Path, stamp: "_Stamp") -> LogHeader | None:  # noqa: ARG001 - its key
    with suppress(InputError):
        return read_header(path)
    return None


_Stamp = tuple[int, float | None]
"""State of a file: bytes, and time of its last change."""


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
    paths = [_now_at(path) for place, suffix in logs for path in place.glob(f"*{suffix}")]
    return {path: ((stat := path.stat()).st_size, stat.st_mtime) for path in paths}


# --- samples --------------------------------------------------------------------------------------

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
    usage: Mapping[str, Usage]
    """Tokens by the model that used them."""
    role_usage: Mapping[str, Usage]
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
        if not whole:
            yield from (_record(one, header) for one in _summaries_of(path))
            return
        for sample in read_samples(path):
            messages = tuple((one.role, one.text) for one in sample.messages)
            found = _record(sample.model_dump(exclude={"messages", "output"}), header)
            yield replace(found, messages=messages)
    except Exception as error:  # whatever the broken part raises
        raise InputError(f"samples can't be read: {first_line(error)}", file=path) from None


def _summaries_of(path: str) -> Iterable[dict[str, Any]]:
    if path.endswith(RUNNING):
        return [json.loads(summary) for summary, _ in running_samples(Path(path))]
    found = _read_member(path, "summaries.json")
    if found is None:
        from inspect_ai.log import read_eval_log_sample_summaries

        found = [one.model_dump() for one in read_eval_log_sample_summaries(path)]
    # Where Inspect's runner asked a sample again, the later summary stands.
    return {(str(one["id"]), one["epoch"]): one for one in found}.values()


def read_samples(path: str) -> "Iterator[EvalSample]":
    """Read the samples of the log at a path one at a time, without events, attachments and stores.

    Inspect itself opens the log, and reads its table of contents, for each sample anew.

    Raises:
        Exception: A part can't be read: whatever Inspect, zipfile or zlib raises.
    """
    from inspect_ai.log import EvalSample, read_eval_log_samples

    def sample(content: bytes) -> EvalSample:
        found = json.loads(content)
        return EvalSample.model_validate({key: found[key] for key in found if key not in _UNREAD})

    if path.endswith(RUNNING):
        yield from (sample(whole) for _, whole in running_samples(Path(path)))
        return
    with _open(path) as opened:
        if is_zipfile(opened):
            archive = ZipFile(opened)
            names = (name for name in archive.namelist() if name.startswith("samples/"))
            yield from (sample(archive.read(name)) for name in dict.fromkeys(names))
            return
    # A log in Inspect's form of JSON.
    yield from read_eval_log_samples(path, all_samples_required=False)


def _record(found: Mapping[str, Any], header: LogHeader) -> SampleRecord:
    """A sample, by its summary or its whole; a summary was checked when it was written."""
    scores = found.get("scores") or {}
    said: Mapping[str, Any] = next((scores[name] for name in SCORERS if name in scores), {})
    score = None
    if isinstance(values := said.get("value"), Mapping):
        metadata = said.get("metadata") or {}
        score = ScoreRecord(values, said.get("answer"), said.get("explanation"), metadata)
    error = found.get("error")
    # A summary has the message alone.
    error = error["message"] if isinstance(error, Mapping) else error
    return SampleRecord(
        case=str(found["id"]),
        epoch=found["epoch"] if header.part is None else header.part.epoch,
        metadata=found.get("metadata") or {},
        score=score,
        error=error,
        usage=_usage(found.get("model_usage")),
        role_usage=_usage(found.get("role_usage")),
        seconds=found.get("working_time"),
        in_flight=not header.ended and error is not None and error.startswith(CANCELLED),
    )


def _usage(found: Mapping[str, Any] | None) -> dict[str, Usage]:
    return {name: Usage.model_validate(used) for name, used in (found or {}).items()}


# --- attempts at a case, and the logs of a run ----------------------------------------------------

Asked = tuple[str, int]
"""A case and its epoch."""


class Outcome(IntEnum):
    """Outcome of an attempt at a case; of several, the least counts."""

    JUDGED = 0
    STAYED = 1
    """Ended in an error, in a log that ended well: it isn't asked again."""
    OPEN = 2
    """Ended in an error, or without a score, and will be asked again."""


def outcomes_of(header: LogHeader, records: Iterable[SampleRecord]) -> dict[Asked, Outcome]:
    """Outcome of each case of a log, from what it keeps of it."""
    found: dict[Asked, Outcome] = {}
    for one in records:
        if one.judged:
            outcome = Outcome.JUDGED
        elif header.ended and one.error is not None:
            outcome = Outcome.STAYED
        elif one.in_flight:
            continue
        else:
            outcome = Outcome.OPEN
        asked = one.case, one.epoch
        found[asked] = min(outcome, found.get(asked, outcome))
    return found


def counting(logs: Sequence[Mapping[Asked, Outcome]]) -> list[dict[Asked, Outcome]]:
    """Attempts that count: one rule, for reading a run and for going on with it.

    The first judgement of a case counts. Where there is none, the first error that stays counts,
    else the first other error.

    Args:
        logs: Outcomes of all logs of a run, in the order in which they were made.

    Returns:
        What counts of each log; no case is in two of them.
    """
    best: dict[Asked, tuple[Outcome, int]] = {}
    for place, log in enumerate(logs):
        for asked, outcome in log.items():
            best[asked] = min((outcome, place), best.get(asked, (outcome, place)))
    return [
        {asked: outcome for asked, outcome in log.items() if best[asked] == (outcome, place)}
        for place, log in enumerate(logs)
    ]


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
        found = [outcomes_of(header, read_records(header)) for header in self.logs]
        settled = {asked for one in found for asked in one if one[asked] is not Outcome.OPEN}
        return self.planned is not None and len(settled) >= self.planned

    @property
    def stopped(self) -> str | None:
        """Reason why it did not end, without a provider's own words; None where it did."""
        if self.complete:
            return None
        ended = [one.log.status for one in self.logs if not one.ended]
        return _STOPS[ended[-1]] if ended else "its logs don't hold every case"

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


# --- going on -------------------------------------------------------------------------------------


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
