"""The words and cells that every table of scores shares."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from casewise.analysis import Score
from casewise.cases import GROUPS
from casewise.reporting._wording import wording
from casewise.sheets import Cell, Column, Kind

ScoreColumn = tuple[Column, Callable[[Score], Cell]]
"""A column, and what makes its cells."""

_HEADS = {
    "accuracy": "accu-\nracy",
    "safe_recall": "recall\nsafe",
    "unsafe_recall": "recall\nunsafe",
    "f1_safe": "F1\nsafe",
    "f1_unsafe": "F1\nunsafe",
    "pcc": "PCC",
    "bce": "BCE",
    "brier": "Brier",
}

_CONTEXT_HEADS = {
    "within_pcc_safe": "PCC in\nsafe",
    "within_pcc_unsafe": "PCC in\nunsafe",
    "ece": "ECE",
    "both_right": "both\nright",
    "rank_accuracy": "ranked\nright",
    "adapts": "adapts",
    "always_safe": "always\nsafe",
    "always_unsafe": "always\nunsafe",
    "inverted": "in-\nverted",
}
"""What the two contexts of a query do, and how answers follow labels within one context type."""


def named(condition: Mapping[str, Any]) -> str:
    """A model and its condition: ``openai/gpt-4o (binary, none)``."""
    return f"{condition['model']} ({describe_condition(dict(condition))})"


def condition_text(score: Score) -> str:
    """A condition in few words: ``score``, ``probability, none``, ``binary, without recipient``."""
    return describe_condition(score.condition)


def describe_condition(condition: dict[str, str | None]) -> str:
    """A condition in few words."""
    parts = [condition["protocol"] or "?"]
    if condition["delivery"] not in (None, "judge"):
        parts.append(str(condition["delivery"]))
    if condition["ablation"]:
        removed = condition["ablation"].split(",")
        whole = set(GROUPS) <= set(removed)
        parts.append("context emptied" if whole else f"without {', '.join(removed)}")
    parts += [
        one.replace("=", " ")
        for one in (condition["variant"] or "").split(";")
        if one not in _USUAL
    ]
    return ", ".join(parts)


_USUAL = ("", "greedy", "published")


def baseline_text(score: Score) -> str:
    """A baseline's name in plain words."""
    name = str(score.condition["model"]).removeprefix("baseline:").replace("-", " ")
    if "of" in score.condition:
        return f"{name}: {score.condition['of']} ({condition_text(score)})"
    return name


def title(scores: Sequence[Score]) -> str:
    """What the scores are measured against, and what unread answers count as."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    against = wording(*scores).against
    policies = " and ".join(dict.fromkeys(str(score.unparsed) for score in scores))
    return f"Against {against} (labels: {rules}; unread answers: {policies})"


def number_columns(*, wide: bool) -> list[ScoreColumn]:
    """The columns of numbers; narrow tables leave F1 out."""
    metrics = [name for name in _HEADS if wide or not name.startswith("f1")]
    return [
        (Column("n", Kind.COUNT), lambda score: score.n),
        (Column("read", Kind.SHARE), lambda score: score.coverage),
        measure_column("accuracy", _HEADS["accuracy"]),
        margin_column("accuracy"),
        *(measure_column(name, _HEADS[name]) for name in metrics if name != "accuracy"),
    ]


def context_columns(*, wide: bool) -> list[ScoreColumn]:
    """The columns of what the contexts do; narrow tables leave out what the others tell."""
    metrics = [name for name in _CONTEXT_HEADS if wide or name not in ("ece", "inverted")]
    return [
        (Column("pairs", Kind.COUNT), lambda score: score.pairs),
        *(measure_column(name, _CONTEXT_HEADS[name]) for name in metrics),
    ]


def measure_column(name: str, heading: str) -> ScoreColumn:
    """A column of a measure."""
    return Column(heading, Kind.NUMBER), lambda score: score.measures[name].value


def margin_column(name: str) -> ScoreColumn:
    """A column of half the width of a measure's interval."""
    return Column("±\n95 %", Kind.NUMBER), lambda score: score.measures[name].margin


def group_text(score: Score) -> str:
    """The value that a split stands for; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())
