"""Balance of a design: how evenly blocks hold queries, arms and categories."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.cases import Case
from casewise.sheets import setting
from casewise.statistics import FloatArray, IntArray
from casewise_study.study.block_design import category_codes, query_codes
from casewise_study.study.schema import Arm, Study


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most of something."""

    least: float
    most: float

    @classmethod
    def of(cls, values: IntArray | FloatArray) -> "Range":
        """The range of values."""
        return cls(float(values.min()), float(values.max()))

    @property
    def words(self) -> str:
        """From the least to the most, or the one number that all are."""
        least, most = setting(round(self.least, 2)), setting(round(self.most, 2))
        return least if least == most else f"{least} to {most}"


@dataclass(frozen=True, slots=True)
class Balance:
    """Balance of a design; each range is over the blocks."""

    categories: int
    votes: Range
    """Blocks a cell: the quota."""
    size: Range
    """Cases a block."""
    repeated: int
    """Blocks that hold a query twice; 0 in a sound design."""
    arms: dict[Arm, Range]
    """Cases of each arm a block."""
    category_share: Range
    """The greatest share of one category in a block, 0..1."""


def balance(study: Study, cases: Sequence[Case]) -> Balance:
    """Measure how even a study's blocks are.

    Args:
        study: With its design.
        cases: Of its cells, in their order, as ``study_cases`` gives them.
    """
    design, queries = study.design, query_codes(cases)
    arm = np.array([study.arms.index(cell.arm) for cell in design.cells])
    category = category_codes(cases, queries)[queries]
    blocks = [np.array(block) for block in design.blocks]
    sizes = np.array(list(map(len, blocks)))
    by_arm = np.array([np.bincount(arm[block], minlength=len(study.arms)) for block in blocks])
    return Balance(
        categories=int(category.max()) + 1,
        votes=Range.of(np.bincount(np.concatenate(blocks), minlength=len(design.cells))),
        size=Range.of(sizes),
        repeated=sum(len(np.unique(queries[block])) < len(block) for block in blocks),
        arms={name: Range.of(by_arm[:, place]) for place, name in enumerate(study.arms)},
        category_share=Range.of(
            np.array([np.bincount(category[block]).max() for block in blocks]) / sizes
        ),
    )
