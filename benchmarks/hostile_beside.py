"""Intervals beside bootstraps of queries: ``make hostile`` writes the table.

    python benchmarks/hostile_beside.py ../shared/data --write

The populations are those of ``hostile.py``. A study's queries are drawn again with replacement: the
percentile interval takes the quantiles of the figure in these draws, the studentised one those of
its distance from the study's figure in its own standard errors (Efron & Tibshirani 1993, An
Introduction to the Bootstrap, chapters 12 and 13).
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np
from hostile import DOCS, PARTS, QUICK, Figure, Ground, by_name, file_of, kind_of, three

BEGIN, END = "<!-- beside -->", "<!-- end of beside -->"

DRAWS = 100
"""Draws of a study's queries."""

Pair = tuple[float, float]


@dataclass(frozen=True)
class Beside:
    """Intervals of one kind, added up: how many, how many held the truth, and their widths."""

    intervals: int = 0
    held: int = 0
    width: float = 0.0
    percentile_held: int = 0
    percentile_width: float = 0.0
    studentised: int = 0
    """Intervals with a studentised one beside them; and the widths of those."""
    beside_width: float = 0.0
    studentised_held: int = 0
    studentised_width: float = 0.0

    def __add__(self, other: "Beside") -> "Beside":
        return Beside(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def bootstraps(one: Figure, again: list[Figure]) -> tuple[Pair, Pair]:
    """The percentile and the studentised interval of a figure from its draws.

    A figure without a standard error has no studentised one: NaN.
    """
    values = np.array([drawn.value for drawn in again])
    errors = np.array([getattr(drawn, "se", math.nan) for drawn in again])
    values, errors = values[(known := np.isfinite(values))], errors[known]
    if not len(values):
        return (math.nan, math.nan), (math.nan, math.nan)
    low, high = np.quantile(values, [0.025, 0.975])
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (values - one.value) / errors
    far = far[np.isfinite(far)]
    se = getattr(one, "se", math.nan)
    least, most = np.quantile(far, [0.025, 0.975]) if len(far) else (math.nan, math.nan)
    return (float(low), float(high)), (one.value - most * se, one.value - least * se)


def counted(one: Figure, again: list[Figure], truth: float) -> Beside:
    """One figure of one study; nothing where it or the percentile interval is missing."""
    slack = 1e-9 * max(1.0, abs(truth))

    def count(interval: Pair) -> tuple[int, float]:
        low, high = interval
        return int(low - slack <= truth <= high + slack), high - low

    percentile, studentised = bootstraps(one, again)
    if not (one.interval[0] <= one.interval[1] and percentile[0] <= percentile[1]):
        return Beside()
    found = Beside(1, *count(one.interval), *count(percentile))
    if not studentised[0] <= studentised[1]:
        return found
    return found + Beside(0, 0, 0.0, 0, 0.0, 1, found.width, *count(studentised))


def studies(
    population: Ground, queries: int, times: int, seed: int
) -> Iterator[tuple[str, Beside]]:
    """Each figure of each study by its kind."""
    truths = {name: one.value for name, one in population.figures().items()}
    rng = np.random.default_rng([seed, queries])
    for _ in range(times):
        study = population.study(rng.integers(population.queries, size=queries), None)
        own = study.figures()
        draws = rng.integers(queries, size=(DRAWS, queries))
        again = [study.study(drawn, None).figures() for drawn in draws]
        for name, one in own.items():
            known = [drawn[name] for drawn in again if name in drawn]
            if math.isfinite(truth := truths.get(name, math.nan)):
                yield kind_of(name), counted(one, known, truth)


def of_cell(
    data: Path, folder: Path, name: str, queries: int, times: int, seed: int
) -> dict[str, Beside]:
    """Sums by kind of one population at one size, from its file if there is one."""
    file = file_of(folder, (name, queries))
    if not file.exists():
        sums: dict[str, Beside] = {}
        for kind, one in studies(by_name(data)[name], queries, times, seed):
            sums[kind] = sums.get(kind, Beside()) + one
        file.write_text(json.dumps({kind: astuple(one) for kind, one in sums.items()}), "utf-8")
    return {kind: Beside(*one) for kind, one in json.loads(file.read_text("utf-8")).items()}


def share(held: int, intervals: int) -> str:
    return three(held / intervals) if intervals else ""


def ratio(width: float, other: float) -> str:
    return f"{width / other:.2f}" if other else ""


def table(sums: dict[tuple[str, int], Beside]) -> list[str]:
    """A row a kind and size: what held, and how much wider than the bootstraps' ours are."""
    lines = [
        "| kind | queries | intervals | held | percentile | studentised "
        "| wider than percentile | than studentised |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for (kind, queries), one in sorted(sums.items()):
        row = [
            share(one.held, one.intervals),
            share(one.percentile_held, one.intervals),
            share(one.studentised_held, one.studentised),
            ratio(one.width, one.percentile_width),
            ratio(one.beside_width, one.studentised_width),
        ]
        if one.intervals:
            lines.append(f"| {kind} | {queries} | {one.intervals} | " + " | ".join(row) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the published runs")
    parser.add_argument("--studies", type=int, default=2, help="studies of a population and size")
    parser.add_argument("--cells", type=Path, default=Path("build/beside"), help="folder of cells")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the table into the document")
    chosen = parser.parse_args()
    folder = chosen.cells / f"{chosen.studies}-{chosen.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    work = partial(of_cell, chosen.data, folder, times=chosen.studies, seed=chosen.seed)
    sums: dict[tuple[str, int], Beside] = {}
    for *_, grounds in PARTS.values():
        for queries in QUICK:
            for name in [one.name for one in grounds(chosen.data)]:
                for kind, one in work(name=name, queries=queries).items():
                    sums[kind, queries] = sums.get((kind, queries), Beside()) + one
    lines = table(sums)
    text = "\n".join(
        [
            f"{chosen.studies} studies of each population at each size (seed {chosen.seed}), "
            f"{DRAWS} draws of each study's queries.",
            "",
            *lines,
        ]
    )
    print(text)
    if chosen.write:
        document = DOCS.read_text("utf-8")
        start, end = document.index(BEGIN) + len(BEGIN), document.index(END)
        DOCS.write_text(f"{document[:start]}\n\n{text}\n\n{document[end:]}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
