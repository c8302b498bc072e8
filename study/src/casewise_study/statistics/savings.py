"""Votes collected until a majority is decided, beside the fixed number on the same cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Self

import numpy as np

from casewise.statistics import Boundary, FloatArray, IntArray, first_votes


@dataclass(frozen=True, slots=True)
class Savings:
    """Sequential collection beside the fixed number of votes on the same cells."""

    cells: int
    votes: int
    """Collected."""
    fixed: int
    """Votes of the fixed plan."""
    labels: int
    """Cells with a majority under the fixed plan."""
    changed: int
    """Cells of these without the same majority under the rule."""
    undecided: int
    """Cells that came to the most votes without being decided."""
    share_error: float
    """Mean distance of a cell's share of safe votes from that of the fixed plan; NaN without
    cells."""

    @property
    def saved(self) -> float:
        """The share of votes that were not needed, 0..1; NaN without any."""
        return 1 - self.votes / self.fixed if self.fixed else nan

    @classmethod
    def of(cls, counts: IntArray, safe: IntArray, full: IntArray, undecided: int) -> Self:
        """Compare what was collected with complete votes.

        Args:
            counts: (cells,) the votes collected, at least one on each.
            safe: (cells,) the safe ones of these.
            full: (cells, votes) every vote of the fixed plan, 1 safe and 0 unsafe.
            undecided: Cells that the rule left undecided.
        """
        cells, votes = full.shape
        total = full.sum(axis=1)
        before, after = np.sign(2 * total - votes), np.sign(2 * safe - counts)
        error = np.abs(safe / counts - total / votes)
        return cls(
            cells=cells,
            votes=int(counts.sum()),
            fixed=full.size,
            labels=int((before != 0).sum()),
            changed=int(((before != 0) & (before != after)).sum()),
            undecided=undecided,
            share_error=float(error.mean()) if cells else nan,
        )


def stopped(rule: Boundary, full: IntArray) -> tuple[IntArray, IntArray, int]:
    """Stop each cell of complete votes by the rule.

    Args:
        rule: The rule.
        full: (cells, votes) 1 safe, 0 unsafe, in the order in which people came.

    Returns:
        The votes of each cell, the safe ones of these, and the number of cells left undecided.
    """
    votes = np.arange(1, full.shape[1] + 1)
    yes = full.cumsum(axis=1)
    decided = np.maximum(yes, votes - yes) >= rule.majorities(len(votes))[1:]
    undecided = ~decided.any(axis=1)
    counts = np.where(undecided, len(votes), decided.argmax(axis=1) + 1)
    return counts, yes[np.arange(len(full)), counts - 1], int(undecided.sum())


@dataclass(frozen=True, slots=True)
class DesignErrors:
    """Votes and errors of a way to collect them, over drawn studies."""

    votes: float
    """Votes on a cell."""
    labels: float
    """Share of majorities that are not that of all people, 0..1; a tie is half a one."""
    share: float
    """Root of the mean square of a cell's share of safe votes less that of all people, 0..1."""
    mean: float
    """The same of the mean share over cells."""


@dataclass(frozen=True, slots=True)
class DrawnDesigns:
    """Fixed and sequential collection of the same votes, in drawn studies."""

    savings: tuple[Savings, ...]
    """The sequential design beside the fixed one, in each study."""
    fixed: DesignErrors
    """Errors where shares are those of all votes."""
    sequential: DesignErrors
    """Errors where shares are those of first votes."""


def draw_designs(
    rule: Boundary, rates: Sequence[float], votes: int, *, seed: int, draws: int = 50
) -> DrawnDesigns:
    """Draw the votes of whole studies, and stop each cell by the rule.

    Votes come one at a time; with many people at once some come after a cell was decided.

    Args:
        rule: The rule.
        rates: (cells,) the share of people who say safe.
        votes: On each cell; at most, in the sequential design.
        seed: Of the draws.
        draws: How many studies.
    """
    random, truth, savings = np.random.default_rng((seed, 0x5E9)), np.asarray(rates), []
    errors: tuple[list[FloatArray], list[FloatArray]] = [], []
    for _ in range(draws):
        full = (random.random((len(truth), votes)) < truth[:, None]).astype(np.int64)
        ends, safe, undecided = stopped(rule, full)
        savings.append(Savings.of(ends, safe, full, undecided))
        said, most = full.sum(axis=1), np.full(len(truth), votes)
        first = first_votes(safe.astype(float), (ends - safe).astype(float), rule).safe
        for kept, *design in (
            (errors[0], said, most, said / votes),
            (errors[1], safe, ends, first),
        ):
            yes, number, shares = design
            off, right = shares - truth, np.sign(2 * yes - number) * np.sign(2 * truth - 1)
            means = number, (1 - right) / 2, off**2
            kept.append(np.array([*(one.mean() for one in means), off.mean() ** 2]))
    found = (np.mean(one, axis=0).tolist() for one in errors)
    designs = (
        DesignErrors(number, labels, share**0.5, mean**0.5) for number, labels, share, mean in found
    )
    return DrawnDesigns(tuple(savings), *designs)
