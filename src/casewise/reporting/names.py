"""Short names of runs."""

from collections import Counter
from collections.abc import Sequence

from casewise.protocols import RunCondition


def run_names(conditions: Sequence[RunCondition]) -> list[str]:
    """Short names of runs, no two alike: the model, and what of its condition not all runs share.

    What all models' names begin with is cut, up to a slash; runs alike by all this get numbers.
    """
    parts = [one.text.split(", ") for one in conditions]
    shared = set.intersection(*map(set, parts)) if parts else set()
    cut = _common_folder({one.model for one in conditions})
    names = []
    for condition, words in zip(conditions, parts, strict=True):
        own = ", ".join(word for word in words if word not in shared)
        model = condition.model[cut:]
        names.append(f"{model} ({own})" if own else model)
    counts, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return numbered


def _common_folder(models: set[str]) -> int:
    """Length of the folder that all names begin with; 0 of a single name."""
    if len(models) < 2:
        return 0
    first, last = min(models), max(models)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first.rfind("/", 0, same) + 1
