"""The block design: assign cells to blocks, balanced by query, arm and category."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np

from casewise.cases import Case, whole_queries
from casewise.errors import UsageError
from casewise.statistics import FloatArray, IntArray
from casewise_study.study.schema import Arm, Block, Design, Study, StudyCell


def even_arms(cells: IntArray, arm_of: IntArray, turns: IntArray, blocks: IntArray) -> IntArray:
    """Swap cells within turns until the arms of each block differ by one at most.

    Two visits of one turn, in two blocks and under two arms, can change places. Which of them do,
    as few as can be, is a flow between blocks. Where every query has one cell under each arm, all
    blocks come within one: bipartite graphs have equitable colourings (de Werra 1971, Equitable
    colorations of graphs, RIRO 5 R-3). Elsewhere as near as such swaps lead.

    Args:
        cells: (visits,) the cell that each visit shows.
        arm_of: (cells,) the arm of a cell, as a code.
        turns: (visits,) the turn of each visit: the visits that go once through a query's cells.
        blocks: (visits,) the block of each visit, from 0.

    Returns:
        (visits,) the cells after the swaps; each turn has those it had.
    """
    cells = cells.copy()
    pairs = list(combinations(range(int(arm_of.max()) + 1), 2))
    unchanged = 0
    # Each round of swaps lowers the sum of squares of a block's counts, so this ends.
    for arm_a, arm_b in pairs * (len(turns) + 1):
        first, second = _swaps(arm_of[cells], turns, blocks, arm_a, arm_b)
        cells[first], cells[second] = cells[second], cells[first]
        unchanged = 0 if len(first) else unchanged + 1
        if unchanged == len(pairs):
            break
    return cells


def _swaps(
    arms: IntArray, turns: IntArray, blocks: IntArray, arm_a: int, arm_b: int
) -> tuple[IntArray, IntArray]:
    """Visits under the one arm, and those under the other whose cells they take."""
    count = int(blocks.max()) + 1
    over = np.bincount(blocks, (arms == arm_a) * 1.0 - (arms == arm_b), minlength=count)
    first, second = _of_one_turn(arms, turns, arm_a, arm_b)
    if abs(over).max() < 2 or not len(first):
        return first[:0], second[:0]
    # Loaded late: they take longer than all that a command without them does.
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, eye_array, hstack, vstack

    swaps = np.arange(len(first))
    ends = np.concatenate([blocks[second], blocks[first]])
    signs = np.repeat([1, -1], len(swaps))
    moved = coo_array((signs, (ends, np.tile(swaps, 2))), shape=(count, len(swaps)))
    # After the swaps a block is over by at most one, or by two for each unit that is amiss.
    amiss = -eye_array(count)
    rows = vstack([hstack([moved, amiss]), hstack([-moved, amiss])]).tocsr()
    most = np.concatenate([np.floor((1 - over) / 2), np.floor((1 + over) / 2)])
    costs = np.concatenate([np.ones(len(swaps)), np.full(count, len(swaps) + 1.0)])
    bounds = [(0, 1)] * len(swaps) + [(0, None)] * count
    # Flows have whole solutions at the corners, where the simplex method ends.
    solved = linprog(costs, rows, most, bounds=bounds, method="highs-ds")
    chosen = np.flatnonzero(solved.x[: len(swaps)] > 0.5)
    return first[chosen], second[chosen]


def _of_one_turn(
    arms: IntArray, turns: IntArray, arm_a: int, arm_b: int
) -> tuple[IntArray, IntArray]:
    """Visits of one turn under the two arms, in pairs; what is left over stays as it is."""
    sides = []
    for arm in (arm_a, arm_b):
        visits = np.flatnonzero(arms == arm)
        visits = visits[np.argsort(turns[visits], kind="stable")]
        sides.append((visits, turns[visits] * (len(arms) + 1) + _ranks(turns[visits])))
    (visits_one, keys_one), (visits_other, keys_other) = sides
    _, at_one, at_other = np.intersect1d(keys_one, keys_other, return_indices=True)
    return visits_one[at_one], visits_other[at_other]


MOST_MET = 3000
"""Beyond this many queries the table of who met whom is left out: few meet twice anyway."""


def spread_queries(
    visits: IntArray, categories: IntArray, sizes: IntArray, rng: np.random.Generator
) -> list[IntArray]:
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
    members = [
        np.flatnonzero(categories == category) for category in range(int(categories.max()) + 1)
    ]
    totals = np.array([visits[queries].sum() for queries in members])
    base, extras = totals // len(sizes), totals % len(sizes)
    full = base > 0
    visits_left = visits.copy()
    tie = rng.random(len(visits))
    met = np.zeros((len(visits), len(visits)), np.int64) if len(visits) <= MOST_MET else None
    slots_left = np.where(full, len(sizes), extras)
    blocks = []
    for row in _category_counts(base, extras, sizes, rng):
        block: list[int] = []
        meetings = np.zeros(len(visits), np.int64)
        for category in np.flatnonzero(row):
            among = members[category]
            rank = _rank(visits[among], visits_left[among], int(slots_left[category]))
            block += _take(among, rank, tie, int(row[category]), met, meetings)
        chosen = np.array(block)
        visits_left[chosen] -= 1
        tie[chosen] = rng.random(len(chosen))
        if met is not None:
            met[np.ix_(chosen, chosen)] += 1
        slots_left -= np.where(full, 1, row)
        blocks.append(chosen)
    return blocks


def _category_counts(
    base: IntArray, extras: IntArray, sizes: IntArray, rng: np.random.Generator
) -> Iterator[IntArray]:
    """For each block how many of each category: the whole part of its even share, and extras."""
    extras_left = extras.copy()
    for number, size in enumerate(sizes):
        blocks_left = len(sizes) - number
        wanted = int(size - base.sum())
        row = base.copy()
        if wanted:
            # Noise below one mixes which categories go together, and leaves each where it is due.
            due = extras_left - extras * (blocks_left - 1) / len(sizes) + rng.random(len(base)) / 2
            due[extras_left == blocks_left] = np.inf
            due[extras_left == 0] = -np.inf
            chosen = np.argpartition(-due, wanted - 1)[:wanted]
            extras_left[chosen] -= 1
            row[chosen] += 1
        yield row


def _rank(visits: IntArray, visits_left: IntArray, slots_left: int) -> IntArray:
    """Rank of each query, lowest first: -1 is due in every block left, the greatest in none."""
    rank = (visits - visits_left) * int(visits.max()) // visits
    rank[visits_left == slots_left] = -1
    rank[visits_left == 0] = int(visits.max()) + 1
    return rank


def _take(
    among: IntArray,
    rank: IntArray,
    tie: FloatArray,
    wanted: int,
    met: IntArray | None,
    meetings: IntArray,
) -> list[int]:
    """Take the queries of lowest rank; among equals, those that met the block's least often."""
    if met is None:
        key = rank + tie[among]
        return [int(query) for query in among[np.argpartition(key, wanted - 1)[:wanted]]]
    queries = []
    key = rank * 2.0**32 + tie[among]
    for _ in range(wanted):
        place = int(np.argmin(key + meetings[among]))
        key[place] = np.inf
        query = int(among[place])
        queries.append(query)
        meetings += met[query]
    return queries


MOST_VOTES = 1_000_000
"""Beyond this a study is a slip of the pen."""


def make_design(
    cases: Sequence[Case], cells: Sequence[StudyCell], *, votes: int, tasks: int, seed: int
) -> Design:
    """Assign cells to blocks, so that each cell is in exactly ``votes`` of them.

    Blocks differ in size by one at most, hold no query twice, have the arms within one of each
    other where every query has the same arms, and have the even share of each category, rounded
    down or up. Queries meet as evenly as a greedy choice makes them; their order is random.
    Earlier blocks have shown all cells nearly alike, should a study stop early.

    Args:
        cases: The case of each cell, which tells its query and category.
        cells: In the order that they will have in the design.
        votes: On each cell.
        tasks: The most that a block may hold.
        seed: Of every draw.

    Raises:
        UsageError: So many tasks can't be had without a query twice in a block.
    """
    queries = query_codes(cases)
    n_queries = int(queries.max()) + 1
    of_query = np.bincount(queries)
    total = len(cells) * votes
    if total > MOST_VOTES:
        raise UsageError(
            f"{len(cells)} cells with {votes} votes each are {total:,} votes: at most "
            f"{MOST_VOTES:,}; take fewer votes, or part of the cases (casewise cases sample)"
        )
    blocks = -(-total // tasks)
    needed = int(of_query.max()) * votes
    if tasks > n_queries or blocks < needed:
        most = n_queries if needed == 1 else min(n_queries, (total - 1) // (needed - 1))
        raise UsageError(
            f"{tasks} cases a person: nobody may judge a query twice, so at most {most} "
            f"({n_queries} queries, {len(cells)} cells, {votes} votes each)"
        )
    rng = np.random.default_rng(seed)
    sizes = np.full(blocks, total // blocks)
    sizes[rng.permutation(blocks)[: total % blocks]] += 1
    filled = spread_queries(of_query * votes, category_codes(cases, queries), sizes, rng)
    visits = np.concatenate(filled)
    block_of = np.repeat(np.arange(blocks), sizes)
    shown, turns = _first_turns(queries, visits, rng)
    arms = arm_codes(cells)
    shown = even_arms(shown, arms, turns, block_of)
    order = np.lexsort((rng.random(total), block_of))
    parts = np.split(shown[order], np.cumsum(sizes)[:-1])
    design_blocks: tuple[Block, ...] = tuple(tuple(part.tolist()) for part in parts)
    return Design(cells=tuple(cells), blocks=design_blocks)


@dataclass(frozen=True, slots=True, eq=False)
class DrawnFrom:
    """Cells to draw a block from, under sequential collection. Shapes ``(cells,)``, in codes."""

    query: IntArray
    category: IntArray
    arm: IntArray
    tasks: int
    """The most that a block may hold."""

    @classmethod
    def of(cls, study: Study, cases: Sequence[Case]) -> Self:
        """The cells of a study, with the case of each."""
        query = query_codes(cases)
        tasks = study.design.longest
        return cls(query, category_codes(cases, query)[query], arm_codes(study.design.cells), tasks)


def draw_block(
    cells: DrawnFrom, wanted: IntArray, turn: IntArray, rng: np.random.Generator
) -> Block:
    """Draw one person's block: no query twice, and as many cells of each arm as there are.

    Within an arm those whose turn is lowest come first, so that all cells are asked alike, and then
    those of categories that the block has least of.

    Args:
        cells: Of the study.
        wanted: The cells that may be drawn.
        turn: (cells,) the lower, the sooner.
        rng: Breaks ties, and draws the order.
    """
    tie = rng.random(len(turn))
    arms, categories = np.zeros(len(Arm), np.int64), np.zeros(cells.category.max() + 1, np.int64)
    block: list[int] = []
    while len(wanted) and len(block) < cells.tasks:
        keys = (tie, categories[cells.category], turn, arms[cells.arm])
        chosen = int(wanted[np.lexsort([key[wanted] for key in keys])[0]])
        block.append(chosen)
        arms[cells.arm[chosen]] += 1
        categories[cells.category[chosen]] += 1
        wanted = wanted[cells.query[wanted] != cells.query[chosen]]
    return tuple(rng.permutation(block).tolist())


def query_codes(cases: Sequence[Case]) -> IntArray:
    """(cases,) the query of each case, as a number from 0; one question under two ids is one."""
    code = {
        case.query_id: number for number, group in enumerate(whole_queries(cases)) for case in group
    }
    return np.array([code[case.query_id] for case in cases], dtype=np.int64)


def arm_codes(cells: Sequence[StudyCell]) -> IntArray:
    """(cells,) the arm of each, as its place in ``Arm``."""
    return np.array([list(Arm).index(cell.arm) for cell in cells])


def category_codes(cases: Sequence[Case], queries: IntArray) -> IntArray:
    """(queries,) the category of each query's first case, as a number from 0."""
    _, first = np.unique(queries, return_index=True)
    names = [cases[place].category or "" for place in first]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _first_turns(
    queries: IntArray, visits: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """A cell for each visit: once through a query's cells in random order, and again, and again.

    Returns:
        (visits,) the cell, and (visits,) a number for each turn through a query's cells.
    """
    of_query = np.bincount(queries)
    by_query = np.argsort(visits, kind="stable")
    rank = np.empty_like(visits)
    rank[by_query] = _ranks(visits[by_query])
    turns = visits * (len(visits) + 1) + rank // of_query[visits]
    shuffled = np.lexsort((rng.random(len(visits)), turns))
    cells = np.argsort(queries, kind="stable")
    first = np.cumsum(of_query) - of_query
    shown = np.empty_like(visits)
    shown[shuffled] = cells[first[visits[shuffled]] + _ranks(turns[shuffled])]
    return shown, np.unique(turns, return_inverse=True)[1]


def _ranks(ordered: IntArray) -> IntArray:
    """The place of each entry among its equals, from 0."""
    return np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
