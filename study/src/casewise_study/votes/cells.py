"""Votes by cell, by arm, and contrasts between arms."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

import casewise.statistics as statistics
from casewise.cases import Side
from casewise_study.statistics.dawid_skene import DawidSkene
from casewise_study.statistics.stopping import decided_at
from casewise_study.statistics.two_way import TwoWay, two_way
from casewise_study.study.schema import Arm, Study
from casewise_study.votes.collected import VoteTable

NO_INTERVALS = (
    "Cases stopped once their majority was decided: labels hold, but raw shares of safe votes lean "
    "to the majority. So shares, their differences and agreement are what first votes said, "
    "in all orders of the votes that end where they ended (Girshick, Mosteller & Savage 1946), and "
    "cases weigh alike. Intervals of single cases, tests of single queries and odds ratios aren't "
    "given"
)
"""Figures that a study with sequential collection has and lacks."""

CONTRASTS = ((Arm.SAFE, Arm.UNSAFE), (Arm.SAFE, Arm.NONE), (Arm.NONE, Arm.UNSAFE))
"""Arms that are compared; the first has, by intention, more safe votes."""


SIDES: Mapping[float, Side | None] = {1: "safe", -1: "unsafe", 0: None}
"""Majority by its sign."""


@dataclass(frozen=True, slots=True)
class CellVotes:
    """A case under an arm; NaN is undefined."""

    arm: Arm
    case_id: str
    safe: int
    unsafe: int
    share_safe: float
    """Of people who say safe, 0..1: of the votes, and of first votes under sequential collection;
    NaN without votes."""
    interval: tuple[float, float]
    """95 %, Wilson's: each vote is another person's; NaN under sequential collection."""
    majority: Side | None
    """None of a tie, and without votes."""
    quota_met: bool
    """True if it needs no more votes: it has all, or its majority was decided."""
    p_safe: float
    """Probability of safe by Dawid & Skene's model, 0..1: votes weighted by how well people
    tell."""

    @property
    def votes(self) -> int:
        """Number of votes."""
        return self.safe + self.unsafe

    @property
    def is_tie(self) -> bool:
        """True with as many safe as unsafe votes, and any at all."""
        return self.safe == self.unsafe > 0


@dataclass(frozen=True, slots=True)
class ArmVotes:
    """The cells of one arm together."""

    arm: Arm
    cells: int
    votes: int
    quota_met: int
    """Cells that have all their votes."""
    majority_safe: int
    """Cells."""
    majority_unsafe: int
    ties: int
    share_safe: TwoWay
    """Mean over cells of the share of safe votes, with an error for cases (by query) and people;
    of first votes under sequential collection."""
    agreement: statistics.Agreement
    """Agreement of the votes on one case, of first votes under sequential collection; intervals by
    drawing queries anew."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Effect of the context: the votes of two arms, over queries judged under both."""

    first: Arm
    second: Arm
    queries: int
    difference: TwoWay
    """Mean share of safe votes of the first arm's cells less that of the second's, -1..1, with an
    error for queries and people; of first votes under sequential collection."""
    cohen_h: float
    z_tests: statistics.ProportionTests
    """A test for each query; none under sequential collection."""
    mantel_haenszel_or: float
    """Odds ratio of a safe vote, with queries as strata; NaN under sequential collection."""
    majority_flips: int
    """Queries whose majority is safe in one arm and unsafe in the other."""


class Stopped(StrEnum):
    """Reason why a case is asked no further under sequential collection, if any."""

    POSTERIOR = "posterior"
    MOST_VOTES = "most_votes"
    """It came to the most votes undecided."""
    OPEN = "open"
    """It is asked on."""


@dataclass(frozen=True, slots=True)
class CellStop:
    """End of the votes on one cell under sequential collection."""

    arm: Arm
    case_id: str
    stopped: Stopped
    at: int | None
    """The number of votes when it was decided; None where it wasn't."""
    votes: int
    """All that count, with those that came after it was decided."""


def cell_stops(study: Study, table: VoteTable) -> tuple[CellStop, ...]:
    """Say what stopped each cell, in the order of the design; empty under fixed collection."""
    if not study.collection.is_sequential:
        return ()
    decided = decided_at(
        study.collection.boundary, table.cell, table.safe, len(table.cells)
    ).tolist()
    stops = []
    for cell, at, votes in zip(table.cells, decided, map(int, table.counts), strict=True):
        most = Stopped.MOST_VOTES if votes >= study.votes else Stopped.OPEN
        stops.append(CellStop(*cell, Stopped.POSTERIOR if at else most, at or None, votes))
    return tuple(stops)


def decided_cases(stops: Sequence[CellStop]) -> frozenset[str]:
    """The ids of the cases that the rule decided."""
    return frozenset(stop.case_id for stop in stops if stop.stopped is Stopped.POSTERIOR)


def cell_votes(
    table: VoteTable, quota: int, classes: DawidSkene, stops: Sequence[CellStop] = ()
) -> tuple[CellVotes, ...]:
    """Every cell of the study, in the order of its design."""
    decided = decided_cases(stops)
    counts = table.counts_safe, table.counts
    with np.errstate(invalid="ignore"):
        shares = counts[0] / counts[1] if table.first is None else table.first.safe
    floats = (shares.tolist(), map(SIDES.get, table.majorities.tolist()), classes.p_safe.tolist())
    columns = (*(map(int, column) for column in counts), *floats)
    votes = []
    for (arm, case_id), safe, n, share, majority, p_safe in zip(table.cells, *columns, strict=True):
        interval = (math.nan, math.nan)
        if not table.is_sequential:
            interval = statistics.wilson_interval(share, n)
        met = n >= quota or case_id in decided
        cell = CellVotes(arm, case_id, safe, n - safe, share, interval, majority, met, p_safe)
        votes.append(cell)
    return tuple(votes)


def arm_votes(table: VoteTable, cells: Sequence[CellVotes]) -> tuple[ArmVotes, ...]:
    """Every arm that has cells."""
    queries = table.cell_queries()
    safe, counts = table.counts_safe, table.counts
    votes = []
    for arm in table.arms:
        places = table.arm_places(arm)
        here = [cells[place] for place in places]
        votes.append(
            ArmVotes(
                arm=arm,
                cells=len(here),
                votes=sum(cell.votes for cell in here),
                quota_met=sum(cell.quota_met for cell in here),
                majority_safe=sum(cell.majority == "safe" for cell in here),
                majority_unsafe=sum(cell.majority == "unsafe" for cell in here),
                ties=sum(cell.is_tie for cell in here),
                share_safe=mean_share(table.only(table.in_arm(arm))),
                agreement=statistics.agreement(
                    safe[places],
                    (counts - safe)[places],
                    queries[places],
                    None if table.first is None else table.first.only(places),
                ),
            )
        )
    return tuple(votes)


def mean_share(table: VoteTable) -> TwoWay:
    """The mean over cells of their share of safe votes."""
    return _share_difference(table, [np.ones_like(table.safe)])


def _share_difference(table: VoteTable, sides: Sequence[statistics.FloatArray]) -> TwoWay:
    """The mean share of safe votes of one side's cells, less that of the other side's, if any."""

    def figure(clusters: statistics.Clusters) -> statistics.Estimate:
        shares = [
            statistics.clustered_ratio(
                table.safe * table.weight * side, table.weight * side, clusters
            )
            for side in sides
        ]
        return shares[0] - shares[1] if len(shares) > 1 else shares[0]

    return two_way(figure, table.by_query, table.by_rater)


@dataclass(frozen=True, slots=True, eq=False)
class PairedArms:
    """The votes on the queries that have votes under both of two arms."""

    table: VoteTable
    first: Arm
    second: Arm

    @property
    def sides(self) -> tuple[statistics.FloatArray, statistics.FloatArray]:
        """Masks of votes in the first arm and in the second. Shapes ``(votes,)``."""
        first, second = map(self.table.in_arm, (self.first, self.second))
        return first.astype(np.float64), second.astype(np.float64)

    @property
    def difference(self) -> TwoWay:
        """Mean share of safe votes of the first arm's cells less that of the second's."""
        return _share_difference(self.table, self.sides)


def pairs_of_arms(table: VoteTable) -> list[PairedArms]:
    """Every two arms that share a query with votes in both."""
    pairs = []
    for first, second in CONTRASTS:
        one, other = (np.unique(table.query[table.in_arm(arm)]) for arm in (first, second))
        both = np.intersect1d(one, other)
        if len(both):
            pairs.append(PairedArms(table.only(np.isin(table.query, both)), first, second))
    return pairs


def contrast(paired: PairedArms) -> Contrast:
    """Effect of the context on the votes of two arms."""
    table, sides = paired.table, paired.sides
    asked, query = np.unique(table.query, return_inverse=True)
    counts = [
        np.bincount(query, weight, minlength=len(asked)).astype(np.float64)
        for side in sides
        for weight in (side * table.safe, side * (1 - table.safe))
    ]
    pairs = statistics.PairVotes(*counts)
    leaning = np.sign(pairs.safe_1 - pairs.unsafe_1) * np.sign(pairs.safe_2 - pairs.unsafe_2)
    weighed = [table.weight * side for side in sides]
    shares = [float((table.safe * one).sum() / one.sum()) for one in weighed]
    tested, odds = pairs, statistics.mantel_haenszel(pairs)
    if table.is_sequential:
        tested, odds = statistics.PairVotes(*(column[:0] for column in counts)), math.nan
    return Contrast(
        first=paired.first,
        second=paired.second,
        queries=len(asked),
        difference=paired.difference,
        cohen_h=statistics.cohen_h(shares[0], shares[1]),
        z_tests=statistics.proportion_tests(tested),
        mantel_haenszel_or=odds,
        majority_flips=int((leaning < 0).sum()),
    )
