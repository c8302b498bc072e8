"""Fit the weights of the offline reader of replies (``src/casewise/data/reader.tsv``).

    python benchmarks/fit_reader.py            # fit, and write the file
    python benchmarks/fit_reader.py --check    # cross-validate, and write nothing

Fitted to the written-from half of tests/data/replies.jsonl and to tests/data/short_replies.jsonl,
which was written for this. The held-out half is never read. Deterministic: no draw but the folds',
whose seeds are fixed. Two fits: one over all words, to choose those that count, and one over these.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from casewise.protocols import ResponseClass
from casewise.protocols.replies._features import WORDY
from casewise.protocols.replies._model import CLASSES, FILE, INTERCEPT
from casewise.protocols.replies._read import Weighed, decide, weigh

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.replies import WRITTEN_FROM, half, load_replies  # noqa: E402

WEIGHT = {"labelled": 1.0, "examples": 1.0, "mixed": 1.0, "oddities": 0.7}
"""What a reply of each origin counts in the fit; the oddities are chosen to be hard."""
STRENGTH = 1.0
"""The inverse of the L2 penalty."""
LEAST_QUERIES = 3
"""A word must stand in replies to this many queries."""
KEPT = 2000
"""So many words and pairs are kept."""
SEEDS = range(3)
FOLDS = 10

Array = npt.NDArray[np.float64]


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


def matrix(examples: Iterable[Example], names: list[str]) -> csr_matrix:
    at = {name: column for column, name in enumerate(names)}
    cells = [
        (row, at[name], value)
        for row, one in enumerate(examples)
        for name, value in one.numbers.items()
        if name in at
    ]
    rows, columns, values = zip(*cells, strict=True)
    return csr_matrix((values, (rows, columns)), shape=(max(rows) + 1, len(names)))


def fit(examples: list[Example]) -> tuple[list[str], Array]:
    """The names kept, the intercept first, and their weights by class."""
    examples = [one for one in examples if one.read]
    queries = defaultdict(set)
    for one in examples:
        for name in one.numbers:
            queries[name].add(one.query)
    names = sorted(
        name
        for name, of in queries.items()
        if not name.startswith(WORDY) or len(of) >= LEAST_QUERIES
    )
    cells = matrix(examples, names)
    first = _solve(cells, examples)[1:]
    size = np.sqrt(np.asarray(cells.multiply(cells).mean(0)).ravel())
    worth = (first.max(1) - first.min(1)) * size
    wordy = [at for at, name in enumerate(names) if name.startswith(WORDY)]
    dropped = set(sorted(wordy, key=lambda at: (-worth[at], names[at]))[KEPT:])
    names = [name for at, name in enumerate(names) if at not in dropped]
    return [INTERCEPT, *names], _solve(matrix(examples, names), examples)


def _solve(cells: csr_matrix, examples: list[Example]) -> Array:
    # In the space of the replies, which is smaller than that of the words, with the same solution.
    squares, basis = np.linalg.eigh((cells @ cells.T).toarray())
    kept = squares > 1e-8 * squares.max()
    scale, basis = np.sqrt(squares[kept]), basis[:, kept]
    model = LogisticRegression(C=STRENGTH, max_iter=2000, tol=1e-4)
    model.fit(
        basis * scale,
        [CLASSES.index(one.label) for one in examples],
        sample_weight=[WEIGHT[one.origin] for one in examples],
    )
    return np.vstack([model.intercept_, (model.coef_ / scale @ (basis.T @ cells)).T])


def read(names: list[str], weights: Array, examples: list[Example]) -> list[ResponseClass]:
    """What ``read_reply`` says by these weights."""
    found = []
    rows = {name: at for at, name in enumerate(names)}
    for one in examples:
        if one.read is None:
            found.append(ResponseClass.UNDETERMINED)
            continue
        score = weights[0] + sum(
            value * weights[rows[name]] for name, value in one.numbers.items() if name in rows
        )
        odds = np.exp(score - score.max())
        chances = dict(zip(CLASSES, odds / odds.sum(), strict=True))
        found.append(decide(one.read, chances).response_class)
    return found


def check(examples: list[Example]) -> None:
    """Print agreement out of fold, the folds parted by query."""
    groups = [one.query for one in examples]
    counts: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for seed in SEEDS:
        folds = GroupKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(groups, groups=groups):
            names, weights = fit([examples[at] for at in train])
            held = [examples[at] for at in test]
            for one, said in zip(held, read(names, weights, held), strict=True):
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


def as_text(names: list[str], weights: Array) -> str:
    lines = (
        "\t".join([name, *(f"{weight:.3f}" for weight in row)])
        for name, row in zip(names, weights, strict=True)
    )
    return "\n".join(lines).replace("-0.000", "0.000") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the offline reader of replies.")
    parser.add_argument("--check", action="store_true", help="cross-validate instead")
    examples = load()
    if parser.parse_args().check:
        check(examples)
        return
    (ROOT / "src/casewise/data" / FILE).write_text(as_text(*fit(examples)), "utf-8")


if __name__ == "__main__":
    main()
