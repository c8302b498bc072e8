"""Screening: flag people by rules that were fixed beforehand; votes are never deleted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from casewise.statistics import (
    agreement_p,
    at_least_p,
    benjamini_hochberg,
    fit_beta_binomial,
    tallies,
    two_groups,
)
from casewise_study.study.reading_times import reading
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import Rule, Screening
from casewise_study.votes.collected import (
    BoolArray,
    Collected,
    FloatArray,
    IntArray,
    VoteTable,
    vote_table,
)
from casewise_study.votes.signals import Flag, signals_of

ONE_ANSWER_VOTES = 20
"""Below so many votes, one answer to all of them says nothing of the person."""

ONE_ANSWER_P = 0.01
"""One answer throughout counts only where people like the others would come to so many of it less
often than this: on cases that are safe to everybody, everybody says safe."""

LEAST_OTHERS = 2
"""Votes of others on a case that agreement is measured against."""


LEAST_ADDED = 1.0
"""Votes that the beta distribution of cases adds to the others' at least: of few votes that happen
to agree, it would be fitted to cases that leave no doubt."""

GROUP_DRAWS, GROUP_P = 99, 0.01
"""Draws of the test for two groups of people, and the greatest p at which it is reported."""

ROUNDS = 5
"""Most times that agreement is measured anew without those whom it flagged."""


@dataclass(frozen=True, slots=True)
class PersonScreen:
    """The screening of a person with counted votes. NaN is undefined."""

    rater: str
    votes: int
    checks: int
    """Attention checks answered."""
    checks_failed: int
    fast_share: float
    """Share of the votes whose time is known that came faster than ``fast_seconds``, or
    than the words of the case can be read with understanding, 0..1."""
    one_answer_share: float
    """Share of the answer given more often, .5..1."""
    agreement: float = math.nan
    """Mean share of the others on the same cases who say the same, 0..1; over cases that at least
    two others judged."""
    agreement_expected: float = math.nan
    """Agreement of these others among themselves on the same cases: the share of their pairs that
    say the same, 0..1."""
    agreement_p: float = math.nan
    """One-sided and exact, of agreeing so little if one were one of the others, but for leniency:
    ``casewise.statistics.agreement_p``."""
    agreement_p_adjusted: float = math.nan
    """The same after Benjamini & Hochberg, over everybody."""
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Screened:
    """Everybody with counted votes, in the order of the people."""

    people: tuple[PersonScreen, ...]
    agreement_over: int = 0
    """People whom agreement would flag, where it flags nobody since it would flag a greater share
    than the study allows, or since so many are of a mind of their own. Else 0."""

    def flagged(self, *rules: Rule) -> frozenset[str]:
        """The people flagged by any of these rules; by any rule at all, if none is given."""
        return frozenset(
            person.rater
            for person in self.people
            if any(flag.rule in (rules or tuple(Rule)) for flag in person.flags)
        )


@dataclass(frozen=True, slots=True)
class Groups:
    """Division of the votes of people whom no rule flags into two groups."""

    p: float
    """p of the test; NaN with fewer than three people."""
    people: tuple[int, int]
    """Number in the larger and the smaller group, as the votes divide them best."""
    within: tuple[float, float]
    """Share of pairs of votes on a case that say the same, in each group; NaN without pairs."""
    between: float
    """The same of pairs across."""
    smaller: tuple[str, ...]
    """People in the smaller group."""

    @property
    def told(self) -> str | None:
        """A sentence, where both groups are of a mind of their own.

        People who answer at random agree among themselves no more than with others.
        """
        (many, few), (first, second) = self.people, self.within
        if not (self.p <= GROUP_P and second - self.between > (first - self.between) / 2):
            return None
        return (
            f"The votes fall in two groups: about {many} people agree with each other in "
            f"{first:.0%} of cases, about {few} in {second:.0%}, and the two with each other in "
            f"{self.between:.0%} (p {self.p:.2g}). Which of them to believe isn't in the votes: a "
            "group may have a view of its own, or have asked a language model."
        )


def groups_of(table: VoteTable, screened: Screened, seed: int) -> Groups:
    """Test whether the votes of people whom no rule flags fall in two groups."""
    table = table.without(screened.flagged())
    raters, places = np.unique(table.rater, return_inverse=True)
    found = two_groups(table.safe, table.cell, places, len(raters), GROUP_DRAWS, seed)
    smaller = tuple(table.raters[place] for place in raters[found.second])
    people = (len(raters) - len(smaller), len(smaller))
    return Groups(found.p, people, found.within, found.between, smaller)


def screen(study: Study, collected: Collected) -> Screened:
    """Screen everybody by the rules of the study.

    All rules but agreement look at a person alone. Agreement is then measured against the others
    whom none of these flagged (and, in further rounds, agreement neither), so that nobody vouches
    for oneself and the careless not for one another. Its test conditions on how many answers of a
    kind one gave: leniency is no fault. Where it would flag more people than ``agreement_most``,
    or where a greater share than that is of a mind of its own, it flags none: the others may be
    the ones at fault.

    Args:
        study: Whose rules they are.
        collected: From the app, or from a file.
    """
    table = vote_table(study, collected)
    mine = table.of_raters()
    alone = _alone(study, table, collected)
    people, trusted = alone, np.array([not person.flags for person in alone], bool)
    for _ in range(ROUNDS):
        others = Others(table, trusted)
        people = [
            _beside_others(person, table, others, places, study.screening)
            for person, places in zip(alone, mine, strict=True)
        ]
        people = _adjusted(people, study.screening)
        left = np.array([not person.flags for person in people], bool) & trusted
        if (left == trusted).all():
            break
        trusted = left
    return _limited(study, table, Screened(tuple(people)))


def _limited(study: Study, table: VoteTable, screened: Screened) -> Screened:
    """Drop the flags of agreement if it flags, or the votes set apart, too many people."""
    most, flagged = study.screening.agreement_most, screened.flagged(Rule.AGREEMENT)
    if most is None or not flagged:
        return screened
    people = []
    for person in screened.people:
        flags = tuple(flag for flag in person.flags if flag.rule is not Rule.AGREEMENT)
        people.append(replace(person, flags=flags))
    without, allowed = Screened(tuple(people), len(flagged)), most * len(people)
    if len(flagged) > allowed:
        return without
    groups = groups_of(table, without, study.seed)
    return without if groups.told and groups.people[1] > allowed else screened


class Others:
    """Votes of the trusted others on the case of each vote; each of shape ``(votes,)``."""

    def __init__(self, table: VoteTable, trusted: BoolArray) -> None:
        """Count their votes, without one's own."""
        mine = trusted[table.rater]
        kept = table.only(mine)
        self.votes: FloatArray = kept.counts[table.cell] - mine
        self.safe: FloatArray = kept.counts_safe[table.cell] - mine * table.safe
        self.expected = _expected(table, kept, self)
        """The chance that one of them, anew, would call the case safe, strictly in 0..1."""


def _expected(table: VoteTable, kept: VoteTable, others: Others) -> FloatArray:
    """The others' shares, with those of a beta distribution of cases added to their votes.

    It is fitted to each arm: where few have voted, the arm counts for more. Where the fit is
    undefined, half a vote is added to either side.
    """
    alpha, beta = np.full((2, len(table.cells)), 0.5)
    safe, unsafe = kept.counts_safe, kept.counts - kept.counts_safe
    for arm in table.arms:
        places = table.arm_places(arm)
        for tally in tallies(safe[places], unsafe[places], None):
            fitted = fit_beta_binomial(tally)
            if math.isfinite(fitted.alpha):
                scale = max(1.0, LEAST_ADDED / (fitted.alpha + fitted.beta))
                alpha[places], beta[places] = scale * fitted.alpha, scale * fitted.beta
    a, b = alpha[table.cell], beta[table.cell]
    return np.asarray(np.clip((others.safe + a) / (others.votes + a + b), 1e-9, 1 - 1e-9))


def _alone(study: Study, table: VoteTable, collected: Collected) -> list[PersonScreen]:
    """Signs of each person alone, without others to compare."""
    rules = study.screening
    checks, failures = collected.checked
    # Before these a vote on a cell counts as fast.
    floors = np.array(reading(study).fast_seconds(), np.float64)
    signals = signals_of(study, table, collected)
    people = []
    for rater, mine, flags in zip(table.raters, table.of_raters(), signals, strict=True):
        timed = mine[np.isfinite(table.seconds[mine])]
        least = floors[table.cell[timed]]
        fast = float((table.seconds[timed] < least).mean()) if len(timed) else math.nan
        failed, share = failures[rater], float(table.safe[mine].mean())
        if rules.fast_share is not None and fast > rules.fast_share:
            reason = f"{fast:.0%} of votes in less than {_between(least)} s"
            flags = (Flag(Rule.FAST, reason), *flags)
        if rules.attention_failed is not None and failed > rules.attention_failed:
            reason = f"failed {failed} of {checks[rater]} attention checks"
            flags = (Flag(Rule.ATTENTION, reason), *flags)
        person = PersonScreen(
            rater=rater,
            votes=len(mine),
            checks=checks[rater],
            checks_failed=failed,
            fast_share=fast,
            one_answer_share=max(share, 1 - share),
            flags=flags,
        )
        people.append(person)
    return people


def _between(seconds: FloatArray) -> str:
    low, high = (f"{round(float(bound), 1):g}" for bound in (seconds.min(), seconds.max()))
    return low if low == high else f"what their words take, {low} to {high}"


def _beside_others(
    person: PersonScreen, table: VoteTable, others: Others, mine: IntArray, rules: Screening
) -> PersonScreen:
    """Add the figures of agreement, and the flag of one answer to nearly everything."""
    flags = [*person.flags, *_one_answer(person, table.safe[mine], others.expected[mine], rules)]
    held = mine[others.votes[mine] >= LEAST_OTHERS]
    if not len(held):
        return replace(person, flags=tuple(flags))
    said, safe, votes = table.safe[held], others.safe[held], others.votes[held]
    share = safe / votes
    among = 1 - 2 * safe * (votes - safe) / (votes * (votes - 1))
    return replace(
        person,
        agreement=float(np.where(said == 1, share, 1 - share).mean()),
        agreement_expected=float(among.mean()),
        agreement_p=agreement_p(said, others.expected[held], share),
        flags=tuple(flags),
    )


def _one_answer(
    person: PersonScreen, said: FloatArray, expected: FloatArray, rules: Screening
) -> list[Flag]:
    limit = rules.one_answer_share
    if limit is None or person.one_answer_share <= limit or person.votes < ONE_ANSWER_VOTES:
        return []
    side, count = "safe", int(said.sum())
    if 2 * count <= person.votes:
        side, count, expected = "unsafe", person.votes - count, 1 - expected
    if at_least_p(count, expected) >= ONE_ANSWER_P:
        return []
    return [Flag(Rule.ONE_ANSWER, f"{side} to {count} of {person.votes} cases")]


def _adjusted(people: Sequence[PersonScreen], rules: Screening) -> list[PersonScreen]:
    """Add the p-values adjusted for their number, and the flag of agreement."""
    adjusted = benjamini_hochberg(np.array([person.agreement_p for person in people], np.float64))
    screened = []
    for person, p in zip(people, adjusted.tolist(), strict=True):
        flags = person.flags
        if rules.agreement_p is not None and p < rules.agreement_p:
            reason = (
                f"agrees with {person.agreement:.0%} of the others, who agree with "
                f"{person.agreement_expected:.0%} of each other (adjusted p {p:.1g})"
            )
            flags = (*flags, Flag(Rule.AGREEMENT, reason))
        screened.append(replace(person, agreement_p_adjusted=p, flags=flags))
    return screened
