"""Description of a data set's human side: effect of the context, agreement, ceilings, findings."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from casewise import statistics
from casewise.cases import CaseSet, Shape, shape_of
from casewise.dataset.checks import VOTES, results
from casewise.dataset.findings import AuditInput, Finding
from casewise.dataset.people import ARMS, People
from casewise.statistics import Estimate

LEAST_P = sys.float_info.min
"""Replacement for a p below the smallest number that a float holds exactly: never 0."""

ANY_CONTEXT = "context"
"""The name of the arm of contexts without an intended side."""


@dataclass(frozen=True, slots=True)
class ContextEffect:
    """Votes in one arm against those in another; NaN is undefined."""

    arms: tuple[str, str]
    safe_votes: tuple[int, int]
    """Safe votes in the first arm and in the second."""
    votes: tuple[int, int]
    difference: Estimate
    """Share of safe votes in the first arm less that in the second, over all votes, -1..1."""
    p: float
    """Two-sided p of the test that the interval inverts; not below ``LEAST_P``."""
    pooled_z: float
    """Two-proportion z-test over all votes, taken as independent."""
    pooled_p: float
    z_tests: statistics.ProportionTests | None
    """A test for each query with votes in both arms; None without such queries."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Best scores that anybody can expect on some cases, since people disagree."""

    cases: int
    votes_a_case: float
    icc: float
    """Reliability of the shares, ICC(1,k)."""
    pcc: float
    """Correlation with the shares that knowing every true rate would give."""
    person_accuracy: float
    """One person against the others who judged the same case."""
    person_pcc: float
    oracle_accuracy: float
    """Somebody who knows every case's true rate."""
    oracle_bce: float
    oracle_brier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteFigures:
    """Figures of people's votes that have an interval."""

    context_effect: ContextEffect
    """Votes in contexts intended safe, against those intended unsafe."""
    against_none: dict[str, ContextEffect]
    """Safe, unsafe and, as ``context``, contexts without an intended side against no context;
    empty where every case has one."""
    agreement: dict[str, statistics.Agreement]
    """Agreement on all cases (``all``), and on those of each arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description(VoteFigures):
    """The human side of a data set; its fields are the keys of its JSON."""

    name: str
    dataset_hash: str
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
    sequential_votes: int
    """Cases that were asked no further once their majority was decided: where there are any, no
    figure of votes is given."""
    shape: Shape
    ceiling: dict[str, Ceiling]
    """Ceilings of the parts of ``agreement``."""
    findings: tuple[Finding, ...]


def describe_cases(loaded: CaseSet) -> Description:
    """Describe the votes on a set of cases."""
    data = AuditInput(loaded.cases)
    people = data.people
    counted = people
    if people.sequential:
        # Shares of such votes lean to the majority, so nothing is made of any.
        nothing = np.full_like(people.safe, np.nan)
        counted = replace(people, safe=nothing, unsafe=nothing, single=None)
    figures = vote_figures(counted)
    return Description(
        **{field.name: getattr(figures, field.name) for field in fields(figures)},
        name=loaded.name,
        dataset_hash=loaded.hash,
        cases=len(loaded.cases),
        queries=people.queries,
        categories=len(np.unique(people.category[people.category != ""])),
        arms={arm or "unknown": int(people.in_arm(arm).sum()) for arm in (*ARMS, "")},
        meant_alone=dict(
            Counter(
                case.intended for case in loaded.cases if case.context is None and case.intended
            )
        ),
        voted=int(people.voted.sum()),
        votes=int(np.nansum(people.safe + people.unsafe)),
        sequential_votes=people.sequential,
        shape=shape_of(loaded.cases),
        ceiling={part: _ceiling(counted, mask) for part, mask in _parts(people).items()},
        findings=tuple(result for result in results(data, VOTES) if result.is_reported),
    )


def vote_figures(people: People) -> VoteFigures:
    """Figures of votes that have an interval, clustered by query."""
    none = people.in_arm("none")
    against = [arm for arm in ("safe", "unsafe", "") if none.any() and people.in_arm(arm).any()]
    return VoteFigures(
        context_effect=context_effect(people, "safe", "unsafe"),
        against_none={arm or ANY_CONTEXT: context_effect(people, arm, "none") for arm in against},
        agreement={
            part: statistics.agreement(people.safe[mask], people.unsafe[mask], people.query[mask])
            for part, mask in _parts(people).items()
        },
    )


def context_effect(people: People, first: str, second: str) -> ContextEffect:
    """Compare the votes of two arms.

    Args:
        people: The cases.
        first: The arm with, by intention, more safe votes; "" are contexts without an intended
            side.
        second: The other.
    """
    sides = [people.in_arm(arm) & people.voted for arm in (first, second)]
    safe, unsafe = np.nan_to_num(people.safe), np.nan_to_num(people.unsafe)
    clusters = statistics.Clusters(people.query, people.queries)
    weight = safe + unsafe
    shares = [statistics.clustered_ratio(safe * side, weight * side, clusters) for side in sides]
    difference = shares[0] - shares[1]
    by_query = [
        np.bincount(people.query, votes * side, people.queries).astype(float)
        for side in sides
        for votes in (safe, unsafe)
    ]
    pairs = statistics.PairVotes(*by_query)
    pooled = statistics.PairVotes(*(votes.sum(keepdims=True) for votes in by_query))
    tests = statistics.proportion_tests(pairs)
    return ContextEffect(
        arms=(first or ANY_CONTEXT, second),
        safe_votes=_summed(safe, sides),
        votes=_summed(weight, sides),
        difference=difference,
        p=float(np.maximum(LEAST_P, difference.p)),
        pooled_z=float(statistics.two_proportion_z(pooled)[0]),
        pooled_p=float(np.maximum(LEAST_P, statistics.two_proportion_p(pooled)[0])),
        z_tests=tests if tests.n else None,
    )


def _summed(votes: statistics.FloatArray, sides: Sequence[statistics.BoolArray]) -> tuple[int, int]:
    first, second = (int((votes * side).sum()) for side in sides)
    return first, second


def _parts(people: People) -> dict[str, statistics.BoolArray]:
    """All cases, and those of each arm that there is."""
    arms = {arm: people.in_arm(arm) for arm in ARMS}
    groups = {arm: here for arm, here in arms.items() if arm != "none" or here.any()}
    return {"all": np.ones(len(people.safe), bool)} | groups


def _ceiling(people: People, mask: statistics.BoolArray) -> Ceiling:
    safe, unsafe = people.safe[mask], people.unsafe[mask]
    arm = np.argmax(people.arm[mask][:, None] == np.array([*ARMS, ""]), axis=1)
    person = statistics.one_person(safe, unsafe)
    reliability = statistics.reliability_icc(safe, unsafe)
    oracle = statistics.oracle(safe, unsafe, arm)
    return Ceiling(
        cases=reliability.cases,
        votes_a_case=reliability.votes,
        icc=reliability.icc,
        pcc=reliability.pcc,
        person_accuracy=person.accuracy,
        person_pcc=person.pcc,
        oracle_accuracy=oracle.accuracy,
        oracle_bce=oracle.bce,
        oracle_brier=oracle.brier,
    )
