"""Names of runs that tell each from the others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from casewise.reporting._scores import describe_condition


def run_names(conditions: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name a run: its model, and what of its condition the others don't share; else a number."""
    told = [describe_condition(dict(one)).split(", ") for one in conditions]
    shared = set.intersection(*map(set, told)) if told else set()
    names = []
    for condition, parts in zip(conditions, told, strict=True):
        words = ", ".join(part for part in parts if part not in shared)
        names.append(f"{condition['model']} ({words})" if words else str(condition["model"]))
    return _numbered(names)


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number where one stands twice."""
    counts, seen = Counter(names), Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return told
