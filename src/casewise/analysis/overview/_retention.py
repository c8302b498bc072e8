"""Whether what a context does lasts when much is said after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from casewise.analysis._ablation import AblationChange
from casewise.analysis._report import ScoreRow
from casewise.analysis._score import Score
from casewise.errors import UsageError
from casewise.protocols import find_variation

_SAME = ("model", "protocol", "delivery", "ablation")


@dataclass(frozen=True, slots=True)
class RetentionPoint:
    """A run with talk or text of some length between context and query."""

    tokens: int
    """About how many; 0 is the same conversation without the talk."""
    score: Score
    change: AblationChange | None
    """Against the plain run of the same cases, where there is one."""


@dataclass(frozen=True, slots=True)
class Retention:
    """One model's runs by the length of what stands between context and query."""

    condition: dict[str, Any]
    """Of the first of them."""
    family: str
    """``filler`` (turns) or ``text`` (one pasted text)."""
    points: tuple[RetentionPoint, ...]
    """By tokens, upwards."""


def retentions(rows: Sequence[ScoreRow]) -> list[Retention]:
    """Gather the rows whose variation has a size."""
    families: dict[tuple[object, ...], list[RetentionPoint]] = {}
    for row in rows:
        found = _size(row.score.condition)
        if found is None:
            continue
        family, tokens = found
        key = (*(row.score.condition[name] for name in _SAME), family)
        families.setdefault(key, []).append(RetentionPoint(tokens, row.score, row.change))
    return [
        Retention(
            points[0].score.condition,
            str(key[-1]),
            tuple(sorted(points, key=lambda point: point.tokens)),
        )
        for key, points in families.items()
    ]


def variation_of(condition: Mapping[str, Any]) -> str | None:
    """The variation in a condition's variant; None without one."""
    parts = str(condition["variant"] or "").split(";")
    return next((part.removeprefix("vary=") for part in parts if part.startswith("vary=")), None)


def _size(condition: Mapping[str, Any]) -> tuple[str, int] | None:
    name = variation_of(condition)
    if name is None:
        return None
    try:
        found, tokens = find_variation(name)
    except UsageError:  # of a table that another version, or another tool, has written
        return None
    return (found.name, tokens) if found.sized else None
