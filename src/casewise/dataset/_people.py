"""Cases and the votes of people on them, as arrays."""

import math
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
    where it can't be told, since votes don't end as a known rule would have it."""

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
    return People(
        safe=np.array([case.votes_safe for case in cases], float),
        unsafe=np.array([case.votes_unsafe for case in cases], float),
        arm=np.array([arm_of(case) for case in cases], str),
        query=query.astype(np.int64),
        queries=len(queries),
        category=np.array([case.category or "" for case in cases], str),
        published=np.array([case.published_safe_rate for case in cases], float),
        single=_single_votes(cases),
        sequential=sum(case.has_sequential_votes for case in cases),
        first=_first_votes(cases),
    )


def _first_votes(cases: Sequence[Case]) -> FirstVotes | None:
    """What first votes said: of sequential cases by their rule; None where one can't be told."""
    if not any(case.has_sequential_votes for case in cases):
        return None
    safe, alike = np.array([_any_votes(case) for case in cases]).T
    rules = defaultdict[tuple[float, int] | None, list[int]](list)
    for place, case in enumerate(cases):
        if case.has_sequential_votes:
            rules[case.stopping_rule].append(place)
    for rule, places in rules.items():
        boundary = Boundary(*rule or ())
        here = [cases[place] for place in places]
        ends = [_end_point(case, boundary) for case in here]
        safe_votes, unsafe_votes = np.array(ends, float).T
        found = first_votes(safe_votes, unsafe_votes, boundary)
        if not found.known or (rule is None and not _ended_by(boundary, here, ends)):
            return None
        safe[places], alike[places] = found.safe, found.alike
    return FirstVotes(safe, alike)


def _any_votes(case: Case) -> tuple[float, float]:
    """Chances that one vote of a case is safe, and that two are alike; NaN without them."""
    safe, unsafe = case.votes_safe or 0, case.votes_unsafe or 0
    votes = safe + unsafe
    pairs, alike = votes * (votes - 1), safe * (safe - 1) + unsafe * (unsafe - 1)
    return safe / votes if votes else math.nan, alike / pairs if pairs else math.nan


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


def _ended_by(boundary: Boundary, cases: Sequence[Case], ends: Sequence[tuple[int, int]]) -> bool:
    """Tell whether each case ended where a rule has it: when decided, or at the most votes."""
    totals = [(case.votes_safe or 0) + (case.votes_unsafe or 0) for case in cases]
    needed = boundary.majorities(max(totals))
    return all(
        sum(end) == total and (total == max(totals) or max(end) >= needed[total])
        for end, total in zip(ends, totals, strict=True)
    )


def arm_of(case: Case) -> str:
    """The arm of a case; empty for a context without an intended side."""
    return "none" if case.context is None else case.intended or ""


def _single_votes(cases: Sequence[Case]) -> SingleVotes | None:
    names: dict[str, int] = {}
    verdict, place, rater = [], [], []
    for index, case in enumerate(cases):
        if isinstance(case.votes, VoteCounts):
            return None
        for vote in case.votes or ():
            if vote.rater is None:
                return None
            verdict.append(vote.verdict == "safe")
            place.append(index)
            rater.append(names.setdefault(vote.rater, len(names)))
    if not verdict:
        return None
    return SingleVotes(
        np.array(verdict, float),
        np.array(place, np.int64),
        np.array(rater, np.int64),
        tuple(names),
    )
