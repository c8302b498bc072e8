"""Which queries a block holds: each as often as it is due, categories and meetings spread."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MOST_MET = 3000
"""Beyond this many queries the table of who met whom is left out: few meet twice anyway."""


def spread_queries(
    visits: Ints, categories: Ints, sizes: Ints, rng: np.random.Generator
) -> list[Ints]:
    """Fill blocks with queries, none twice in a block.

    Blocks are filled one after another, and always with queries that were visited least, so any
    stretch of blocks has seen all queries nearly alike. A query (or category) that is due in all
    blocks left is taken first; by the theorem of Gale and Ryser that is enough for every block to
    be filled, as the sizes differ by one at most (Ryser 1957, doi:10.4153/CJM-1957-044-3).

    Args:
        visits: (queries,) how often each is to be visited, at most once a block.
        categories: (queries,) codes 0, 1, ...; a block holds the even share of each, rounded down
            or up.
        sizes: (blocks,) summing to the visits, differing by one at most.
        rng: Breaks ties.

    Returns:
        The queries of each block.
    """
    members = [np.flatnonzero(categories == one) for one in range(int(categories.max()) + 1)]
    totals = np.array([visits[one].sum() for one in members])
    base, extras = totals // len(sizes), totals % len(sizes)
    full = base > 0
    left = visits.copy()
    tie = rng.random(len(visits))
    met = np.zeros((len(visits), len(visits)), np.int64) if len(visits) <= MOST_MET else None
    slots_left = np.where(full, len(sizes), extras)
    blocks = []
    for row in _category_counts(base, extras, sizes, rng):
        block: list[int] = []
        beside = np.zeros(len(visits), np.int64)
        for category in np.flatnonzero(row):
            among = members[category]
            rank = _rank(visits[among], left[among], int(slots_left[category]))
            block += _take(among, rank, tie, int(row[category]), met, beside)
        chosen = np.array(block)
        left[chosen] -= 1
        tie[chosen] = rng.random(len(chosen))
        if met is not None:
            met[np.ix_(chosen, chosen)] += 1
        slots_left -= np.where(full, 1, row)
        blocks.append(chosen)
    return blocks


def _category_counts(
    base: Ints, extras: Ints, sizes: Ints, rng: np.random.Generator
) -> Iterator[Ints]:
    """For each block how many of each category: the whole part of its even share, and extras."""
    left = extras.copy()
    for number, size in enumerate(sizes):
        blocks_left = len(sizes) - number
        wanted = int(size - base.sum())
        row = base.copy()
        if wanted:
            # Noise below one mixes which categories go together, and leaves each where it is due.
            due = left - extras * (blocks_left - 1) / len(sizes) + rng.random(len(base)) / 2
            due[left == blocks_left] = np.inf
            due[left == 0] = -np.inf
            chosen = np.argpartition(-due, wanted - 1)[:wanted]
            left[chosen] -= 1
            row[chosen] += 1
        yield row


def _rank(visits: Ints, left: Ints, slots_left: int) -> Ints:
    """The lower, the sooner: -1 is due in every block left; the greatest is never to come."""
    rank = (visits - left) * int(visits.max()) // visits
    rank[left == slots_left] = -1
    rank[left == 0] = int(visits.max()) + 1
    return rank


def _take(
    among: Ints, rank: Ints, tie: NDArray[np.float64], wanted: int, met: Ints | None, beside: Ints
) -> list[int]:
    """Take the queries of lowest rank; among equals, those that met the block's least often."""
    if met is None:
        key = rank + tie[among]
        return [int(one) for one in among[np.argpartition(key, wanted - 1)[:wanted]]]
    taken = []
    key = rank * 2.0**32 + tie[among]
    for _ in range(wanted):
        place = int(np.argmin(key + beside[among]))
        key[place] = np.inf
        query = int(among[place])
        taken.append(query)
        beside += met[query]
    return taken
