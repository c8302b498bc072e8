"""Describe a data set's human side: context effect, agreement, ceilings, provenance."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.cases import CaseSet
from casewise.dataset._provenance_checks import Provenance, check_provenance
from casewise.dataset._vote_checks import ARMS, BoolArray, FloatArray, People, to_people
from casewise.statistics import (
    Agreement,
    Clusters,
    GroupTest,
    OnePerson,
    Oracle,
    PairVotes,
    Panel,
    ProportionTests,
    Resampling,
    VoteReliability,
    agreement,
    clustered_mean,
    clustered_ratio,
    cohen_h,
    kruskal_wallis,
    mantel_haenszel,
    one_person,
    one_person_by_rater,
    oracle,
    panel,
    proportion_tests,
    reliability_icc,
    split_half,
)

LEAST_P = sys.float_info.min
"""What stands for a p below the smallest number that a float holds exactly: never 0."""


@dataclass(frozen=True, slots=True)
class ContextEffect:
    """Votes in one arm against those in another; NaN is undefined."""

    arms: tuple[str, str]
    safe_votes: tuple[int, int]
    """In the first arm and in the second."""
    votes: tuple[int, int]
    difference: float
    """Share of safe votes in the first arm less that in the second, over all votes, -1..1."""
    mean_difference: float
    """The same of the mean shares of cases; equal where all cases have as many votes."""
    clustered_se: float
    """Standard error of ``difference``, clustered by query."""
    difference_ci: tuple[float, float]
    """95 % by the cluster bootstrap."""
    clustered_z: float
    p: float
    """Two-sided, of ``clustered_z``; not below ``LEAST_P``."""
    cohen_h: float
    """Of the shares over all votes."""
    z_tests: ProportionTests
    """A test for each query with votes in both arms."""
    mantel_haenszel_or: float
    """Odds ratio of a safe vote with queries as strata."""


@dataclass(frozen=True, slots=True)
class CategoryTests:
    """Kruskal-Wallis tests of the cases' published safe rates, or else shares of safe votes."""

    by_category: dict[str, GroupTest]
    """Over categories, within each arm."""
    by_arm: GroupTest
    """Over arms."""


def context_effect(
    people: People, first: str, second: str, resampling: Resampling | None = None
) -> ContextEffect:
    """Compare the votes of two arms.

    Args:
        people: The cases.
        first: The arm with, by intention, more safe votes.
        second: The other.
        resampling: Of the bootstrap's interval; None leaves it undefined.
    """
    sides = [people.in_arm(arm) & people.voted for arm in (first, second)]
    safe, total = _filled(people.safe), _filled(people.safe + people.unsafe)
    clusters = Clusters(people.query, people.queries, resampling)
    shares = [clustered_ratio(safe * side, total * side, clusters) for side in sides]
    means = [clustered_mean(people.share[side], clusters.only(side)).value for side in sides]
    difference = shares[0] - shares[1]
    se = difference.se
    z = difference.value / se if se > 0 else math.nan
    pairs = _by_query(people, sides)
    return ContextEffect(
        arms=(first, second),
        safe_votes=_both([int((safe * side).sum()) for side in sides]),
        votes=_both([int((total * side).sum()) for side in sides]),
        difference=difference.value,
        mean_difference=means[0] - means[1],
        clustered_se=se,
        difference_ci=_interval(difference.bootstrap_interval, se),
        clustered_z=z,
        p=max(math.erfc(abs(z) / math.sqrt(2)), LEAST_P) if math.isfinite(z) else math.nan,
        cohen_h=cohen_h(shares[0].value, shares[1].value),
        z_tests=proportion_tests(pairs),
        mantel_haenszel_or=mantel_haenszel(pairs),
    )


def category_tests(people: People) -> CategoryTests:
    """Whether cases differ over categories within an arm, and over arms."""
    rate = np.where(np.isnan(people.published), people.share, people.published)
    known = ~np.isnan(rate)
    names = np.unique(people.category[people.category != ""])
    by_category = {}
    for arm in ARMS:
        here = known & people.in_arm(arm)
        groups = [rate[here & (people.category == name)] for name in names]
        by_category[arm] = kruskal_wallis(groups)
    return CategoryTests(
        by_category, kruskal_wallis([rate[known & people.in_arm(arm)] for arm in ARMS])
    )


def _by_query(people: People, sides: Sequence[BoolArray]) -> PairVotes:
    """The votes of each query, by arm."""

    def summed(values: FloatArray, side: BoolArray) -> FloatArray:
        kept = _filled(values) * side
        return np.bincount(people.query, kept, minlength=people.queries).astype(np.float64)

    first, second = sides
    return PairVotes(
        summed(people.safe, first),
        summed(people.unsafe, first),
        summed(people.safe, second),
        summed(people.unsafe, second),
    )


def _filled(votes: FloatArray) -> FloatArray:
    return np.nan_to_num(votes)


def _both(counts: Sequence[int]) -> tuple[int, int]:
    return counts[0], counts[1]


def _interval(bootstrapped: tuple[float, float] | None, se: float) -> tuple[float, float]:
    """No interval where there is no standard error either: a single query varies with nothing."""
    return bootstrapped if bootstrapped is not None and math.isfinite(se) else (math.nan, math.nan)


PARTS = ("all", *ARMS)
"""What agreement and ceilings are computed over: all cases, and each arm."""

DRAWS = 2000
"""Draws of the bootstrap."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How well anybody could do on some cases."""

    reliability: VoteReliability
    split_half: float
    """Reliability from random halves of the votes."""
    person: OnePerson
    panel: Panel
    oracle: Oracle


@dataclass(frozen=True, slots=True)
class Description:
    """The human side of a data set."""

    name: str
    hash: str
    cases: int
    queries: int
    categories: int
    arms: dict[str, int]
    """Cases of each arm; ``unknown`` counts contexts without an intended side."""
    meant_alone: dict[str, int]
    """Cases without a context by the side that their authors mean; empty where they mean none."""
    voted: int
    """Cases with votes."""
    votes: int
    effect: ContextEffect
    """Safe against unsafe."""
    against_none: dict[str, ContextEffect]
    """Safe and unsafe against no context; empty where every case has one."""
    tests: CategoryTests
    agreement: dict[str, Agreement]
    """By ``PARTS``."""
    ceilings: dict[str, Ceiling]
    """By ``PARTS``."""
    by_rater: bool
    """Whether one person is a rater (a column of votes), or any vote."""
    provenance: Provenance
    remarks: tuple[str, ...]
    """Why figures are undefined, and what they rest on."""


def describe_cases(loaded: CaseSet, *, draws: int = DRAWS, seed: int = 0) -> Description:
    """Describe the votes on a set of cases.

    Args:
        loaded: The cases.
        draws: Of the cluster bootstrap; 0 leaves the intervals undefined.
        seed: Of the bootstrap, the random halves and the simulations.
    """
    people = to_people(loaded.cases)
    resampling = Resampling(draws, seed) if draws else None
    parts = {part: _part(people, part) for part in PARTS}
    counts = {arm: int(people.in_arm(arm).sum()) for arm in ARMS}
    against = [arm for arm in ("safe", "unsafe") if counts["none"] and counts[arm]]
    ceilings = {part: _ceiling(people, kept, seed) for part, kept in parts.items()}
    effect = context_effect(people, "safe", "unsafe", resampling)
    return Description(
        name=loaded.name,
        hash=loaded.hash,
        cases=len(loaded.cases),
        queries=people.queries,
        categories=len(np.unique(people.category[people.category != ""])),
        arms=counts | {"unknown": int(people.in_arm("").sum())},
        meant_alone=dict(
            Counter(
                case.intended
                for case in loaded.cases
                if case.context is None and case.intended is not None
            )
        ),
        voted=int(people.voted.sum()),
        votes=int(np.nansum(people.safe + people.unsafe)),
        effect=effect,
        against_none={arm: context_effect(people, arm, "none", resampling) for arm in against},
        tests=category_tests(people),
        agreement={
            part: agreement(people.safe[kept], people.unsafe[kept], people.query[kept], resampling)
            for part, kept in parts.items()
        },
        ceilings=ceilings,
        by_rater=people.single is not None,
        provenance=check_provenance(loaded.cases, people),
        remarks=tuple(_remarks(people, ceilings["all"], effect)),
    )


def _part(people: People, part: str) -> BoolArray:
    return np.ones(len(people.safe), bool) if part == "all" else people.in_arm(part)


def _ceiling(people: People, kept: BoolArray, seed: int) -> Ceiling:
    safe, unsafe = people.safe[kept], people.unsafe[kept]
    arms = np.array([*ARMS, ""])
    arm = np.argmax(people.arm[kept][:, None] == arms, axis=1)
    if people.single is None:
        person = one_person(safe, unsafe)
    else:
        votes = people.single.only(kept)
        person = one_person_by_rater(votes.verdict, votes.case, votes.rater)
    return Ceiling(
        reliability=reliability_icc(safe, unsafe),
        split_half=split_half(safe, unsafe, seed),
        person=person,
        panel=panel(safe, unsafe, seed, arm),
        oracle=oracle(safe, unsafe, seed, arm),
    )


def _remarks(people: People, ceiling: Ceiling, effect: ContextEffect) -> list[str]:
    """A sentence for everything that is undefined, and for what is computed another way."""
    voted = int(people.voted.sum())
    if not voted:
        return [
            "Nobody has voted on these cases, so nothing can be said about people: collect votes, "
            "and put them into the field votes."
        ]
    lines = [
        *_effect_remarks(people, effect),
        *_spread_remarks(people, ceiling),
    ]
    if voted < len(people.safe):
        lines.append(
            f"{len(people.safe) - voted} of {len(people.safe)} cases have no votes and are left "
            "out of every figure about people."
        )
    if people.single is None:
        lines.append(
            "Some votes are counts or have no rater, so one person is any vote against the other "
            "votes of its case, and columns of votes can't be checked."
        )
    if not (people.category != "").any():
        lines.append("No case has a category, so categories can't be compared.")
    return lines


def _effect_remarks(people: People, effect: ContextEffect) -> list[str]:
    lines = []
    if (people.in_arm("") & people.voted).any():
        lines.append(
            "Some contexts have no intended side (the field intended), so their votes stand in no "
            "arm and count for 'all' alone."
        )
    lacking = [arm for arm, n in zip(effect.arms, effect.votes, strict=True) if not n]
    if lacking:
        sides = " or ".join(lacking)
        lines.append(f"No context intended {sides} has votes, so there is no context effect.")
    elif not effect.z_tests.n:
        lines.append("No query has votes in both arms, so no pair can be tested.")
    if not lacking and math.isnan(effect.clustered_z):
        lines.append(
            "The context effect has no standard error: that takes two queries or more which differ."
        )
    return lines


def _spread_remarks(people: People, ceiling: Ceiling) -> list[str]:
    voted = people.voted
    safe, unsafe = people.safe[voted], people.unsafe[voted]
    if (safe + unsafe).max() < 2:
        return ["No case has two votes, so agreement and ceilings are undefined."]
    if not safe.sum() or not unsafe.sum():
        return [
            "All votes are alike, so chance-corrected agreement, correlations and the oracle are "
            "undefined."
        ]
    if len(safe) < 2:
        return ["Only one case has votes, so nothing that compares cases is defined."]
    if math.isnan(ceiling.reliability.icc):
        return [
            "The cases' shares of safe votes are all equal: there is nothing to correlate with."
        ]
    lines = []
    if ceiling.reliability.icc < 0:
        lines.append(
            "The cases differ less than chance alone would have them (ICC below 0), so these votes "
            "set no correlation that could be reached."
        )
    if math.isnan(ceiling.oracle.accuracy):
        lines.append(
            "In some arm the votes are too few or all alike, so no distribution of rates can be "
            "fitted, and the oracle and the second panel are undefined."
        )
    return lines
