"""Fit the weights of the offline reader of replies (``src/casewise/data/reader.npz``).

    python benchmarks/fit_reader.py            # fit, and write the file
    python benchmarks/fit_reader.py --check    # cross-validate, and write nothing

Fitted to the written-from half of tests/data/replies.jsonl and to tests/data/short_replies.jsonl,
which was written for this. The held-out half is never read. Deterministic: no draw but the folds',
whose seeds are fixed.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.model_selection import GroupKFold

from casewise.protocols import ResponseClass
from casewise.protocols.replies._model import (
    CLASSES,
    FILE,
    PLACES,
    PRIOR,
    Fitted,
    chances,
    is_wordy,
    kernel,
    prepared,
    unit,
)
from casewise.protocols.replies._read_reply import Weighed, decide, weigh

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.replies import WRITTEN_FROM, half, load_replies  # noqa: E402

WEIGHT = {"labelled": 1.0, "examples": 1.0, "mixed": 1.0, "oddities": 0.7}
"""What a reply of each origin counts in the fit; the oddities are chosen to be hard."""
PENALTY = 0.1
"""The ridge: what an error costs less than a jagged fit."""
LEAST_SPREAD = 0.05
"""Added to a signal's spread, so that a rare one isn't blown up."""
LEAST_QUERIES = 8
"""A word must stand in replies to this many queries."""
SEEDS = range(3)
FOLDS = 10


@dataclass(frozen=True, slots=True)
class Example:
    query: str
    label: ResponseClass
    origin: str
    read: Weighed | None
    """None where the reader decides without weighing."""

    @property
    def numbers(self) -> dict[str, float]:
        return self.read.features if self.read else {}


def load() -> list[Example]:
    found = [
        _example(one.query, one.reply, one.label, "labelled")
        for one in load_replies()
        if half(one.id) == WRITTEN_FROM
    ]
    lines = (ROOT / "tests/data/short_replies.jsonl").read_text("utf-8").splitlines()
    return found + [_example(**json.loads(line)) for line in lines]


def _example(query: str, reply: str, label: str, origin: str) -> Example:
    read = weigh(reply, query)
    return Example(query, ResponseClass(label), origin, None if isinstance(read, str) else read)


def fit(examples: list[Example]) -> Fitted:
    """What the labelled replies say, by kernel ridge regression."""
    examples = [one for one in examples if one.read]
    signals = sorted({name for one in examples for name in one.numbers if not is_wordy(name)})
    words = _words(examples)
    numbers = np.array([[one.numbers.get(name, 0.0) for name in signals] for one in examples])
    centre, scale = numbers.mean(0).round(PLACES), (numbers.std(0) + LEAST_SPREAD).round(PLACES)
    rows = unit((numbers - centre) / scale).astype(np.float16)
    at = {name: place for place, name in enumerate(words)}
    spoken = [sorted(at[name] for name in one.numbers if name in at) for one in examples]
    sizes = np.array([len(one) for one in spoken])
    has = csr_matrix(
        (np.ones(sizes.sum()), np.concatenate(spoken), np.concatenate([[0], sizes.cumsum()])),
        shape=(len(examples), len(words)),
    )
    cosines = (has @ has.T).toarray() / np.sqrt(np.maximum(1, np.outer(sizes, sizes)))
    alike = kernel(rows.astype(float) @ rows.astype(float).T, cosines)
    weights = np.array([WEIGHT[one.origin] for one in examples])
    meant = np.eye(len(CLASSES))[[CLASSES.index(one.label) for one in examples]] - PRIOR
    says = np.linalg.solve(alike + np.diag(PENALTY / weights), meant)
    return Fitted(
        np.array(signals),
        centre,
        scale,
        np.array(words),
        rows,
        np.concatenate(spoken).astype(np.uint16),
        sizes.astype(np.uint16),
        says.astype(np.float32),
    )


def _words(examples: list[Example]) -> list[str]:
    queries = defaultdict(set)
    for one in examples:
        for name in filter(is_wordy, one.numbers):
            queries[name].add(one.query)
    return sorted(name for name, of in queries.items() if len(of) >= LEAST_QUERIES)


def read(fitted: Fitted, examples: list[Example]) -> list[ResponseClass]:
    """What ``read_reply`` says by this fit."""
    model = prepared(fitted)
    return [
        decide(one.read, chances(one.read.features, model)).response_class
        if one.read
        else ResponseClass.UNDETERMINED
        for one in examples
    ]


def check(examples: list[Example]) -> None:
    """Print agreement out of fold, the folds parted by query."""
    groups = [one.query for one in examples]
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for seed in SEEDS:
        folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(groups, groups=groups):
            fitted = fit([examples[at] for at in train])
            held = [examples[at] for at in test]
            for one, said in zip(held, read(fitted, held), strict=True):
                counts[one.origin][one.label, said] += 1
    for origin, table in counts.items():
        right = sum(n for (label, said), n in table.items() if label == said)
        called = sum(n for (_, said), n in table.items() if said == "refusal")
        true = sum(n for (label, _), n in table.items() if label == "refusal")
        both = table[ResponseClass.REFUSAL, ResponseClass.REFUSAL]
        print(
            f"{origin}: accuracy {right / table.total():.3f}, refusals: precision "
            f"{both / called:.3f}, recall {both / true:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the offline reader of replies.")
    parser.add_argument("--check", action="store_true", help="cross-validate instead")
    examples = load()
    if parser.parse_args().check:
        check(examples)
        return
    np.savez_compressed(ROOT / "src/casewise/data" / FILE, **asdict(fit(examples)))


if __name__ == "__main__":
    main()
