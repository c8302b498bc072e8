"""Attempts at a case as a log keeps them, and which one counts of a run's several logs.

Summaries are read in less than a fifth of the time that Inspect takes, which shortens every text
of a summary when it writes it, and again when it reads it: over a million of them that is a
quarter of an hour. Whole samples, too, are read without it: Inspect opens the log, starts an event
loop and reads the table of contents for each sample anew.
"""

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from inspect_ai.log import (
    EvalError,
    EvalLog,
    EvalSample,
    EvalSampleSummary,
    read_eval_log,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
)
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ModelUsage
from inspect_ai.tool import ToolCall

from casewise.cases import turn_text
from casewise.errors import InputError, first_line
from casewise.files import address_of
from casewise.logs._header import LogHeader
from casewise.protocols import RunCondition

SCORERS = ("read_answers", "grade_reply")
"""Names of the scores in a log: of a judge's answer, and of a chatbot's reply."""

GRADER = "grader"
"""The role of the model that grades replies."""

CANCELLED = "CancelledError"
"""Beginning of the error of a sample that was in flight when the run was stopped."""

_SUMMARIES = "summaries.json"
"""Summaries of a log that was ended; the log of a killed run has them in pieces."""

_PIECES = "_journal/summaries/"

_UNREAD = ("events", "events_data", "timelines", "attachments", "store")
"""Fields of a sample that casewise does not read; they are most of its bytes."""


def calls_of(message: ChatMessage) -> list[ToolCall]:
    """Tool calls of an assistant's message; other messages have none."""
    return (message.tool_calls or []) if isinstance(message, ChatMessageAssistant) else []


def message_text(message: ChatMessage) -> str:
    """A message as text, with the assistant's tool calls."""
    calls = calls_of(message)
    return turn_text(message.text, ((call.function, call.arguments) for call in calls))


def input_tokens(usage: ModelUsage) -> int:
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
    usage: Mapping[str, ModelUsage]
    """Tokens by the model that used them."""
    role_usage: Mapping[str, ModelUsage]
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
    path = address_of(header.path)
    try:
        found = read_samples(path, header.log) if whole else _summaries_of(path)
        yield from (_record(one, header) for one in found)
    except (BadZipFile, zlib.error, ValueError, KeyError, OSError) as error:
        raise InputError(f"samples can't be read: {first_line(error)}", file=path) from None


def read_samples(path: str, log: EvalLog) -> Iterator[EvalSample]:
    """Read a log's samples one at a time, without events, attachments and stores.

    Args:
        path: Where the log stands.
        log: Its header.

    Returns:
        Those that the log has, in the order of its data set.

    Raises:
        Exception: A part can't be read: whatever Inspect, zipfile or zlib raises.
    """
    ids, epochs = log.eval.dataset.sample_ids, log.eval.config.epochs or 1
    with _open(path) as opened:
        if ids is not None and is_zipfile(opened):
            archive = ZipFile(opened)
            names = frozenset(archive.namelist())
            asked = (f"samples/{one}_epoch_{n + 1}.json" for one in ids for n in range(epochs))
            for name in filter(names.__contains__, asked):
                found = json.loads(archive.read(name))
                kept = {key: value for key, value in found.items() if key not in _UNREAD}
                yield EvalSample.model_validate(kept)
            return
    # A log in Inspect's form of JSON.
    yield from read_eval_log_samples(path, all_samples_required=False)


def is_readable(path: Path) -> bool:
    """Tell whether a log, be it of another task, is whole and as it was written.

    Raises:
        PermissionError: This process may not read it.
    """
    try:
        with ZipFile(path) as archive:
            if archive.testzip() is not None:
                return False
            _read_summaries(archive)
        read_eval_log(str(path), header_only=True)
    except PermissionError:
        raise
    except Exception:  # Inspect and zlib raise whatever the broken part raises
        return False
    return True


def _summaries_of(path: str) -> Iterable[EvalSampleSummary | dict[str, Any]]:
    try:
        with _open(path) as opened, ZipFile(opened) as archive:
            return _read_summaries(archive)
    except BadZipFile:
        # A log in Inspect's form of JSON.
        return read_eval_log_sample_summaries(path)


def _read_summaries(archive: ZipFile) -> Iterable[dict[str, Any]]:
    names = archive.namelist()
    pieces = [name for name in names if name.startswith(_PIECES) and name.endswith(".json")]
    pieces.sort(key=lambda name: int(name.removeprefix(_PIECES).removesuffix(".json")))
    files = [_SUMMARIES] if _SUMMARIES in names else pieces
    found = (one for name in files for one in json.loads(archive.read(name)))
    # Where Inspect's runner asked a sample again, the later summary stands.
    return {(str(one["id"]), one["epoch"]): one for one in found}.values()


def _open(path: str) -> AbstractContextManager[IO[bytes]]:
    if "://" not in path:
        return Path(path).open("rb")
    # Only here: it takes a while to import, and logs that stand here don't need it.
    import fsspec

    opened: AbstractContextManager[IO[bytes]] = fsspec.open(path, "rb")
    return opened


def _record(
    sample: EvalSample | EvalSampleSummary | dict[str, Any], header: LogHeader
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
    if isinstance(error, EvalError):
        error = error.message
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


def _usage(found: Mapping[str, Any] | None) -> dict[str, ModelUsage]:
    return {
        name: ModelUsage.model_construct(**used) if isinstance(used, dict) else used
        for name, used in (found or {}).items()
    }


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
        error = ended[-1].error
        kind = _KIND.search(error.message) if error else None
        return _STOPS[ended[-1].status] + (f": {kind[1] or kind[2]}" if kind else "")

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

_KIND = re.compile(
    r"(HTTP \d{3} \([a-z ]{3,30}\))|^(rate limited|server error|timeout|connection"
    r"|unreadable answer|answer too long|another model|content filter|authentication"
    r"|request refused|other): "
)
"""Kind of fault in the error of a run; the rest of the error may quote a query."""


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
