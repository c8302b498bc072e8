"""Votes collected until a majority is decided: where a case stops, and what each vote weighs."""

from collections.abc import Sequence

import numpy as np

from casewise.statistics import Boundary, FirstVotes, FloatArray, IntArray, first_votes


def decided_at(
    rule: Boundary,
    cell: Sequence[int] | IntArray,
    safe: Sequence[bool] | IntArray | FloatArray,
    cells: int,
) -> IntArray:
    """Find the vote at which each cell was decided.

    Votes that come later count and don't reopen a cell; votes that are taken back may.

    Args:
        rule: The rule.
        cell: (votes,) the cell of each vote, in the order in which they came.
        safe: (votes,) whether it says safe.
        cells: How many there are.

    Returns:
        (cells,) the number of votes when it was decided; 0 where it wasn't.
    """
    place, number, yes = _tracks(cell, safe, cells)
    needed = rule.majorities(int(number.max(initial=0)))
    decided = np.flatnonzero(np.maximum(yes, number - yes) >= needed[number])
    stopped = np.zeros(cells, np.int64)
    # Backwards, so that the first of a cell's is written last.
    stopped[place[decided[::-1]]] = number[decided[::-1]]
    return stopped


def chances_first(
    cell: IntArray, safe: FloatArray, cells: int, boundary: Boundary
) -> tuple[FloatArray, FirstVotes]:
    """Chance of each vote to have been the first on its cell, given the votes at the end point.

    The chances of a cell's votes sum to 1, and those of its safe ones to its share: so they weigh
    votes as 1 over their number does where everybody is asked. 0 of votes that came late.

    Args:
        cell: The cell of each vote, in the order in which they came. Shape ``(votes,)``.
        safe: 1 safe, 0 unsafe. Shape ``(votes,)``.
        cells: How many there are.
        boundary: The rule.

    Returns:
        The chances, shape ``(votes,)``, and the shares by cell.
    """
    order = np.argsort(cell, kind="stable")
    _, number, _ = _tracks(cell, safe, cells)
    rank = np.empty(len(cell), np.int64)
    rank[order] = number
    ends = decided_at(boundary, cell, safe, cells)
    counted = (ends[cell] == 0) | (rank <= ends[cell])
    yes, no = (np.bincount(cell, counted * one, cells).astype(float) for one in (safe, 1 - safe))
    found = first_votes(yes, no, boundary)
    said = safe > 0
    chance = np.where(said, found.safe[cell], 1 - found.safe[cell])
    return counted * chance / np.where(said, yes[cell], no[cell]).clip(1), found


def _tracks(
    cell: Sequence[int] | IntArray, safe: Sequence[bool] | IntArray | FloatArray, cells: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Votes sorted by cell: the cell, how many it has by then, and how many of these are safe."""
    order = np.argsort(np.asarray(cell, np.int64), kind="stable")
    place = np.asarray(cell, np.int64)[order]
    counts = np.bincount(place, minlength=cells)
    first = np.cumsum(counts) - counts
    number = np.arange(1, len(place) + 1) - first[place]
    before = np.concatenate([[0], np.cumsum(np.asarray(safe, np.int64)[order])])
    return place, number, before[1:] - before[first[place]]
