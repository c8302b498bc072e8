"""Even out which arm each block sees of its queries."""

from collections import deque
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def even_arms(cells: Ints, arm_of: Ints, turns: Ints, blocks: Ints) -> Ints:
    """Swap cells within turns until the arms of each block differ by one at most.

    Two visits of one turn, in two blocks and under two arms, are an edge between these blocks that
    points from the one arm to the other; to swap them turns the edge. A block with too much of an
    arm is mended by turning a path to one with too little. Where every query has one cell under
    each arm, all blocks come within one: bipartite graphs have equitable colourings (de Werra
    1971, Equitable colorations of graphs, RIRO 5 R-3). Elsewhere as near as such paths lead.

    Args:
        cells: (visits,) the cell that each visit shows.
        arm_of: (cells,) the arm of a cell, as a code.
        turns: (visits,) the turn of each visit: the visits that go once through a query's cells.
        blocks: (visits,) the block of each visit, from 0.

    Returns:
        (visits,) the cells after the swaps; each turn has those it had.
    """
    cells = cells.copy()
    arms = int(arm_of.max()) + 1
    pairs = list(combinations(range(arms), 2))
    settled = 0
    # Each round of swaps lowers the sum of squares of a block's counts, so this ends.
    for one, other in pairs * (len(turns) + 1):
        swapped = _even_pair(cells, arm_of, turns, blocks, one, other)
        settled = 0 if swapped else settled + 1
        if settled == len(pairs):
            break
    return cells


def _even_pair(cells: Ints, arm_of: Ints, turns: Ints, blocks: Ints, one: int, other: int) -> bool:
    """Even out two arms; whether anything was swapped."""
    arms = arm_of[cells]
    count = int(blocks.max()) + 1
    over = np.bincount(blocks[arms == one], minlength=count) - np.bincount(
        blocks[arms == other], minlength=count
    )
    if abs(over).max() < 2:
        return False
    first, second = _edges(arms, turns, one, other)
    edges = _Edges(blocks[first].tolist(), blocks[second].tolist(), over.tolist())
    turned = edges.settle()
    swap = np.flatnonzero(turned)
    cells[first[swap]], cells[second[swap]] = cells[second[swap]], cells[first[swap]]
    return bool(len(swap))


def _edges(arms: Ints, turns: Ints, one: int, other: int) -> tuple[Ints, Ints]:
    """Visits of one turn under the two arms, in pairs; what is left over stays as it is."""
    sides = []
    for arm in (one, other):
        visits = np.flatnonzero(arms == arm)
        visits = visits[np.argsort(turns[visits], kind="stable")]
        starts = np.searchsorted(turns[visits], turns[visits])
        rank = np.arange(len(visits)) - starts
        sides.append((visits, turns[visits] * (len(arms) + 1) + rank))
    (visits_one, keys_one), (visits_other, keys_other) = sides
    _, at_one, at_other = np.intersect1d(keys_one, keys_other, return_indices=True)
    return visits_one[at_one], visits_other[at_other]


class _Edges:
    """A graph of blocks: each edge takes one from its head's surplus when it is turned."""

    def __init__(self, tails: list[int], heads: list[int], over: list[int]) -> None:
        self.tails, self.heads, self.over = tails, heads, over
        self.turned = [False] * len(tails)

    def settle(self) -> list[bool]:
        """Turn paths until none helps; which edges are turned in the end."""
        while self._sweep(1) + self._sweep(-1):
            pass
        return self.turned

    def _sweep(self, sign: int) -> int:
        """From all blocks with a surplus (or, by sign, a want) of two at once; the paths turned."""
        leaving: list[list[int]] = [[] for _ in self.over]
        source, target = (self.tails, self.heads) if sign > 0 else (self.heads, self.tails)
        for edge, block in enumerate(source):
            leaving[block].append(edge)
        root = {block: block for block, over in enumerate(self.over) if sign * over >= 2}
        came: dict[int, int] = {}
        ready = deque(root)
        done: set[int] = set()
        while ready:
            block = ready.popleft()
            start = root[block]
            if start in done:
                continue
            for edge in leaving[block]:
                end = target[edge]
                if end in root:
                    continue
                root[end], came[end] = start, edge
                if sign * self.over[end] <= -1:
                    self._turn(came, source, end)
                    self.over[start] -= 2 * sign
                    self.over[end] += 2 * sign
                    done.add(start)
                    break
                ready.append(end)
        return len(done)

    def _turn(self, came: dict[int, int], source: list[int], block: int) -> None:
        """Turn the edges that led to a block. No other path of the sweep uses them."""
        while block in came:
            edge = came[block]
            block = source[edge]
            self.tails[edge], self.heads[edge] = self.heads[edge], self.tails[edge]
            self.turned[edge] = not self.turned[edge]
