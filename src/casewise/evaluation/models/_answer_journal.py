"""The sample that is being asked, and the journal that keeps its answers until a log does.

A log is written a hundred judgements at a time. Each answer goes to a file in the log folder
before anything is made of it, under the case, condition, model, epoch, and how often this sample
has had an answer to the same request: of several draws of one prompt, each has its own. The next
start takes each answer once; a run that ends well removes the file.

Inspect's own cache does not fit: it takes one answer for all draws, keeps none that a filter
stopped, is shared by all folders, and is made of pickles, which nobody should load from a stranger.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from inspect_ai.event import ModelEvent
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage

from casewise.evaluation.models._faults import make_redactor
from casewise.evaluation.models._seam import use_model_event_sink
from casewise.files import Journal, journal_lines
from casewise.logs import message_text

Usage = dict[str, ModelUsage]
"""Tokens by model."""


@dataclass(slots=True)
class Underway:
    """One attempt at one sample."""

    cell: str
    """The condition's name, the same in every start."""
    sample: str
    epoch: int
    journal: "AnswerJournal | None"
    """Journal of answers that no log holds yet."""
    grading: bool = False
    """True if what is asked now is asked of the grader."""
    events: list[ModelEvent] = field(default_factory=list)
    """Events of all requests, earlier attempts' too, as Inspect records them."""
    answers: list[tuple[str, ModelOutput, bool]] = field(default_factory=list)
    """Each with the model that gave it, and whether that is the grader. Inspect sets an answer's
    time and cost after it has come, so sums are made when they are asked for."""

    def on_pending(self, event: ModelEvent) -> None:
        """Keep what Inspect tells of a request; it adds the answer to the same event."""
        self.events.append(event)

    def on_complete(self, event: ModelEvent) -> None:
        """Leave out what was sent and received to the letter, unless it failed."""
        if event.error is None:
            event.call = None

    @property
    def usage(self) -> Usage:
        """All that was used, the grader's included."""
        return _sum((model, answer) for model, answer, _ in self.answers)

    @property
    def graders_usage(self) -> ModelUsage | None:
        """Tokens of the grader; None where none was asked."""
        graded = ((model, answer) for model, answer, by_grader in self.answers if by_grader)
        return next(iter(_sum(("", answer) for _, answer in graded).values()), None)

    @property
    def seconds(self) -> float:
        """Seconds that answers took, without waiting for a connection or after a failed attempt."""
        return sum(answer.time or 0.0 for _, answer, _ in self.answers)


def _sum(answers: Iterable[tuple[str, ModelOutput]]) -> Usage:
    sums: Usage = {}
    for model, answer in answers:
        if answer.usage is not None:
            sums[model] = sums[model] + answer.usage if model in sums else answer.usage
    return sums


_underway: ContextVar[Underway | None] = ContextVar("casewise_underway", default=None)


def underway() -> Underway | None:
    """Conversation that the current task holds; None outside of a run."""
    return _underway.get()


@contextmanager
def asking(sample: Underway) -> Iterator[None]:
    """Ask a sample in the block."""
    token = _underway.set(sample)
    try:
        # Inspect's transcript looks for what could be shortened in every event, three times each.
        with use_model_event_sink(sample):
            yield
    finally:
        _underway.reset(token)


ANSWERS = "answers.jsonl"
_KEY = 32
"""Letters of a key."""


@dataclass(slots=True)
class AnswerJournal:
    """The answers of one log folder."""

    path: Path
    served: int = 0
    """Answers that an earlier start had asked for."""
    failure: OSError | None = None
    """Why an answer could not be kept; then the run can't go on."""
    _places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Places in the file of the answers of earlier starts."""
    _times: Counter[bytes] = field(default_factory=Counter)
    _file: Journal = field(init=False)
    _forgotten: bool = False
    _redact: Callable[[str], str] = field(default_factory=make_redactor)

    def open(self) -> None:
        """Find what earlier starts left, and make ready to add."""
        self._file = Journal(self.path)
        for line in journal_lines(self.path):
            # What a kill tore off seldom ends so; if it does, it is no answer all the same.
            if line.data.endswith(b"}"):
                key = line.data[:_KEY].decode(errors="replace")
                self._places[key] = line.start, len(line.data)

    def close(self) -> None:
        """Give the file back, or remove it if it is forgotten."""
        self._file.close()
        if self._forgotten:
            self.path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the file in the end: the logs hold all answers."""
        self._forgotten = True

    def number(self, request: bytes) -> int:
        """Number of answers that this run has had to a request of one sample."""
        return self._times[request]

    def count(self, request: bytes) -> None:
        """The next answer to this request is another draw."""
        self._times[request] += 1

    def take(self, key: str) -> ModelOutput | None:
        """The answer that an earlier start had; once, so that what fails on it asks anew."""
        at, length = self._places.pop(key, (0, 0))
        if not length:
            return None
        try:
            answer = ModelOutput.model_validate_json(self._file.read(at, length)[_KEY + 1 :])
        except ValueError:
            return None
        self.served += 1
        return answer

    def keep(self, key: str, answer: ModelOutput) -> None:
        """Add an answer; the system has it when this returns, whatever becomes of the process."""
        text = self._redact(answer.model_dump_json(exclude_none=True))
        try:
            self._file.append(f"{key} {text}".encode(errors="replace"))
        except OSError as error:
            # Inspect takes what is raised here for the model's fault.
            self.failure = error
            raise


@dataclass(frozen=True, slots=True)
class JournalPlace:
    """Place of the answer to one request of one sample."""

    journal: AnswerJournal
    request: bytes

    @property
    def name(self) -> str:
        """Name of the place: the same in every start."""
        number = self.journal.number(self.request)
        return blake2b(self.request + number.to_bytes(8, "big"), digest_size=_KEY // 2).hexdigest()

    def take(self) -> ModelOutput | None:
        """The answer, if an earlier start had it."""
        answer = self.journal.take(self.name)
        if answer is not None:
            self.journal.count(self.request)
        return answer

    def keep(self, answer: ModelOutput) -> None:
        """Keep the answer."""
        self.journal.keep(self.name, answer)
        self.journal.count(self.request)


def remembered(model: str, messages: Sequence[ChatMessage]) -> JournalPlace | None:
    """The place of what the current sample asks; None outside of a run that keeps answers."""
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
    journal = AnswerJournal(folder / ANSWERS)
    journal.open()
    try:
        yield journal
    finally:
        journal.close()
