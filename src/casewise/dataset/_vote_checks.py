"""Votes as arrays, and where they come from.

Published rates, the author's vote, ties, raters and columns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casewise.cases import Case, VoteCounts
from casewise.statistics import BoolArray, FloatArray, GroupTest, IntArray, chi_squared, cochran_q

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
    """The place in ``names``."""
    names: tuple[str, ...]

    def only(self, kept: BoolArray) -> "SingleVotes":
        """The votes on some cases. Shape ``(cases,)``."""
        here = kept[self.case]
        return SingleVotes(self.verdict[here], self.case[here], self.rater[here], self.names)


@dataclass(frozen=True, slots=True)
class People:
    """Cases as columns. Shapes ``(n,)``."""

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
        share: FloatArray = np.full(len(total), np.nan)
        np.divide(self.safe, total, out=share, where=total > 0)
        return share

    def in_arm(self, arm: str) -> BoolArray:
        """The cases of an arm."""
        return np.asarray(self.arm == arm)


def to_people(cases: Sequence[Case]) -> People:
    """Put cases into columns."""
    queries, query = np.unique([case.query_id for case in cases], return_inverse=True)
    return People(
        safe=np.array([case.votes_safe for case in cases], np.float64),
        unsafe=np.array([case.votes_unsafe for case in cases], np.float64),
        arm=np.array([arm_of(case) for case in cases], str),
        query=query.astype(np.int64),
        queries=len(queries),
        category=np.array([case.category or "" for case in cases], str),
        published=np.array([case.published_safe_rate for case in cases], np.float64),
        single=_single_votes(cases),
        sequential=sum(case.has_sequential_votes for case in cases),
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
        np.array(verdict, np.float64),
        np.array(place, np.int64),
        np.array(rater, np.int64),
        tuple(names),
    )


ROUNDING = 0.005
"""A published rate may be rounded to two digits."""

LEAST_CASES = 8
"""Cases on which a rater must match the intention throughout to be named: by coin tosses, one
rater in 256 would."""


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """The published safe rate against the votes of the file. Counts of cases."""

    cases: int
    """With a published rate and votes."""
    as_voted: BoolArray
    """The rate is the share of the votes. Shape ``(n,)``."""
    one_more: BoolArray
    """The rate is no share of these votes, but of one vote more. Shape ``(n,)``."""
    unlike: BoolArray
    """The rate is neither. Shape ``(n,)``."""
    extra_known: int
    """Cases whose extra vote can be told and that have an intended side."""
    extra_is_intended: int
    """Those in which the extra vote is the intended side."""
    flipped: int
    """Cases that are no ties and have another majority by the published rate."""


@dataclass(frozen=True, slots=True)
class AuthorVotes:
    """The field ``author_vote``, set apart from the votes of people."""

    n: int
    is_intended: int


@dataclass(frozen=True, slots=True)
class TieCounts:
    """Cases with as many safe as unsafe votes."""

    places: IntArray
    """Places of the cases."""
    safe: int | None
    """Number that the published rate settles as safe; None where no tie has one."""
    unsafe: int | None
    intended: int | None
    """Number that it settles as their author intended."""


@dataclass(frozen=True, slots=True)
class ColumnEffects:
    """True if the votes of one column (or rater) are correlated over cases. NaN is undefined."""

    columns: int
    lowest: float
    """The smallest share of safe votes of a column."""
    highest: float
    overall_q: float
    """Cochran's Q of the columns over all cases."""
    overall_p: float
    within_q: float
    """The sum of Cochran's Q over blocks: the cases of one category and arm."""
    within_df: int
    within_p: float
    shifting_p: float
    """p of the excess of the blocks' Q over that of all cases: small if columns differ otherwise in
    one block than in another, as they do if each block has people of its own."""
    blocks: int
    """Blocks that have several cases which each column voted on."""
    most_categories: int
    """The largest number of categories that a column voted in."""
    categories: int
    """Categories with votes."""


def published_rate(people: People) -> PublishedRate:
    """Compare the published rate with the share of votes, and of one vote more."""
    safe, total = people.safe, people.safe + people.unsafe
    both = people.voted & ~np.isnan(people.published)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = np.minimum(ROUNDING, 0.25 / (total + 1))
        as_voted = both & (np.abs(people.published - safe / total) <= allowed)
        plus_safe = both & (np.abs(people.published - (safe + 1) / (total + 1)) <= allowed)
        plus_unsafe = both & (np.abs(people.published - safe / (total + 1)) <= allowed)
    if both.any() and np.isin(people.published[both], (0, 1)).all():
        # Only majorities were published: any share of votes on their side of one half fits.
        majority = (people.published > 0.5) == (safe > people.unsafe)
        as_voted = both & (majority | (safe == people.unsafe))
        plus_safe = plus_unsafe = np.zeros_like(both)
    # All votes alike, and one more of them, is the same rate: such a case goes with the others.
    plain, extra = as_voted & ~plus_safe & ~plus_unsafe, (plus_safe | plus_unsafe) & ~as_voted
    if extra.sum() > plain.sum():
        one_more, as_voted = plus_safe | plus_unsafe, plain
    else:
        one_more = extra
    sided = one_more & (people.in_arm("safe") | people.in_arm("unsafe"))
    agreeing = sided & np.where(people.in_arm("safe"), plus_safe, plus_unsafe)
    voted_safe, voted_unsafe = safe > people.unsafe, safe < people.unsafe
    flipped = (voted_safe & (people.published <= 0.5)) | (voted_unsafe & (people.published > 0.5))
    return PublishedRate(
        cases=int(both.sum()),
        as_voted=as_voted,
        one_more=one_more,
        unlike=both & ~as_voted & ~one_more,
        extra_known=int(sided.sum()),
        extra_is_intended=int(agreeing.sum()),
        flipped=int((both & flipped).sum()),
    )


def author_votes(cases: Sequence[Case]) -> AuthorVotes:
    """Compare the author's vote with the intended side."""
    voted = [case for case in cases if case.author_vote is not None and case.intended is not None]
    return AuthorVotes(len(voted), sum(case.author_vote == case.intended for case in voted))


def tie_counts(people: People) -> TieCounts:
    """Count exact ties, and what the published rate makes of them: safe if above one half."""
    tied = people.voted & (people.safe == people.unsafe)
    by_published = tied & ~np.isnan(people.published) & (people.published != 0.5)
    if not by_published.any():
        return TieCounts(np.flatnonzero(tied), None, None, None)
    up = by_published & (people.published > 0.5)
    down = by_published & ~up
    meant = (up & people.in_arm("safe")) | (down & people.in_arm("unsafe"))
    return TieCounts(np.flatnonzero(tied), int(up.sum()), int(down.sum()), int(meant.sum()))


def raters_like_intention(people: People) -> tuple[str, ...]:
    """Raters (columns) whose every vote is the intended side, on both sides, on enough cases."""
    if people.single is None:
        return ()
    votes = people.single
    arm = people.arm[votes.case]
    size = len(votes.names)
    same = np.where(arm == "safe", votes.verdict == 1, votes.verdict == 0) & (
        (arm == "safe") | (arm == "unsafe")
    )
    judged = [np.bincount(votes.rater[arm == side], minlength=size) for side in ("safe", "unsafe")]
    matched = np.bincount(votes.rater[same], minlength=size)
    n = judged[0] + judged[1]
    alike = (matched == n) & (n >= LEAST_CASES) & (judged[0] > 0) & (judged[1] > 0)
    return tuple(votes.names[place] for place in np.flatnonzero(alike))


def column_effects(people: People) -> ColumnEffects | None:
    """Cochran's Q of the columns of votes, over all cases and within category and arm.

    If columns were shuffled anew for each case, no column could differ from another beyond
    chance. Within a block, columns are compared that voted on each of its cases. None without
    single votes.
    """
    if people.single is None:
        return None
    votes = people.single
    voted = np.bincount(votes.rater, minlength=len(votes.names))
    means = np.bincount(votes.rater, votes.verdict, minlength=len(votes.names)) / voted
    overall = cochran_q(_full_table(votes, np.ones(len(people.safe), bool)))
    q, df, blocks = 0.0, 0, 0
    for block in _blocks(people):
        test = cochran_q(_full_table(votes, block))
        if math.isfinite(test.statistic):
            q, df, blocks = q + test.statistic, df + test.groups - 1, blocks + 1
    return ColumnEffects(
        columns=len(votes.names),
        lowest=float(means.min()),
        highest=float(means.max()),
        overall_q=overall.statistic,
        overall_p=overall.p,
        within_q=q if blocks else math.nan,
        within_df=df,
        within_p=chi_squared(q, df, blocks).p if blocks else math.nan,
        shifting_p=_excess_p(q, df, overall),
        blocks=blocks,
        most_categories=_most_categories(people, votes),
        categories=len(np.unique(people.category[people.voted & (people.category != "")])),
    )


def _excess_p(q: float, df: int, overall: GroupTest) -> float:
    """Both statistics are chi-squared where no column differs, so their excess is one too."""
    left = df - (overall.groups - 1)
    if not math.isfinite(overall.statistic) or left < 1:
        return math.nan
    return chi_squared(max(0.0, q - overall.statistic), left, overall.groups).p


def _most_categories(people: People, votes: SingleVotes) -> int:
    names, category = np.unique(people.category, return_inverse=True)
    seen = np.unique(votes.rater * len(names) + category[votes.case])
    named = seen[names[seen % len(names)] != ""]
    return int(np.bincount(named // len(names)).max()) if len(named) else 0


def _blocks(people: People) -> list[BoolArray]:
    """The cases of each category and arm; none without categories."""
    named = people.voted & (people.category != "")
    keys = np.char.add(np.char.add(people.category, "\n"), people.arm)
    return [named & (keys == key) for key in np.unique(keys[named])]


def _full_table(votes: SingleVotes, kept: BoolArray) -> FloatArray:
    """Votes of the cases kept, in the columns that voted once on each. Shape ``(rows, columns)``.

    Empty for fewer than two cases.
    """
    here = votes.only(kept)
    cases, row = np.unique(here.case, return_inverse=True)
    if len(cases) < 2:
        return np.empty((0, 0))
    raters, column, n = np.unique(here.rater, return_inverse=True, return_counts=True)
    full = n == len(cases)
    entries = full[column]
    pairs = np.unique(row[entries] * len(raters) + column[entries])
    if len(pairs) < entries.sum():
        return np.empty((0, 0))  # somebody voted twice on a case
    table = np.full((len(cases), len(raters)), np.nan)
    table[row[entries], column[entries]] = here.verdict[entries]
    return table[:, full]
