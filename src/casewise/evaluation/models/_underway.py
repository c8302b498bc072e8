"""The case that is being asked: its requests, and what their answers took."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inspect_ai.model import ModelOutput, ModelUsage

from casewise.evaluation.models.patient import PatientModel
from casewise.logs import ESTIMATED, TARGETS

Usage = dict[str, ModelUsage]
"""Tokens by model."""


@dataclass(slots=True)
class Underway:
    """One attempt at one sample."""

    usual: Mapping[bool, ModelUsage] = field(default_factory=dict)
    """Estimated tokens of a request to the model, and under True to its grader."""
    answers: list[tuple[str, ModelOutput, bool]] = field(default_factory=list)
    """Answers with the model that gave each, and True if that is the grader."""

    def noted(self, model: PatientModel, *, is_grader: bool = False) -> PatientModel:
        """The model, or the grader, whose answers are counted here."""
        return model.noting(lambda output: self.answers.append((model.title, output, is_grader)))

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
