"""Lay out a study: which cells are in which block."""

from collections.abc import Sequence

import numpy as np

from casewise.annotation.study._even import Ints, even_arms
from casewise.annotation.study._spread import spread_queries
from casewise.annotation.study._study import Arm, Block, Cell, Design
from casewise.cases import Case, whole_queries
from casewise.errors import UsageError

MOST_VOTES = 1_000_000
"""Beyond this a study is a slip of the pen."""


def make_design(
    cases: Sequence[Case], cells: Sequence[Cell], *, votes: int, tasks: int, seed: int
) -> Design:
    """Deal cells to blocks, so that each cell is in exactly ``votes`` of them.

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
    arms = np.array([list(Arm).index(cell.arm) for cell in cells])
    shown = even_arms(shown, arms, turns, block_of)
    order = np.lexsort((rng.random(total), block_of))
    parts = np.split(shown[order], np.cumsum(sizes)[:-1])
    made: tuple[Block, ...] = tuple(tuple(part.tolist()) for part in parts)
    return Design(cells=tuple(cells), blocks=made)


def query_codes(cases: Sequence[Case]) -> Ints:
    """(cases,) the query of each case, as a number from 0; one question under two ids is one."""
    code = {
        case.query_id: number for number, group in enumerate(whole_queries(cases)) for case in group
    }
    return np.array([code[case.query_id] for case in cases], dtype=np.int64)


def category_codes(cases: Sequence[Case], queries: Ints) -> Ints:
    """(queries,) the category of each query's first case, as a number from 0."""
    _, first = np.unique(queries, return_index=True)
    names = [cases[place].category or "" for place in first]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _first_turns(queries: Ints, visits: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
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


def _ranks(ordered: Ints) -> Ints:
    """The place of each entry among its equals, from 0."""
    return np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
