"""Cases and the votes of people on them, as arrays."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casewise.cases import Case, VoteCounts
from casewise.statistics import (
    BoolArray,
    Boundary,
    FirstVotes,
    FloatArray,
    IntArray,
    first_votes,
)

TextArray = NDArray[np.str_]

ARMS = ("safe", "unsafe", "none")
"""Arm of a case: intended safe, intended unsafe, or none at all."""


@dataclass(frozen=True, slots=True)
class SingleVotes:
    """Votes with the rater, or the column of the table, that each stands under. Shapes ``(v,)``."""

    verdict: FloatArray
    """1 safe, 0 unsafe."""
    case: IntArray
    """The case's place in its file."""
    rater: IntArray
    """Place of the rater in ``names``."""
    names: tuple[str, ...]

    def only(self, kept: BoolArray) -> "SingleVotes":
        """The votes on some cases. Shape ``(cases,)``."""
        here = kept[self.case]
        return SingleVotes(self.verdict[here], self.case[here], self.rater[here], self.names)


@dataclass(frozen=True, slots=True)
class People:
    """Cases and their votes as columns. Shapes ``(n,)``."""

    safe: FloatArray
    """Safe votes; NaN where nobody voted."""
    unsafe: FloatArray
    arm: TextArray
    """One of ``ARMS``; empty for a context without an intended side."""
    query: IntArray
    """A number for each query."""
    queries: int
    category: TextArray
    """Empty where there is none."""
    published: FloatArray
    """The published safe rate as it stands in the file; NaN where there is none."""
    single: SingleVotes | None
    """None where some votes are counts, or have no rater."""
    sequential: int
    """Cases that were asked no further once their majority was decided."""
    first: FirstVotes | None
    """Where there are such cases, what first votes said; of the other cases, any vote. None too
    where no tag names the rule, or votes don't end as it would have it."""

    @property
    def voted(self) -> BoolArray:
        """Cases with votes."""
        return np.asarray(self.safe + self.unsafe > 0)

    @property
    def share(self) -> FloatArray:
        """The share of safe votes; NaN where nobody voted."""
        total = self.safe + self.unsafe
        return np.divide(self.safe, total, out=np.full_like(total, np.nan), where=total > 0)

    @property
    def rate(self) -> FloatArray:
        """The share of people who would say safe: of sequential votes, of first votes if known."""
        return self.share if self.first is None else self.first.safe

    @property
    def leans(self) -> bool:
        """True where shares lean to the majority, and nothing allows for it."""
        return self.sequential > 0 and self.first is None

    def in_arm(self, arm: str) -> BoolArray:
        """The cases of an arm."""
        return np.asarray(self.arm == arm)


def to_people(cases: Sequence[Case]) -> People:
    """Put the votes of cases into columns."""
    queries, query = np.unique([case.query_id for case in cases], return_inverse=True)
    sides = [(case.votes_safe, case.votes_unsafe) for case in cases]
    safe, unsafe = np.array(sides, float).reshape(-1, 2).T
    sequential = np.array([case.has_sequential_votes for case in cases], bool)
    return People(
        safe=safe,
        unsafe=unsafe,
        arm=np.array(["none" if one.context is None else one.intended or "" for one in cases], str),
        query=query.astype(np.int64),
        queries=len(queries),
        category=np.array([case.category or "" for case in cases], str),
        published=np.array([case.published_safe_rate for case in cases], float),
        single=_single_votes(cases),
        sequential=int(sequential.sum()),
        first=_first_votes(cases, sequential, safe, unsafe) if sequential.any() else None,
    )


def _first_votes(
    cases: Sequence[Case], sequential: BoolArray, safe: FloatArray, unsafe: FloatArray
) -> FirstVotes | None:
    """What first votes said: of sequential cases by their rule; None where one can't be told."""
    votes = safe + unsafe
    with np.errstate(divide="ignore", invalid="ignore"):
        share, pairs = safe / votes, votes * (votes - 1)
        alike = np.where(pairs > 0, (safe * (safe - 1) + unsafe * (unsafe - 1)) / pairs, np.nan)
    rules = defaultdict[tuple[float, int] | None, list[int]](list)
    for place in np.flatnonzero(sequential).tolist():
        rules[cases[place].stopping_rule].append(place)
    for rule, places in rules.items():
        if rule is None:
            return None
        boundary = Boundary(*rule)
        yes, no = np.array([_end_point(cases[place], boundary) for place in places], float).T
        found = first_votes(yes, no, boundary)
        if not found.known:
            return None
        share[places], alike[places] = found.safe, found.alike
    return FirstVotes(share, alike)


def _end_point(case: Case, boundary: Boundary) -> tuple[int, int]:
    """Safe and unsafe votes of a case up to the one that decided it."""
    safe, unsafe = case.votes_safe or 0, case.votes_unsafe or 0
    if case.votes is None or isinstance(case.votes, VoteCounts):
        return safe, unsafe
    needed = boundary.majorities(safe + unsafe)
    said = [0, 0]
    for vote in case.votes:
        said[vote.verdict == "safe"] += 1
        if max(said) >= needed[sum(said)]:
            break
    return said[1], said[0]


def _single_votes(cases: Sequence[Case]) -> SingleVotes | None:
    names: dict[str, int] = {}
    votes = []
    for place, case in enumerate(cases):
        if isinstance(case.votes, VoteCounts):
            return None
        for vote in case.votes or ():
            if vote.rater is None:
                return None
            rater = names.setdefault(vote.rater, len(names))
            votes.append((vote.verdict == "safe", place, rater))
    if not votes:
        return None
    verdict, places, raters = np.array(votes, np.int64).T
    return SingleVotes(verdict.astype(np.float64), places, raters, tuple(names))
