"""The sample that is being asked, as the layers below Inspect's models see it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inspect_ai.event import ModelEvent
from inspect_ai.model import ModelOutput, ModelUsage

from casewise.evaluation.seam import use_model_event_sink

if TYPE_CHECKING:
    from casewise.evaluation._answer_journal import AnswerJournal

Usage = dict[str, ModelUsage]
"""By model."""


@dataclass(slots=True)
class Underway:
    """One attempt at one sample."""

    cell: str
    """The condition's name, the same in every start."""
    sample: str
    epoch: int
    journal: "AnswerJournal | None"
    """Where answers are kept until a log holds them."""
    grading: bool = False
    """Whether what is asked now is asked of the grader."""
    events: list[ModelEvent] = field(default_factory=list)
    """Of all requests, earlier attempts' too, as Inspect tells of them."""
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
        """What the grader used; None where none was asked."""
        graded = ((model, answer) for model, answer, by_grader in self.answers if by_grader)
        return next(iter(_sum(("", answer) for _, answer in graded).values()), None)

    @property
    def seconds(self) -> float:
        """That answers took, without waiting for a connection or after a failed attempt."""
        return sum(answer.time or 0.0 for _, answer, _ in self.answers)


def _sum(answers: Iterable[tuple[str, ModelOutput]]) -> Usage:
    sums: Usage = {}
    for model, answer in answers:
        if answer.usage is not None:
            sums[model] = sums[model] + answer.usage if model in sums else answer.usage
    return sums


_underway: ContextVar[Underway | None] = ContextVar("casewise_underway", default=None)


def underway() -> Underway | None:
    """What the current task asks; None outside of a run."""
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
