"""Balance of a design: how evenly blocks hold queries, arms and categories."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from casewise.cases import Case
from casewise.sheets import UNDEFINED, number, percent, setting
from casewise.statistics import FloatArray, IntArray
from casewise_study.study.block_design import category_codes, query_codes
from casewise_study.study.schema import Arm, Study

MOST_CELLS = 2000
"""Beyond this many the efficiency is not worked out: its time grows with their third power."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least, the mean and the most of something."""

    least: float
    mean: float
    most: float

    @property
    def words(self) -> str:
        """From the least to the most, or the one number that all are."""
        if math.isnan(self.least):
            return UNDEFINED
        least, most = setting(self.least), setting(self.most)
        return least if least == most else f"{least} to {most}"


@dataclass(frozen=True, slots=True)
class Balance:
    """Balance of a design; each range is over the blocks or pairs that it names."""

    blocks: int
    cells: int
    queries: int
    categories: int
    size: Range
    """Cases a block."""
    votes: Range
    """Blocks a cell: the quota."""
    repeated: int
    """Blocks that hold a query twice; 0 in a sound design."""
    arms: dict[Arm, Range]
    """Cases of each arm a block."""
    arms_apart: int
    """The greatest difference between two arms' counts in a block."""
    category_share: Range
    """The greatest share of one category in a block, 0..1."""
    category_off: float
    """Distance, in cases, of a block's count of a category from its even share, at most."""
    met: Range
    """Number of people who judge both queries of a pair of queries (concurrence)."""
    never_met: float
    """Share of the pairs of queries that nobody judges both of, 0..1."""
    efficiency: float
    """Share of the information about differences between cells that is left as people differ in
    leniency, 0..1: the harmonic mean of the canonical efficiency factors (James and Wilkinson 1971,
    doi:10.1093/biomet/58.2.279; John and Williams 1995, Cyclic and Computer Generated Designs). 0
    where the blocks fall into parts without a common cell; NaN above ``MOST_CELLS`` cells, or for
    one cell alone."""
    efficiency_bound: float
    """Bound that no design of as many cells and so large blocks exceeds: (1 - 1/size)/(1 -
    1/cells)."""


def balance(study: Study, cases: Sequence[Case]) -> Balance:
    """Measure how even a study's blocks are.

    Args:
        study: With its design.
        cases: Of its cells, in their order, as ``study_cases`` gives them.
    """
    design = study.design
    sizes = np.array([len(block) for block in design.blocks])
    cell = np.concatenate(design.blocks)
    block = np.repeat(np.arange(len(sizes)), sizes)
    queries = query_codes(cases)
    category = category_codes(cases, queries)[queries]
    arm = np.array([study.arms.index(cell.arm) for cell in design.cells])
    # Loaded late: it takes longer than all that a command without it does.
    from scipy.sparse import csr_array

    def held(codes: IntArray, number: int) -> Any:
        """(blocks, codes) how many cells of each code a block has."""
        ones = np.ones(len(cell), np.int64)
        table = csr_array((ones, (block, codes[cell])), shape=(len(sizes), number))
        table.sum_duplicates()
        return table

    asked, categories = int(queries.max()) + 1, int(category.max()) + 1
    by_query, by_arm = held(queries, asked), held(arm, len(study.arms)).toarray()
    by_category = held(category, categories).toarray()
    even = np.outer(sizes, by_category.sum(axis=0) / len(cell))
    met, never = _meetings(by_query)
    return Balance(
        blocks=len(sizes),
        cells=len(design.cells),
        queries=asked,
        categories=categories,
        size=_range(sizes),
        votes=_range(np.bincount(cell, minlength=len(design.cells))),
        repeated=int((by_query.max(axis=1).toarray() > 1).sum()),
        arms={arm: _range(by_arm[:, place]) for place, arm in enumerate(study.arms)},
        arms_apart=int(np.ptp(by_arm, axis=1).max()),
        category_share=_range(by_category.max(axis=1) / sizes),
        category_off=float(abs(by_category - even).max()),
        met=met,
        never_met=never,
        efficiency=_efficiency(block, cell, sizes, len(design.cells)),
        efficiency_bound=efficiency_bound(float(sizes.mean()), len(design.cells)),
    )


def _range(values: IntArray | FloatArray) -> Range:
    return Range(float(values.min()), float(values.mean()), float(values.max()))


def _meetings(held: Any) -> tuple[Range, float]:
    """(blocks, queries) -> how often pairs of queries meet, and the share that never does."""
    count = held.shape[1]
    if count < 2:
        return Range(math.nan, math.nan, math.nan), math.nan
    # Sparse, as the table of all pairs may not fit into memory.
    meets = (held.T @ held).tocoo()
    times = meets.data[meets.row < meets.col]
    pairs = count * (count - 1) // 2
    least = float(times.min()) if len(times) == pairs else 0.0
    most = float(times.max()) if len(times) else 0.0
    return Range(least, float(times.sum()) / pairs, most), 1 - len(times) / pairs


def _efficiency(block: IntArray, cell: IntArray, sizes: IntArray, cells: int) -> float:
    if not 2 <= cells <= MOST_CELLS:
        return math.nan
    held = np.zeros((len(sizes), cells))
    held[block, cell] = 1
    votes = held.sum(axis=0)
    if not votes.all():
        return math.nan
    scaled = held / np.sqrt(sizes)[:, None] / np.sqrt(votes)[None, :]
    factors = 1 - np.linalg.eigvalsh(scaled.T @ scaled)[:-1]
    # The greatest eigenvalue, 1, is that of the overall mean.
    return 0.0 if factors.min() < 1e-9 else float(len(factors) / (1 / factors).sum())


def efficiency_bound(size: float, cells: int) -> float:
    """The efficiency that no design of so many cells in blocks of this size exceeds, 0..1."""
    return (1 - 1 / size) / (1 - 1 / cells) if cells > 1 else math.nan


def balance_lines(measured: Balance) -> list[tuple[str, str, str]]:
    """Lines on what is even, how much so, and the options of a plan that decide it."""
    arms = [
        (f"cases of arm {arm} a person", cases.words, "--arms, --tasks")
        for arm, cases in measured.arms.items()
    ]
    share = measured.category_share
    return [
        ("votes a case", measured.votes.words, "--votes"),
        ("cases a person", measured.size.words, "--tasks"),
        ("people who see a query twice", str(measured.repeated), ""),
        *arms,
        (
            "greatest share of a category",
            Range(round(share.least, 2), share.mean, round(share.most, 2)).words,
            f"{measured.categories} categories, --tasks",
        ),
        ("a category off its share by", f"{number(measured.category_off, 2)} cases at most", ""),
        (
            "people on both of two queries",
            f"{measured.met.words}, mean {number(measured.met.mean, 1)}",
            "--votes, --tasks",
        ),
        ("pairs of queries never met", percent(measured.never_met), "--votes, --tasks"),
        (
            "efficiency of the blocks",
            f"{number(measured.efficiency)} of {number(measured.efficiency_bound)}",
            "--tasks",
        ),
    ]
