"""The sample that is being asked, and the journal that keeps its answers until a log does.

A log is written a hundred judgements at a time. Before that, each answer goes to a file in the log
folder, under the case, condition, model, epoch and number of the draw, since several draws of one
prompt have an answer each. The next start takes each answer once; a run that ends well removes the
file.

Inspect's own cache does not fit: it takes one answer for all draws, keeps none that a filter
stopped, is shared by all folders, and is made of pickles, which nobody should load from a stranger.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from inspect_ai.event import ModelEvent
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage

from casewise.errors import CasewiseError
from casewise.evaluation.models._faults import holding, make_redactor
from casewise.evaluation.models._seam import use_model_event_sink
from casewise.files import Journal, journal_lines
from casewise.logs import ESTIMATED, TARGETS, message_text

Usage = dict[str, ModelUsage]
"""Tokens by model."""


@dataclass(slots=True)
class Underway:
    """One attempt at one sample."""

    cell: str
    """Name of the condition, the same in every start."""
    sample: str
    epoch: int
    journal: "AnswerJournal | None"
    """Journal of answers that no log holds yet."""
    usual: Mapping[bool, ModelUsage] = field(default_factory=dict)
    """Estimated tokens of a request to the model, and under True to its grader."""
    grading: bool = False
    """True while the grader is asked."""
    events: list[ModelEvent] = field(default_factory=list)
    """Events of all requests, earlier attempts' too, as Inspect records them."""
    answers: list[tuple[str, ModelOutput, bool]] = field(default_factory=list)
    """Answers with the model that gave each, and True if that is the grader. Inspect sets an
    answer's time and cost after it has come, so sums are made when they are asked for."""

    def on_pending(self, event: ModelEvent) -> None:
        """Keep what Inspect tells of a request; it adds the answer to the same event."""
        self.events.append(event)

    def on_complete(self, event: ModelEvent) -> None:
        """Drop the raw request and response, unless the request failed."""
        if event.error is None:
            event.call = None

    @property
    def usage(self) -> Usage:
        """Tokens of all models, the grader's included; estimates under names of their own."""
        return _sum(
            (model, answer.usage)
            if answer.usage is not None or not _was_sent(model, answer)
            else (f"{model}{ESTIMATED}", self.usual.get(by_grader))
            for model, answer, by_grader in self.answers
        )

    @property
    def graders_usage(self) -> ModelUsage | None:
        """Tokens of the grader; None where none was asked."""
        grades = (("", answer.usage) for _, answer, by_grader in self.answers if by_grader)
        return _sum(grades).get("")

    @property
    def seconds(self) -> float:
        """Seconds that answers took, without waiting for a connection or after a failed attempt."""
        return sum(answer.time or 0.0 for _, answer, _ in self.answers)


def _sum(parts: Iterable[tuple[str, ModelUsage | None]]) -> Usage:
    sums: Usage = {}
    for model, used in parts:
        if used is not None:
            sums[model] = sums[model] + used if model in sums else used
    return sums


def _was_sent(model: str, answer: ModelOutput) -> bool:
    """Tell whether an answer is the model's: a provider's filter takes some cases, unpaid."""
    is_stopped = answer.stop_reason in ("content_filter", "model_length")
    return bool(answer.completion) or not is_stopped or model.startswith(TARGETS)


_underway: ContextVar[Underway | None] = ContextVar("casewise_underway", default=None)


def underway() -> Underway | None:
    """Sample that the current task asks; None outside of a run."""
    return _underway.get()


@contextmanager
def asking(sample: Underway) -> Iterator[None]:
    """Ask a sample in the block."""
    # Inspect's transcript looks for what could be shortened in every event, three times each.
    with holding(_underway, sample), use_model_event_sink(sample):
        yield


ANSWERS = "answers.jsonl"
_KEY = 32
"""Letters of a key."""


class AnswerJournal:
    """The answers of one log folder; opened, it adds to those that earlier starts left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.served = 0
        """Answers that an earlier start had asked for."""
        self.failure: OSError | None = None
        """Reason why an answer could not be kept, and the run can't go on."""
        self.times: Counter[bytes] = Counter()
        """Answers that this run has had to each request of one sample."""
        self._forgotten = False
        self._redact = make_redactor()
        self.file = Journal(path)
        self._places: dict[str, tuple[int, int]] = {}
        """Offsets and lengths of the lines of earlier starts, by key."""
        for line in journal_lines(path):
            # A line that a kill cut short seldom ends so; if it does, it is no answer all the same.
            if line.data.endswith(b"}"):
                key = line.data[:_KEY].decode(errors="replace")
                self._places[key] = line.start, len(line.data)

    def close(self) -> None:
        """Close the file, and remove it if it is forgotten."""
        self.file.close()
        if self._forgotten:
            self.path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the file when it is closed: the logs hold all answers."""
        self._forgotten = True

    def take(self, key: str) -> ModelOutput | None:
        """Answer that an earlier start had; given once, so that a failure on it asks anew."""
        place = self._places.pop(key, None)
        if place is None:
            return None
        try:
            answer = ModelOutput.model_validate_json(self.file.read(*place)[_KEY + 1 :])
        except ValueError:
            return None
        self.served += 1
        return answer

    def keep(self, key: str, answer: ModelOutput) -> None:
        """Add an answer; once this returns, it outlives the process."""
        text = self._redact(answer.model_dump_json(exclude_none=True))
        try:
            self.file.append(f"{key} {text}".encode())
        except OSError as error:
            self.failure = error
            # An OSError would be taken for a failed connection, and the request asked again.
            raise CasewiseError(str(error)) from error


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Place of the answer to one request of one sample."""

    journal: AnswerJournal
    request: bytes

    @property
    def name(self) -> str:
        """Key of the next answer: the same in every start."""
        number = self.journal.times[self.request]
        return blake2b(self.request + number.to_bytes(8, "big"), digest_size=_KEY // 2).hexdigest()

    def take(self) -> ModelOutput | None:
        """The answer, if an earlier start had it; the next one is another draw's."""
        answer = self.journal.take(self.name)
        if answer is not None:
            self.journal.times[self.request] += 1
        return answer

    def keep(self, answer: ModelOutput) -> None:
        """Keep the answer; the next one is another draw's."""
        self.journal.keep(self.name, answer)
        self.journal.times[self.request] += 1


def remembered(model: str, messages: Sequence[ChatMessage]) -> JournalPlace | None:
    """Place of the answer to the current sample's request; None where no answers are kept."""
    sample = underway()
    if sample is None or sample.journal is None:
        return None
    said: list[object] = [sample.cell, model, sample.sample, sample.epoch]
    said += [(message.role, message_text(message)) for message in messages]
    request = blake2b(json.dumps(said).encode(), digest_size=16).digest()
    return JournalPlace(sample.journal, request)


@contextmanager
def answers_kept(folder: Path) -> Iterator[AnswerJournal]:
    """Keep answers in a folder while the block runs."""
    with closing(AnswerJournal(folder / ANSWERS)) as journal:
        yield journal
