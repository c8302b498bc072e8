"""Split a data set into parts, or draw a sample: whole queries, stratified, by seed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from casewise.cases._case import Case, digest
from casewise.choices import By
from casewise.errors import UsageError

_TIE = 1e-4
"""Weight of the random numbers; too small to outweigh any difference of remainders."""


def apportion(
    sizes: Sequence[int], shares: Sequence[Fraction], ties: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Give each stratum's members to parts, as near to their shares as whole members allow.

    Every count is its exact quota rounded down or up, and so is every part's sum over the
    strata. Within these bounds the sums go by largest remainder first, then the counts do:
    controlled rounding (Cox 1987, JASA 82:520), here as a transportation problem, whose vertices
    are whole numbers. Rounding each stratum by itself would leave a small part without any
    member of many small strata, and so of the whole.

    Args:
        sizes: Members of each stratum, shape ``(strata,)``.
        shares: The share of each part, exact, summing to 1, shape ``(parts,)``.
        ties: Numbers in 0..1 that decide among equal remainders, shape ``(strata, parts)``.

    Returns:
        Members by stratum and part, shape ``(strata, parts)``; rows sum to ``sizes``.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, eye_array, kron

    quotas = [[size * share for share in shares] for size in sizes]
    base = np.array([[floor(quota) for quota in row] for row in quotas], dtype=np.int64)
    rest = [[quota - floor(quota) for quota in row] for row in quotas]
    sums = [sum(column, Fraction()) for column in zip(*rest, strict=True)]
    strata, parts = base.shape
    cells = np.array(rest, dtype=float).ravel()
    ends = np.array([float(total - floor(total)) for total in sums])
    # Unknowns: whether a cell is rounded up, then whether a part's sum is.
    by_stratum = kron(eye_array(strata), np.ones((1, parts)))
    by_part = kron(np.ones((1, strata)), eye_array(parts))
    solution = linprog(
        -np.concatenate([cells + _TIE * ties.ravel(), 2 * cells.size * ends]),
        A_eq=block_array([[by_stratum, None], [by_part, -eye_array(parts)]]),
        b_eq=np.concatenate([np.array(sizes) - base.sum(axis=1), [floor(total) for total in sums]]),
        bounds=[(0, float(value > 0)) for value in (*cells, *ends)],
        method="highs-ds",
    )
    up = np.rint(solution.x[: cells.size]).astype(np.int64)
    counts: NDArray[np.int64] = base + up.reshape(strata, parts)
    return counts


NO_VALUE = "none"
"""The stratum of cases without the field."""

EVERYTHING = "all"
"""The only stratum of a draw that is not stratified."""


def whole_queries(cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Group cases by query, in the order of the first case of each.

    Cases belong together that share a query id, or the words of the query but for spaces and
    capitals: the same question under two ids would be asked in both parts of a split. Queries
    that are merely alike are not found here.
    """
    # Loaded late: it takes longer than to read a file of cases.
    from scipy.cluster.hierarchy import DisjointSet

    cases = tuple(cases)
    together: Any = DisjointSet()
    for case in cases:
        marks = ("id", case.query_id), ("words", " ".join(case.query.split()).casefold())
        for mark in marks:
            together.add(mark)
        together.merge(*marks)
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        groups.setdefault(together["id", case.query_id], []).append(case)
    return [tuple(group) for group in groups.values()]


def stratum_of(group: Iterable[Case], by: By) -> str:
    """Stratum of a query: its cases' values of the field, sorted and joined: ``safe + unsafe``."""
    if by is By.NONE:
        return EVERYTHING
    values = {getattr(case, by) or NO_VALUE for case in group}
    return " + ".join(sorted(values))


@dataclass(frozen=True, slots=True)
class SetPart:
    """One part of a data set."""

    name: str
    cases: tuple[Case, ...]
    """Cases in the order of the whole."""
    queries: dict[str, int]
    """Number of queries by stratum, sorted by name, zeros included."""

    @property
    def n_queries(self) -> int:
        """The number of queries in all strata."""
        return sum(self.queries.values())


def split_cases(
    cases: Sequence[Case],
    shares: Mapping[str, Fraction],
    *,
    by: By = By.CATEGORY,
    seed: int = 0,
) -> tuple[SetPart, ...]:
    """Divide cases into named parts; whole queries stay together.

    Each part gets its share of the queries of each stratum and of all, rounded down or up. Which
    query goes where depends on the seed, the ids and the shares, not on the order of the cases;
    and what a stratum's queries are shuffled to doesn't depend on the other strata.

    Args:
        cases: The whole.
        shares: The share of queries by the part's name, each above 0, summing to exactly 1.
        by: The field to stratify by. Where the cases of a query differ in it, all their values
            together name the stratum.
        seed: Of the draw.

    Raises:
        UsageError: A share is not above 0, they don't sum to 1, or a part would get no query.
    """
    for name, share in shares.items():
        if share <= 0:
            raise UsageError(f"the share of {name!r} is {_plain(share)}: give more than 0")
    total = sum(shares.values(), Fraction())
    if total != 1:
        raise UsageError(
            f"the shares sum to {_plain(total)}, expected exactly 1 (thirds: write 1/3)"
        )
    parts = _draw(cases, shares, by, seed)
    for part in parts:
        if not part.cases:
            queries = sum(part.n_queries for part in parts)
            raise UsageError(
                f"part {part.name!r} would get no query: {_plain(shares[part.name])} of {queries} "
                "is less than one"
            )
    return parts


def sample_cases(
    cases: Sequence[Case],
    size: int | Fraction,
    *,
    by: By = By.CATEGORY,
    seed: int = 0,
) -> SetPart:
    """Draw whole queries without replacement, each stratum in proportion.

    Args:
        cases: The whole.
        size: The number of queries (not of cases), or the share of them, above 0 and at most 1.
        by: The field to stratify by, as in ``split_cases``.
        seed: Of the draw.

    Raises:
        UsageError: The size is not above 0, more than there is, or comes to no query.
    """
    queries = len(whole_queries(cases))
    if isinstance(size, int):
        if not 0 < size <= queries:
            raise UsageError(f"can't draw {size} queries: there are {queries}")
        share = Fraction(size, queries)
    else:
        share = size
        if not 0 < share <= 1:
            raise UsageError(f"the share is {_plain(share)}: give more than 0 and at most 1")
    drawn, _ = _draw(cases, {"sample": share, "rest": 1 - share}, by, seed)
    if not drawn.cases:
        raise UsageError(f"{_plain(share)} of {queries} queries comes to none")
    return drawn


def _draw(
    cases: Sequence[Case], shares: Mapping[str, Fraction], by: By, seed: int
) -> tuple[SetPart, ...]:
    strata: dict[str, list[list[str]]] = {}
    for group in whole_queries(cases):
        ids = sorted(case.id for case in group)
        strata.setdefault(stratum_of(group, by), []).append(ids)
    names = sorted(strata)
    # A generator for each stratum: what is drawn in one doesn't hang on the others.
    draws = {name: np.random.default_rng([seed, int(digest(name), 16)]) for name in names}
    ties = np.array([draws[name].random(len(shares)) for name in names]).reshape(-1, len(shares))
    counts = apportion([len(strata[name]) for name in names], list(shares.values()), ties)
    place: dict[str, int] = {}
    for name, row in zip(names, counts, strict=True):
        groups = sorted(strata[name])
        parts = np.repeat(np.arange(len(shares)), row)
        for index, part in zip(draws[name].permutation(len(groups)), parts, strict=True):
            place.update(dict.fromkeys(groups[index], int(part)))
    return tuple(
        SetPart(
            name,
            tuple(case for case in cases if place[case.id] == index),
            {stratum: int(row[index]) for stratum, row in zip(names, counts, strict=True)},
        )
        for index, name in enumerate(shares)
    )


def _plain(share: Fraction) -> str:
    return f"{float(share):.6g}"
