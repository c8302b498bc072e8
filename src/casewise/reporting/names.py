"""Short names of runs."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

from casewise.protocols import RunCondition


def run_names(conditions: Sequence[RunCondition]) -> list[str]:
    """Short names of runs, no two alike: the model, and what of its condition not all runs share.

    What all models' names begin with is cut, up to a slash; runs alike by all this get numbers.
    """
    parts = [condition.text.split(", ") for condition in conditions]
    shared = set.intersection(*map(set, parts)) if parts else set()
    models = {condition.model for condition in conditions}
    folders = zip(*(model.split("/")[:-1] for model in models if len(models) > 1), strict=False)
    cut = sum(
        len(folder[0]) + 1 for folder in takewhile(lambda level: len(set(level)) == 1, folders)
    )
    names = []
    for condition, words in zip(conditions, parts, strict=True):
        details = ", ".join(word for word in words if word not in shared)
        model = condition.model[cut:]
        names.append(f"{model} ({details})" if details else model)
    counts, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return numbered
