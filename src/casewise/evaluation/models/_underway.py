"""The case that is being asked: its requests, and what their answers took."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from inspect_ai.event import ModelEvent
from inspect_ai.model import ModelOutput, ModelUsage

from casewise.evaluation.models._faults import holding
from casewise.evaluation.models._seam import use_model_event_sink
from casewise.logs import ESTIMATED, TARGETS

Usage = dict[str, ModelUsage]
"""Tokens by model."""


@dataclass(slots=True)
class Underway:
    """One attempt at one sample."""

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
