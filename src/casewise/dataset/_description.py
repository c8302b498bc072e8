"""Describe a data set's human side: context effect, agreement, ceilings, provenance."""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from casewise import statistics
from casewise.cases import SEQUENTIAL_VOTES, CaseSet, Shape, sequential_tags, shape_of
from casewise.choices import WeighBy
from casewise.dataset._context_effect import (
    ANY_CONTEXT,
    CategoryTests,
    ContextEffect,
    ContextVotes,
    category_tests,
    context_effect,
    context_votes,
)
from casewise.dataset._people import ARMS, People, to_people
from casewise.dataset._provenance_checks import Provenance, check_provenance

USUAL = sequential_tags(statistics.POSTERIOR, statistics.LEAST_VOTES)[1]
"""Tag of the stopping rule of a study that sets none."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Best scores that anybody can expect on some cases, since people disagree."""

    reliability: statistics.VoteReliability
    split_half: float
    """Reliability from random halves of the votes."""
    person: statistics.OnePerson
    panel: statistics.Panel
    oracle: statistics.Oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteFigures:
    """Figures of people's votes that have an interval."""

    effect: ContextEffect
    """Votes in contexts intended safe, against those intended unsafe."""
    against_none: dict[str, ContextEffect]
    """Safe, unsafe and, as ``context``, contexts without an intended side against no context;
    empty where every case has one."""
    contexts: ContextVotes
    agreement: dict[str, statistics.Agreement]
    """Agreement on all cases (``all``), and on those of each arm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description(VoteFigures):
    """The human side of a data set."""

    shape: Shape
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
    sequential: int
    """Cases that were asked no further once their majority was decided."""
    votes: int
    tests: CategoryTests
    ceilings: dict[str, Ceiling]
    """Ceilings of the same parts; undefined of sequential votes."""
    by_rater: bool
    """True where one person is a rater, or a column of votes; else any vote is."""
    provenance: Provenance
    remarks: tuple[str, ...]
    """Why figures are undefined, and what they rest on."""


def describe_cases(
    loaded: CaseSet, *, seed: int = 0, weigh_by: WeighBy = WeighBy.QUERY
) -> Description:
    """Describe the votes on a set of cases.

    Args:
        loaded: The cases.
        seed: Of the random halves and the simulations.
        weigh_by: Unit that weighs alike in figures of pairs.
    """
    people = to_people(loaded.cases)
    found = vote_figures(people, weigh_by)
    counts = {arm: int(people.in_arm(arm).sum()) for arm in (*ARMS, "")}
    ceilings = {part: _ceiling(people, kept, seed) for part, kept in _parts(people).items()}
    return Description(
        shape=shape_of(loaded.cases),
        name=loaded.name,
        hash=loaded.hash,
        cases=len(loaded.cases),
        queries=people.queries,
        categories=len(np.unique(people.category[people.category != ""])),
        arms={arm or "unknown": n for arm, n in counts.items()},
        meant_alone=dict(
            Counter(
                case.intended
                for case in loaded.cases
                if case.context is None and case.intended is not None
            )
        ),
        voted=int(people.voted.sum()),
        sequential=people.sequential,
        votes=int(np.nansum(people.safe + people.unsafe)),
        effect=found.effect,
        against_none=found.against_none,
        contexts=found.contexts,
        agreement=found.agreement,
        tests=category_tests(people),
        ceilings=ceilings,
        by_rater=people.single is not None,
        provenance=check_provenance(loaded.cases, people),
        remarks=(*_remarks(people, ceilings["all"], found.effect), *_without_interval(found)),
    )


def vote_figures(people: People, weigh_by: WeighBy = WeighBy.QUERY) -> VoteFigures:
    """Figures of votes that have an interval, clustered by query."""
    alone = bool(people.in_arm("none").any())
    against = [arm for arm in ("safe", "unsafe", "") if alone and people.in_arm(arm).any()]
    return VoteFigures(
        effect=context_effect(people, "safe", "unsafe"),
        against_none={arm or ANY_CONTEXT: context_effect(people, arm, "none") for arm in against},
        contexts=context_votes(people, weigh_by),
        agreement={part: _agreement(people, kept) for part, kept in _parts(people).items()},
    )


def _without_interval(found: VoteFigures) -> list[str]:
    """Reasons why coefficients of agreement, and flips, have no interval, each once."""
    reasons: dict[str, dict[str, None]] = {}
    for part, agreed in found.agreement.items():
        for name in statistics.COEFFICIENTS:
            if reason := getattr(agreed, name).reason:
                reasons.setdefault(reason, {})[f"{part}: {name}"] = None
    for name, pairs in (("contexts", found.contexts.contexts), ("seen", found.contexts.seen)):
        if pairs is not None and pairs.flips.reason:
            reasons.setdefault(pairs.flips.reason, {})[f"{name}: people_flips"] = None
    return [f"No interval ({', '.join(names)}): {reason}." for reason, names in reasons.items()]


def _parts(people: People) -> dict[str, statistics.BoolArray]:
    return {"all": np.ones(len(people.safe), bool)} | {arm: people.in_arm(arm) for arm in ARMS}


def _agreement(people: People, kept: statistics.BoolArray) -> statistics.Agreement:
    first = None if people.first is None else people.first.only(kept)
    found = statistics.agreement(people.safe[kept], people.unsafe[kept], people.query[kept], first)
    if not people.leans:
        return found
    withheld = {
        name: replace(getattr(found, name), reason="votes were collected until clear")
        for name in statistics.COEFFICIENTS
    }
    return replace(found, **withheld)


def _ceiling(people: People, kept: statistics.BoolArray, seed: int) -> Ceiling:
    if people.sequential:
        kept = np.zeros_like(kept)
    safe, unsafe = people.safe[kept], people.unsafe[kept]
    arm = np.argmax(people.arm[kept][:, None] == np.array([*ARMS, ""]), axis=1)
    if people.single is None:
        person = statistics.one_person(safe, unsafe)
    else:
        votes = people.single.only(kept)
        person = statistics.one_person_by_rater(votes.verdict, votes.case, votes.rater)
    return Ceiling(
        reliability=statistics.reliability_icc(safe, unsafe),
        split_half=statistics.split_half(safe, unsafe, seed),
        person=person,
        panel=statistics.panel(safe, unsafe, seed, arm),
        oracle=statistics.oracle(safe, unsafe, seed, arm),
    )


def _remarks(people: People, ceiling: Ceiling, effect: ContextEffect) -> list[str]:
    """A sentence for each figure that is undefined or computed another way."""
    voted = int(people.voted.sum())
    shares = int((~np.isnan(people.published)).sum())
    if not voted and shares:
        return [
            f"{shares} of {len(people.safe)} cases have a published share of people who say "
            "safe, and none has votes. Scores can be held against these shares (labels: "
            "published); how far people agree, how well anybody could do, and what contexts "
            "change for people, takes the votes behind them (the field votes)."
        ]
    if not voted:
        return [
            "Nobody has voted on these cases, so nothing can be said about people: collect votes, "
            "and put them into the field votes."
        ]
    if people.sequential:
        lines = [_sequential_remark(people, voted)]
    else:
        lines = [*_effect_remarks(people, effect), *_spread_remarks(people, ceiling)]
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


def _sequential_remark(people: People, voted: int) -> str:
    opening = (
        f"{people.sequential} of {voted} cases were asked no further once their majority was "
        f"decided (the tag {SEQUENTIAL_VOTES}): labels hold, but raw shares of safe votes lean to "
        "the majority"
    )
    if people.first is None:
        return (
            f"{opening}, and agreement is off too. The votes don't end as the usual rule would "
            f"have it ({USUAL}; a tag like this names another), so cases weigh alike, however many "
            "votes they have, and no interval, p-value, test or ceiling that rests on shares is "
            "given."
        )
    told = (
        f"{opening}. So shares, their difference and agreement are what first votes said, in all "
        "orders of the votes that end where they ended (Girshick, Mosteller & Savage 1946); cases "
        "weigh alike. Tests of single queries, the odds ratio and ceilings aren't given."
    )
    if np.isnan(people.first.alike[people.voted]).all():
        told += " Cases may stop after one vote, so agreement can't be told."
    return told


def _effect_remarks(people: People, effect: ContextEffect) -> list[str]:
    lines = []
    if (people.in_arm("") & people.voted).any():
        lines.append(
            "Some contexts have no intended side (the field intended), so their votes stand in no "
            "arm and count for 'all' alone."
        )
    lacking = [arm for arm, n in zip(effect.arms, effect.votes, strict=True) if not n]
    if not any(effect.votes) and (people.in_arm("") & people.voted).any():
        # No context has a side, so that an effect of sides is nothing to miss.
        return lines
    if lacking:
        sides = " or ".join(lacking)
        lines.append(f"No context intended {sides} has votes, so there is no context effect.")
    elif not effect.z_tests.n:
        lines.append("No query has votes in both arms, so no pair can be tested.")
    if not lacking and math.isnan(effect.clustered_z):
        lines.append(
            "The context effect has no standard error: that takes two queries or more which "
            f"differ; where their numbers of votes differ, {statistics.LEAST_EFFECTIVE:g} "
            "effective ones, and half of those there are."
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
