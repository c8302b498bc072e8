"""Effect of the context on people's votes: arm against arm, and any contexts of one query."""

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from casewise import statistics
from casewise.choices import WeighBy
from casewise.dataset._people import ARMS, People

LEAST_P = sys.float_info.min
"""Replacement for a p below the smallest number that a float holds exactly: never 0."""


@dataclass(frozen=True, slots=True)
class ContextEffect:
    """Votes in one arm against those in another; NaN is undefined."""

    arms: tuple[str, str]
    safe_votes: tuple[int, int]
    """Safe votes in the first arm and in the second."""
    votes: tuple[int, int]
    difference: statistics.Estimate
    """Share of safe votes in the first arm less that in the second, over all votes, -1..1. Of
    sequential votes the mean difference; NaN where shares lean and nothing allows for it."""
    mean_difference: float
    """The same of the mean shares of cases; equal where all cases have as many votes. Of
    sequential votes, the shares of their first votes, if known."""
    cohen_h: float
    """Cohen's h of the shares over all votes; of sequential votes, of the mean shares of cases."""
    z_tests: statistics.ProportionTests
    """A test for each query with votes in both arms; none of sequential votes."""
    mantel_haenszel_or: float
    """Odds ratio of a safe vote with queries as strata."""

    @property
    def clustered_se(self) -> float:
        """Standard error of ``difference``, clustered by query."""
        return self.difference.se

    @property
    def clustered_z(self) -> float:
        """The difference over its error; NaN where there is none."""
        return self.difference.value / self.clustered_se if self.clustered_se > 0 else math.nan

    @property
    def p(self) -> float:
        """Two-sided p of the test that the interval inverts; not below ``LEAST_P``."""
        return max(LEAST_P, self.difference.p) if self.difference.p >= 0 else math.nan


ANY_CONTEXT = "context"
"""The name of the arm of contexts without an intended side."""


@dataclass(frozen=True, slots=True)
class LabelFlips:
    """Pairs of cases of one query that people voted on; a majority's verdict is the label."""

    queries: int
    """Queries that have such a pair."""
    pairs: int
    flips: statistics.Estimate
    """The share of pairs whose labels differ, in 0..1; a tie is half safe, and what weighs alike is
    ``ContextVotes.weigh_by``."""


@dataclass(frozen=True, slots=True)
class ContextVotes:
    """Effect of any number of contexts on votes; None: these cases don't have it."""

    contexts: LabelFlips | None
    """Every two contexts of a query, unless each two are one meant safe and one meant unsafe."""
    vote_share: statistics.Estimate
    """The share of the variance of votes that is between contexts of one query, in 0..1."""
    seen: LabelFlips | None
    """A query without a context, against it in each of its contexts."""
    weigh_by: WeighBy
    """Unit that weighs alike in figures of pairs."""


def context_votes(people: People, weigh_by: WeighBy) -> ContextVotes:
    """Compare the votes on every two cases of a query."""
    none = people.in_arm("none")
    of_query: dict[int, list[int]] = defaultdict(list)
    for place in np.flatnonzero(people.voted):
        of_query[int(people.query[place])].append(int(place))
    pairs = [pair for places in of_query.values() for pair in combinations(places, 2)]
    contexts = [(i, j) for i, j in pairs if not (none[i] or none[j])]
    seen = [(i, j) for i, j in pairs if none[i] != none[j]]
    twins = sum({people.arm[i], people.arm[j]} == {"safe", "unsafe"} for i, j in contexts)
    told = ~none
    clusters = statistics.Clusters(people.query, people.queries)
    return ContextVotes(
        contexts=_label_flips(people, contexts, weigh_by) if len(contexts) > twins else None,
        vote_share=statistics.UNDEFINED
        if people.sequential
        else statistics.vote_share(people.safe[told], people.unsafe[told], clusters.only(told)),
        seen=_label_flips(people, seen, weigh_by) if seen else None,
        weigh_by=weigh_by,
    )


def _label_flips(people: People, pairs: Sequence[tuple[int, int]], weigh_by: WeighBy) -> LabelFlips:
    places = np.array(pairs)
    share = people.share[places]
    labels = np.where(share == 0.5, 0.5, share > 0.5)
    queries = people.query[places[:, 0]]
    clusters = statistics.Clusters(queries, people.queries, alike=weigh_by is WeighBy.QUERY)
    found = statistics.label_flips(labels, clusters)
    return LabelFlips(len(np.unique(queries)), len(places), found)


@dataclass(frozen=True, slots=True)
class CategoryTests:
    """Kruskal-Wallis tests of the cases' published safe rates, or else shares of safe votes."""

    by_category: dict[str, statistics.GroupTest]
    """Over categories, within each arm."""
    by_arm: statistics.GroupTest
    """Over arms."""


def context_effect(people: People, first: str, second: str) -> ContextEffect:
    """Compare the votes of two arms.

    Args:
        people: The cases.
        first: The arm with, by intention, more safe votes; "" are contexts without an intended
            side.
        second: The other.
    """
    sides = [people.in_arm(arm) & people.voted for arm in (first, second)]
    safe, total = np.nan_to_num(people.safe), np.nan_to_num(people.safe + people.unsafe)
    clusters = statistics.Clusters(people.query, people.queries)
    # Cases that people disagree on have more of the sequential votes, so there cases weigh alike.
    weight = people.voted.astype(float) if people.sequential else total
    said = np.nan_to_num(people.rate) * weight if people.sequential else safe
    shares = [statistics.clustered_ratio(said * side, weight * side, clusters) for side in sides]
    means = [
        statistics.clustered_mean(people.rate[side], clusters.only(side)).value for side in sides
    ]
    difference = statistics.UNDEFINED if people.leans else shares[0] - shares[1]
    pairs = _by_query(people, [side & (not people.sequential) for side in sides])
    compared = means if people.sequential else [share.value for share in shares]
    return ContextEffect(
        arms=(first or ANY_CONTEXT, second),
        safe_votes=_summed(safe, sides),
        votes=_summed(total, sides),
        difference=difference,
        mean_difference=means[0] - means[1],
        cohen_h=statistics.cohen_h(*compared),
        z_tests=statistics.proportion_tests(pairs),
        mantel_haenszel_or=statistics.mantel_haenszel(pairs),
    )


def category_tests(people: People) -> CategoryTests:
    """Test whether cases differ over categories within an arm, and over arms."""
    # Where shares lean to the majority, only a published rate is compared.
    share = np.full_like(people.share, np.nan) if people.leans else people.rate
    rate = np.where(np.isnan(people.published), share, people.published)
    known = ~np.isnan(rate)
    names = np.unique(people.category[people.category != ""])
    arms = {arm: known & people.in_arm(arm) for arm in ARMS}
    return CategoryTests(
        {
            arm: statistics.kruskal_wallis([rate[here & (people.category == one)] for one in names])
            for arm, here in arms.items()
        },
        statistics.kruskal_wallis([rate[here] for here in arms.values()]),
    )


def _by_query(people: People, sides: Sequence[statistics.BoolArray]) -> statistics.PairVotes:
    """The votes of each query, by arm."""
    votes = [np.nan_to_num(one) for one in (people.safe, people.unsafe)]
    return statistics.PairVotes(
        *(
            np.bincount(people.query, one * side, people.queries).astype(float)
            for side in sides
            for one in votes
        )
    )


def _summed(votes: statistics.FloatArray, sides: Sequence[statistics.BoolArray]) -> tuple[int, int]:
    first, second = (int((votes * side).sum()) for side in sides)
    return first, second
