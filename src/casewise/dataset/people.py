"""Cases and the votes of people on them, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casewise.cases import Case, VoteCounts
from casewise.statistics import BoolArray, FloatArray, IntArray

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

    @property
    def voted(self) -> BoolArray:
        """Cases with votes."""
        return np.asarray(self.safe + self.unsafe > 0)

    @property
    def share(self) -> FloatArray:
        """The share of safe votes; NaN where nobody voted."""
        total = self.safe + self.unsafe
        return np.divide(self.safe, total, out=np.full_like(total, np.nan), where=total > 0)

    def in_arm(self, arm: str) -> BoolArray:
        """The cases of an arm."""
        return np.asarray(self.arm == arm)


def to_people(cases: Sequence[Case]) -> People:
    """Put the votes of cases into columns."""
    queries, query = np.unique([case.query_id for case in cases], return_inverse=True)
    sides = [(case.votes_safe, case.votes_unsafe) for case in cases]
    safe, unsafe = np.array(sides, float).reshape(-1, 2).T
    return People(
        safe=safe,
        unsafe=unsafe,
        arm=np.array(
            ["none" if case.context is None else case.intended or "" for case in cases], str
        ),
        query=query.astype(np.int64),
        queries=len(queries),
        category=np.array([case.category or "" for case in cases], str),
        published=np.array([case.published_safe_rate for case in cases], float),
        single=_single_votes(cases),
        sequential=sum(case.has_sequential_votes for case in cases),
    )


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
