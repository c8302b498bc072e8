"""The words and cells that every table of scores shares."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from casewise.analysis import Estimate, Score
from casewise.cases import GROUPS
from casewise.reporting._wording import wording

Column = tuple[str, Callable[[Score], str]]
"""A head (its lines parted by line ends) and what makes a cell."""

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
    "adapts": "\nadapts",
    "always_safe": "always\nsafe",
    "always_unsafe": "always\nunsafe",
    "inverted": "in-\nverted",
}
"""What the two contexts of a query do, and how answers follow labels within one context type."""


def number(value: float, digits: int = 3) -> str:
    """A number as the field prints it: without a leading zero; a dash where undefined."""
    if value != value:
        return "–"
    if value in (math.inf, -math.inf):
        return "∞" if value > 0 else "-∞"
    text = f"{value:z.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def signed(change: float, digits: int = 3) -> str:
    """A change with its sign, unless it rounds to 0."""
    shown = number(change, digits)
    return f"+{shown}" if change > 0 and shown.strip(".0") else shown


def with_margin(one: Estimate | None) -> str:
    """A figure with half its 95 % interval; a dash where there is none."""
    if one is None:
        return "–"
    shown = number(one.value)
    return shown if one.margin != one.margin else f"{shown} ±{number(one.margin)}"


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


def number_columns(*, wide: bool) -> list[Column]:
    """The columns of numbers; narrow tables leave F1 out."""
    metrics = [name for name in _HEADS if wide or not name.startswith("f1")]
    return [
        ("n", lambda score: str(score.n)),
        ("read", lambda score: number(score.coverage)),
        (_HEADS["accuracy"], partial(_metric_cell, "accuracy")),
        ("±\n95 %", lambda score: number(score.measures["accuracy"].margin)),
        *((_HEADS[name], partial(_metric_cell, name)) for name in metrics if name != "accuracy"),
    ]


def context_columns(*, wide: bool) -> list[Column]:
    """The columns of what the contexts do; narrow tables leave out what the others tell."""
    metrics = [name for name in _CONTEXT_HEADS if wide or name not in ("ece", "inverted")]
    return [
        ("\npairs", lambda score: str(score.pairs)),
        *((_CONTEXT_HEADS[name], partial(_metric_cell, name)) for name in metrics),
    ]


def _metric_cell(name: str, score: Score) -> str:
    return number(score.measures[name].value)


def group_text(score: Score) -> str:
    """The value that a split stands for; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())
