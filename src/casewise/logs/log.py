"""One log: its header and samples, written while a run asks, and read by whoever scores it.

While a log grows it is a file of lines beside its place, ``NAME.running``: the header, then for
each sample its summary and itself, with a tab between. A process that is killed loses no line that
was written. At its end, or when the next start sets it in order, it becomes Inspect's ``.eval``
file.

Inspect, which takes a second to import, is asked for what only it can read: logs in its form of
JSON, those of its own killed processes, and the messages of whole samples. Headers and summaries
are read from the archive in less than a fifth of its time: it shortens every text of a summary
when it writes it, and again when it reads it.
"""

import json
import logging
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from errno import EIO
from itertools import islice
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import IO, TYPE_CHECKING, Any, Literal, Union
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, is_zipfile

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from casewise.cases import turn_text
from casewise.errors import InputError, first_line
from casewise.files import (
    Journal,
    address_of,
    check_archive,
    is_elsewhere,
    journal_lines,
    new_file,
)
from casewise.logs.names import CANCELLED, GENERATE, ORDER, RUNNING, SCORERS, SHARD
from casewise.protocols import RunCondition

if TYPE_CHECKING:
    from inspect_ai.log import (
        EvalError,
        EvalPlan,
        EvalResults,
        EvalSample,
        EvalSampleSummary,
        EvalSpec,
        EvalStats,
    )
    from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage
    from inspect_ai.tool import ToolCall


# --- headers --------------------------------------------------------------------------------------


def without_keys(model_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a model's client without keys, as a log may show them."""
    return {
        name: value
        for name, value in model_args.items()
        if name != "api_key" and not name.startswith("aws_")
    }


def run_identity(
    task: str,
    version: str,
    model: str,
    arguments: Mapping[str, Any],
    model_args: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> str:
    """Identity of all runs of one model under one condition, whatever addresses and limits.

    Args:
        task: Name of the task.
        version: Its version, which ends with a hash of cases and wording.
        model: Name of the model.
        arguments: Arguments of the task; one that is None counts as not given, a file by the
            version's hash, and the number of cases not at all.
        model_args: Arguments of the model's client.
        settings: Settings of the generation, beside those of the sampling.
    """
    compared_arguments = {
        name: version if isinstance(value, str) and Path(value).is_absolute() else value
        for name, value in arguments.items()
        if value is not None and name != "limit"
    }
    parts = (task, version, model, compared_arguments, without_keys(model_args), settings)
    return json.dumps(parts, sort_keys=True, default=str)


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
    task_args_passed: dict[str, Any] = {}
    dataset: dict[str, Any]
    model: str
    model_base_url: str | None = None
    model_args: dict[str, Any] = {}
    config: dict[str, Any]
    packages: dict[str, str] = {}
    metadata: dict[str, Any] | None = None


class LogHeader(_Record):
    """Header of one log."""

    path: Path
    status: str = "started"
    eval: Spec
    plan: dict[str, Any] = {}
    results: dict[str, Any] | None = None
    stats: dict[str, Any] = {}

    @property
    def part(self) -> Part | None:
        """Place in the run; None of a log that is whole by itself."""
        shard = self.metadata.get(SHARD)
        return None if shard is None else Part(**shard)

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata that casewise wrote of the run."""
        return self.eval.metadata or {}

    @property
    def model(self) -> str:
        """The model under test."""
        return self.eval.model

    @property
    def identity(self) -> str:
        """Identity of its run; see ``run_identity``."""
        spec = self.eval
        version, settings = str(spec.task_version), self.metadata.get(GENERATE) or {}
        parts = spec.task, version, spec.model, spec.task_args_passed, spec.model_args
        return run_identity(*parts, settings)

    @property
    def run(self) -> str:
        """Id that all attempts at one task, and all parts of a run, share."""
        return self.part.run if self.part is not None else self.eval.task_id

    @property
    def order(self) -> int:
        """The place of its model and condition in the run; -1 where the log doesn't say."""
        order: int = self.metadata.get(ORDER, -1)
        return order

    @property
    def age(self) -> tuple[str, str]:
        """Sort key of logs: the time at which they were made, and their id."""
        return self.eval.created, self.eval.eval_id

    @property
    def ended(self) -> bool:
        """Tell whether it ended well."""
        return self.status == "success"

    @property
    def planned(self) -> int | None:
        """Judgements of the whole run, over all epochs; None where the log doesn't say."""
        if self.part is not None:
            return self.part.of
        return len(self.places) * (self.eval.config.get("epochs") or 1) or None

    @property
    def condition(self) -> RunCondition:
        """Condition as the log tells it, without the run's id."""
        return RunCondition.of_row({**self.metadata, "model": self.model})

    @property
    def places(self) -> dict[str, int]:
        """Places of the samples in the whole run, by their ids."""
        ids = [str(id_) for id_ in self.eval.dataset.get("sample_ids") or ()]
        return dict(zip(ids, self.part.places if self.part else range(len(ids)), strict=False))


def read_header(path: Path) -> LogHeader:
    """Read a log's header.

    Raises:
        InputError: The file is no log, is cut short, or belongs to another task.
    """
    path = path_now(path)
    if not is_elsewhere(path):
        check_archive(path)
    try:
        header = LogHeader.model_validate(header_fields(path) | {"path": path})
    except Exception as error:  # Inspect raises whatever the broken part raises
        raise InputError(f"not a readable Inspect log: {first_line(error)}", file=path) from None
    if "casewise" not in header.metadata:
        raise InputError(
            "a log of another task",
            file=path,
            found=header.eval.task,
            expected="a log of casewise run or of inspect eval casewise/judge",
        )
    return header


def path_now(path: Path) -> Path:
    """Place of a log that may have ended since its folder was read."""
    ended = path.with_suffix(".eval")
    return ended if path.suffix == RUNNING and not path.exists() and ended.exists() else path


def header_fields(path: Path) -> dict[str, Any]:
    """All fields of a log's header, as Inspect names them.

    Raises:
        Exception: It can't be read.
    """
    path = path_now(path)
    if path.suffix == RUNNING:
        return _running_header(path)
    fields: dict[str, Any] | None = _read_member(address_of(path), "header.json")
    if fields is None:
        from inspect_ai.log import read_eval_log

        fields = read_eval_log(address_of(path), header_only=True).model_dump()
    return fields


def _running_header(path: Path) -> dict[str, Any]:
    """Header of a log that grows.

    Raises:
        ValueError: It can't be read.
    """
    header = json.loads(next(journal_lines(path), b""))
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header


def _running_samples(path: Path) -> Iterator[tuple[bytes, bytes]]:
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
    with _open(path) as file:
        if not is_zipfile(file):
            return None
        with ZipFile(file) as archive, suppress(KeyError, NotImplementedError):
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

    file: AbstractContextManager[IO[bytes]] = fsspec.open(path, "rb")
    return file


def check_whole(path: Path) -> None:
    """Check that a log is whole and as it was written.

    Raises:
        InputError: It is not.
    """
    try:
        with ZipFile(path) as archive:
            if archive.testzip() is None:
                return
    except (BadZipFile, EOFError, NotImplementedError, zlib.error):
        pass
    raise InputError(DAMAGED, file=path)


DAMAGED = "can't be read: move it away, and what it held is judged again"


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
    path = address_of(path_now(header.path))
    try:
        if not whole:
            yield from (_record(summary, header) for summary in _summaries_of(path))
            return
        for sample in read_samples(path):
            messages = tuple((message.role, message.text) for message in sample.messages)
            record = _record(sample.model_dump(exclude={"messages", "output"}), header)
            yield replace(record, messages=messages)
    except Exception as error:  # whatever the broken part raises
        raise InputError(f"samples can't be read: {first_line(error)}", file=path) from None


def _summaries_of(path: str) -> Iterable[dict[str, Any]]:
    if path.endswith(RUNNING):
        return [json.loads(summary) for summary, _ in _running_samples(Path(path))]
    summaries = _read_member(path, "summaries.json")
    if summaries is None:
        from inspect_ai.log import read_eval_log_sample_summaries

        summaries = [summary.model_dump() for summary in read_eval_log_sample_summaries(path)]
    # Where Inspect's runner asked a sample again, the later summary stands.
    return {(str(summary["id"]), summary["epoch"]): summary for summary in summaries}.values()


def read_samples(path: str) -> "Iterator[EvalSample]":
    """Read the samples of the log at a path one at a time, without events, attachments and stores.

    Inspect itself opens the log, and reads its table of contents, for each sample anew.

    Raises:
        Exception: A part can't be read: whatever Inspect, zipfile or zlib raises.
    """
    from inspect_ai.log import EvalSample, read_eval_log_samples

    def sample(content: bytes) -> EvalSample:
        fields = json.loads(content)
        return EvalSample.model_validate({key: fields[key] for key in fields if key not in _UNREAD})

    if path.endswith(RUNNING):
        yield from (sample(whole) for _, whole in _running_samples(Path(path)))
        return
    with _open(path) as file:
        if is_zipfile(file):
            archive = ZipFile(file)
            names = (name for name in archive.namelist() if name.startswith("samples/"))
            yield from (sample(archive.read(name)) for name in dict.fromkeys(names))
            return
    # A log in Inspect's form of JSON.
    yield from read_eval_log_samples(path, all_samples_required=False)


def _record(fields: Mapping[str, Any], header: LogHeader) -> SampleRecord:
    """A sample, by its summary or its whole; a summary was checked when it was written."""
    scores = fields.get("scores") or {}
    score_fields: Mapping[str, Any] = next((scores[name] for name in SCORERS if name in scores), {})
    score = None
    if isinstance(values := score_fields.get("value"), Mapping):
        metadata = score_fields.get("metadata") or {}
        score = ScoreRecord(
            values, score_fields.get("answer"), score_fields.get("explanation"), metadata
        )
    error = fields.get("error")
    # A summary has the message alone.
    error = error["message"] if isinstance(error, Mapping) else error
    return SampleRecord(
        case=str(fields["id"]),
        epoch=fields["epoch"] if header.part is None else header.part.epoch,
        metadata=fields.get("metadata") or {},
        score=score,
        error=error,
        usage=_usage(fields.get("model_usage")),
        role_usage=_usage(fields.get("role_usage")),
        seconds=fields.get("working_time"),
        in_flight=not header.ended and error is not None and error.startswith(CANCELLED),
    )


def _usage(usages: Mapping[str, Any] | None) -> dict[str, Usage]:
    return {name: Usage.model_validate(used) for name, used in (usages or {}).items()}


# --- writing --------------------------------------------------------------------------------------

LogStatus = Literal["success", "error", "cancelled"]
"""End of a log."""


class LogWriter:
    """Writer of one log.

    Args:
        address: Path or URL of the log, which ends in ``.eval``; its folder exists.
        spec: Task, model and data set of the run.
        plan: Steps and settings of the run.
        clean: Function that all content passes last, such as one that removes keys.

    Raises:
        OSError: It can't be written.
    """

    def __init__(
        self,
        address: str,
        spec: "EvalSpec",
        plan: "EvalPlan",
        clean: Callable[[bytes], bytes] = bytes,
    ) -> None:
        from inspect_ai.log import EvalLog

        self.address = address
        self._spec, self._plan, self._clean = spec, plan, clean
        # Stores of objects have no files that grow.
        folder = mkdtemp(prefix="casewise-") if is_elsewhere(address) else Path(address).parent
        self._path = Path(folder, Path(address).stem + RUNNING)
        self._lines = Journal(self._path)
        self._lines.append(clean(_json(EvalLog(eval=spec, plan=plan))))

    def add(self, sample: "EvalSample") -> None:
        """Add a sample; once this returns, it outlives the process.

        Raises:
            OSError: It could not be written.
        """
        self._lines.append(self._clean(_json(_summary(sample)) + b"\t" + _json(sample)))

    def finish(
        self,
        status: LogStatus,
        results: "EvalResults | None",
        stats: "EvalStats",
        error: "EvalError | None" = None,
    ) -> None:
        """Write the log in Inspect's form.

        Raises:
            OSError: It could not be written; the samples are kept as they are.
        """
        from inspect_ai.log import EvalLog

        self._lines.close()
        log = EvalLog(
            status=status,
            eval=self._spec,
            plan=self._plan,
            results=results,
            stats=stats,
            error=error,
            location=self.address,
        )
        _write_log(self._path, self.address, self._clean(_json(log)))


def end_killed(running: Path) -> None:
    """Write the log of a process that was killed in Inspect's form, as one that was stopped.

    Raises:
        OSError: It could not be written.
        InputError: It can't be read.
    """
    try:
        header = _running_header(running) | {"status": "cancelled"}
        _write_log(running, str(running.with_suffix(".eval")), to_json(header))
    except ValueError:
        raise InputError(DAMAGED, file=running) from None


def _write_log(running: Path, address: str, header: bytes) -> None:
    """Put the lines of a log into Inspect's form, and remove them."""
    if not is_elsewhere(address):
        with new_file(Path(address)) as path:
            _fill(path, running, header)
        with suppress(OSError):
            running.unlink()
        return
    # Only here: it takes a while to import, and logs that stand here don't need it.
    from fsspec.core import url_to_fs

    path = running.with_suffix(".eval")
    _fill(path, running, header)
    try:
        files, place = url_to_fs(address)
        # Whole or not at all, as far as the store can.
        files.put_file(str(path), place)
    except Exception as error:  # whatever its file system raises
        problem = f"can't be written ({first_line(error)}); the log is kept in {path}"
        raise OSError(EIO, problem, address) from None
    rmtree(running.parent, ignore_errors=True)


def _fill(path: Path, running: Path, header: bytes) -> None:
    summaries = []
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for summary, sample in _running_samples(running):
            summaries.append(summary)
            known = json.loads(summary)
            name = f"samples/{known['id']}_epoch_{known['epoch']}.json"
            archive.writestr(name, sample, compresslevel=1)
        archive.writestr("summaries.json", b"[" + b",".join(summaries) + b"]", compresslevel=1)
        archive.writestr("header.json", header)


LONGEST = 1024
"""Characters of a summary's longest text; the same as Inspect's."""


def _summary(sample: "EvalSample") -> "EvalSampleSummary":
    """Inspect's summary, in which answers keep their lines."""
    summary = sample.summary()
    for name, score in (summary.scores or {}).items():
        whole = (sample.scores or {})[name]
        score.answer, score.explanation = _cut(whole.answer), _cut(whole.explanation)
    return summary


def _cut(text: str | None) -> str | None:
    return f"{text[: LONGEST - 3]}..." if text is not None and len(text) > LONGEST else text


def _json(value: object) -> bytes:
    """JSON as Inspect writes it: without what is None, and with NaN for an undefined number."""
    return to_json(value, exclude_none=True, inf_nan_mode="constants", fallback=str)
