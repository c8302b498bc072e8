"""Split a data set into parts, or draw a sample: whole queries, stratified, by seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from casewise.cases._apportion import apportion
from casewise.cases._case import Case, digest
from casewise.cases._queries import By, stratum_of, whole_queries
from casewise.errors import UsageError


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a data set."""

    name: str
    cases: tuple[Case, ...]
    """In the order of the whole."""
    queries: dict[str, int]
    """By stratum, sorted by name, the number of queries; a stratum without any counts 0."""

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
) -> tuple[Part, ...]:
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
            queries = sum(one.n_queries for one in parts)
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
) -> Part:
    """Draw whole queries without replacement, each stratum in proportion.

    Args:
        cases: The whole.
        size: The number of queries (not of cases), or the share of them, above 0 and at most 1.
        by: The field to stratify by, as in ``split_cases``.
        seed: Of the draw.

    Raises:
        UsageError: The size is not above 0, more than there is, or comes to no query.
    """
    there = len(whole_queries(cases))
    if isinstance(size, int):
        if not 0 < size <= there:
            raise UsageError(f"can't draw {size} queries: there are {there}")
        share = Fraction(size, there)
    else:
        share = size
        if not 0 < share <= 1:
            raise UsageError(f"the share is {_plain(share)}: give more than 0 and at most 1")
    drawn, _ = _draw(cases, {"sample": share, "rest": 1 - share}, by, seed)
    if not drawn.cases:
        raise UsageError(f"{_plain(share)} of {there} queries comes to none")
    return drawn


def _draw(
    cases: Sequence[Case], shares: Mapping[str, Fraction], by: By, seed: int
) -> tuple[Part, ...]:
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
        Part(
            name,
            tuple(case for case in cases if place[case.id] == index),
            {stratum: int(row[index]) for stratum, row in zip(names, counts, strict=True)},
        )
        for index, name in enumerate(shares)
    )


def _plain(share: Fraction) -> str:
    return f"{float(share):.6g}"
