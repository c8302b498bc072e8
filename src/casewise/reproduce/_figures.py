"""Published figures beside those that ``casewise score`` makes of the published outputs."""

import importlib.util
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from types import ModuleType

import polars as pl

from casewise.reproduce._work import WORKS, PublishedTable, Work, evaluate, names_in
from casewise.scores import Estimate, Score, Scoring, Split, compare_runs, find_runs, score_table

READER_FILE = "reader.py"
_ROUNDING = 1e-9
"""Slack of a tolerance, for the binary fractions of decimal figures."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure and its recomputed value."""

    row: str
    name: str
    """The authors' name of the figure."""
    published: float
    recomputed: float
    """NaN where the outputs don't have it."""
    tolerance: float
    source: str
    reason: str | None
    """Known reason of a difference."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Source, row and name."""
        return self.source, self.row, self.name

    @property
    def difference(self) -> float:
        """Recomputed less published."""
        return self.recomputed - self.published

    @property
    def is_equal(self) -> bool:
        """Tell whether the two differ by the tolerance at most."""
        return abs(self.difference) <= self.tolerance + _ROUNDING


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """A run's replies by our own reader and by the authors' labels."""

    row: str
    n: int
    unread: int
    """Replies that the reader does not class; the counts below are of the others."""
    labelled: int
    """Refusals by the labels."""
    missed: int
    """Refusals by the labels that the reader calls none."""
    added: int
    """Refusals by the reader that the labels call none."""
    difference: Estimate
    """Share of safe cases refused, by the reader less by the labels, paired."""


@dataclass(frozen=True, slots=True)
class ByReader:
    """Figures of a work by our own reader of replies."""

    figures: Mapping[tuple[str, str, str], float]
    """Values by ``Figure.key``; of runs that are compared none: the replies that both have read are
    others than those with labels."""
    rows: tuple[ReaderRow, ...]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All published figures of a work, recomputed."""

    name: str
    work: Work
    figures: tuple[Figure, ...]
    by_reader: ByReader | None = None
    """The same by our own reader of replies, where that was asked."""

    @property
    def equal(self) -> int:
        """Number of figures that are equal within their tolerance."""
        return sum(one.is_equal for one in self.figures)

    @property
    def explained(self) -> int:
        """Number of figures that differ for a known reason."""
        return len(self.figures) - self.equal - self.unexplained

    @property
    def unexplained(self) -> int:
        """Number of figures that differ without a known reason."""
        return sum(not one.is_equal and one.reason is None for one in self.figures)


def recompute(
    name: str, work: Work, files: Mapping[str, Path], works: Path = WORKS
) -> Reproduction:
    """Recompute the published figures of a work.

    Args:
        name: The work's name.
        work: The work.
        files: Its files by their paths, each checked.
        works: Folder of the works.
    """
    table: pl.DataFrame = load_reader(works, name).read(files)
    return Reproduction(name, work, tuple(figures_of(work, table)))


def figures_of(work: Work, table: pl.DataFrame) -> list[Figure]:
    """Published figures of a work beside those of a judgement table."""
    scoring = work.scoring.scoring()
    scored: dict[Split | None, list[Score]] = {}
    figures: list[Figure] = []
    for one in work.published:
        if one.against:
            figures += _figures(one, _compared(one, table, scoring))
            continue
        if one.split not in scored:
            scored[one.split] = score_table(table, scoring, one.split)
        figures += _figures(one, ((score, {}) for score in scored[one.split]))
    return figures


def load_reader(works: Path, name: str) -> ModuleType:
    """Reader of a work: ``read(files)`` makes its judgement table; some have ``replies(files)``."""
    spec = importlib.util.spec_from_file_location(
        f"casewise_work_{name}", works / name / READER_FILE
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compared(
    one: PublishedTable, table: pl.DataFrame, scoring: Scoring
) -> Iterator[tuple[Score, dict[str, float]]]:
    """Score of each run beside the one that it is compared with, and counts of the cases moved."""
    runs = find_runs({"": table})
    pairs = [
        (before, after)
        for before, after in product(runs, runs)
        if before is not after
        and before.condition.same_but(*one.against) == after.condition.same_but(*one.against)
        and one.against.items() <= dict(before.condition).items()
    ]
    for found in compare_runs(pairs, scoring):
        moved = {"newly_wrong": found.mcnemar.b, "newly_right": found.mcnemar.c}
        yield found.scores[1], {name: float(count) for name, count in moved.items()}


def shown_name(condition: Mapping[str, str | None], keys: Sequence[str]) -> str:
    """Name of a row: the values of its keys."""
    return ", ".join(str(condition[key]) for key in keys if condition.get(key))


def _figures(
    one: PublishedTable, scores: Iterable[tuple[Score, dict[str, float]]]
) -> Iterator[Figure]:
    runs: dict[str, list[dict[str, float]]] = {}
    for score, more in scores:
        name = shown_name({**score.condition, **score.group}, one.keys)
        values = {name: estimate.value for name, estimate in score.measures.items()}
        runs.setdefault(name, []).append({"n": float(score.n)} | values | more)
    for row, published in one.rows.items():
        for (name, formula), value in zip(one.measures.items(), published, strict=True):
            if value is None:
                continue
            absent = dict.fromkeys(names_in(formula), math.nan)
            found = [evaluate(formula, absent | known) for known in runs.get(row, ())]
            recomputed = fmean(found) if found else math.nan
            reason = one.reasons.get(f"{row}, {name}")
            yield Figure(row, name, value, recomputed, one.tolerance, one.source, reason)
