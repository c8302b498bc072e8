"""Results of a study: votes by cell and arm, effects of context, with and without the flagged.

More of the same cases, such as tests of single queries and ceilings, is told by ``casewise
describe`` of the exported ones.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from casewise.cases import Side
from casewise.sheets import plural
from casewise.statistics import (
    NO_INTERVAL,
    Agreement,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    agreement,
    clustered_ratio,
    wilson_interval,
)
from casewise_study.statistics.stopping import decided_at, first_agreement
from casewise_study.statistics.two_way import TwoWay, two_way
from casewise_study.study.planning import forecast
from casewise_study.study.schema import Arm, Platform, Study
from casewise_study.study.study_rules import Rule
from casewise_study.votes.collected import (
    Collected,
    PersonStatus,
    VoteTable,
    active_minutes,
    vote_table,
)
from casewise_study.votes.screening import Screened, screen, with_screened

NO_INTERVALS = (
    "Cases stopped once their majority was decided: labels hold, but raw shares of safe votes lean "
    "to the majority. So shares, their differences and agreement are what first votes said, "
    "in all orders of the votes that end where they ended (Girshick, Mosteller & Savage 1946), and "
    "cases weigh alike. Intervals of single cases aren't given"
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
    decided_at: int | None
    """Number of votes when its majority was decided, under sequential collection; None where it
    wasn't. Later votes count."""
    quota_met: bool
    """True if it needs no more votes: it has all, or its majority was decided."""

    @property
    def votes(self) -> int:
        """Number of votes."""
        return self.safe + self.unsafe


@dataclass(frozen=True, slots=True)
class ArmVotes:
    """The cells of one arm together; agreement has intervals by drawing queries anew."""

    arm: Arm
    cells: int
    votes: int
    majority_safe: int
    """Cells."""
    majority_unsafe: int
    ties: int
    share_safe: TwoWay
    """Mean over cells of the share of safe votes, with an error for cases (by query) and people;
    of first votes under sequential collection, as is agreement."""
    alpha: TwoWay
    """Krippendorff's, of the votes on one case."""
    ac1: TwoWay
    """Gwet's."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Effect of the context: the votes of two arms, over queries judged under both."""

    first: Arm
    second: Arm
    queries: int
    difference: TwoWay
    """Mean share of safe votes of the first arm's cells less that of the second's, -1..1, with an
    error for queries and people; of first votes under sequential collection."""
    majority_flips: int
    """Queries whose majority is safe in one arm and unsafe in the other."""


@dataclass(frozen=True, slots=True)
class Funnel:
    """Counts from arrival to counted votes."""

    came: int
    by_status: dict[PersonStatus, int]
    people: int
    """Number of people with counted votes."""
    votes: int
    """Counted: not of a block that was left or excluded; those of flagged people are among them."""
    votes_apart: int
    """Votes of blocks that were left, and judged in full by others."""
    confirmed: dict[str, int] | None
    """People with counted votes by what confirmed them: the platform's ``export``, else a signed
    ``link``, else ``nobody``; None is not known, as without a platform."""
    shared_browsers: int | None
    """People whose browser opened the study under another's id too; None is not known."""
    second_left_out: int | None
    """Second accounts whose votes don't count by the rule of the study; None is not known."""
    flagged: dict[Rule, int]
    """People with counted votes, by rule; one may come under several."""
    flagged_any: int
    checks: int
    """Attention checks that people with counted votes answered."""
    checks_failed: int
    median_minutes: float
    """At work, breaks left out, of those who completed; NaN where no times are known."""
    paid_each: float
    """As planned for the longest block, in the currency of the study."""
    paid_per_hour: float
    """Hourly pay at the median time; NaN without times."""


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The main results with some people left out."""

    name: str
    people: int
    votes: int
    share_safe: dict[Arm, TwoWay]
    """Mean by arm: over cells of the share of safe votes."""
    alpha: float
    """Krippendorff's, over all cells; NaN where it is undefined."""
    ac1: float
    """Gwet's."""
    differences: dict[str, TwoWay]
    """Of two arms: the share of safe votes in the first less that in the second."""
    flipped: int
    """Cells whose majority is the other one with everybody."""
    ties: int
    """Cells that have a majority with everybody, and none here, or the other way round."""


@dataclass(frozen=True, slots=True)
class ChangedLabel:
    """A label that turns without flagged people; None is a tie, or no vote."""

    arm: Arm
    case_id: str
    everybody: Side | None
    unflagged: Side | None


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything that is reported of a study."""

    study: Study
    collected: Collected
    funnel: Funnel
    screened: Screened
    with_flagged: bool
    """True if the votes of flagged people are in the figures and the exported cases."""
    turned: tuple[ChangedLabel, ...]
    """Labels that turn without flagged people."""
    complete: int
    """Cells that need no more votes, those of flagged people counted."""
    cells: tuple[CellVotes, ...]
    arms: tuple[ArmVotes, ...]
    contrasts: tuple[Contrast, ...]
    sensitivity: tuple[SensitivityRow, ...]

    @property
    def left_out(self) -> frozenset[str]:
        """People whose votes the exported cases go without."""
        return frozenset() if self.with_flagged else self.screened.flagged()

    @property
    def counted(self) -> str:
        """Counted votes and people, in words, with flagged people's and as in the figures."""
        votes, people = self.funnel.votes, self.funnel.people
        words = f"{plural(votes, 'counted vote')} of {plural(people, 'person')}"
        kept = f"{sum(cell.votes for cell in self.cells)} of {people - len(self.left_out)}"
        return f"{words}, {kept} without flagged people" if self.left_out else words

    @property
    def completeness(self) -> str:
        """Cells that need no more votes, in words, with flagged people's and as in the figures."""
        wanted = plural(self.study.votes, "vote")
        wanted = f"decided or with {wanted}" if self.study.collection.is_sequential else wanted
        sentence = f"{self.complete} of {plural(len(self.cells), 'cell')} complete ({wanted})"
        complete = sum(cell.quota_met for cell in self.cells)
        return (
            f"{sentence}; {complete} without flagged people's votes" if self.left_out else sentence
        )

    @property
    def votes_words(self) -> str:
        """Votes that the exported cases carry, in words."""
        votes = "the counted votes, without those of flagged people"
        return "all counted votes" if self.with_flagged else votes

    def record(self) -> dict[str, Any]:
        """All figures, for JSON."""
        study = self.study
        parts = ("turned", "arms", "contrasts", "sensitivity", "cells")
        record = {
            "study": study.id,
            "cases_hash": study.cases_hash,
            "votes_wanted": study.votes,
            "screening": study.screening.model_dump(),
            "cases_votes": self.votes_words,
            "funnel": asdict(self.funnel),
            **{name: list(map(asdict, getattr(self, name))) for name in parts},
            "people": list(map(asdict, self.screened.people)),
        }
        if study.collection.is_sequential:
            record["collection"] = study.collection.model_dump()
            record["withheld"] = NO_INTERVALS
        return record


def summarise(study: Study, collected: Collected, *, with_flagged: bool = False) -> Results:
    """Screen and summarise what a study has collected, counted votes alone.

    Args:
        study: Whose rules they are.
        collected: From the app, or from a file.
        with_flagged: True if flagged people's votes are in the figures; their own figures and
            sensitivity have everybody's in any case.
    """
    table = vote_table(study, collected)
    screened = screen(study, collected)
    unflagged = table.without(screened.flagged())
    counted = table if with_flagged else unflagged
    return Results(
        study=study,
        collected=collected,
        funnel=_funnel(study, collected, screened),
        screened=screened,
        with_flagged=with_flagged,
        turned=_changed_labels(table, unflagged),
        complete=sum(cell.quota_met for cell in cell_votes(study, table)),
        cells=cell_votes(study, counted),
        arms=arm_votes(counted),
        contrasts=contrasts(counted),
        sensitivity=_sensitivity(study, collected, table, screened),
    )


def decided_votes(study: Study, table: VoteTable) -> IntArray:
    """Number of votes when each cell was decided; 0 where it wasn't, as under fixed collection.

    Shape ``(cells,)``.
    """
    if not study.collection.is_sequential:
        return np.zeros(len(table.cells), np.int64)
    return decided_at(study.collection.boundary, table.cell, table.safe, len(table.cells))


def decided_cases(study: Study, table: VoteTable) -> frozenset[str]:
    """The ids of the cases that the rule decided."""
    decided = np.flatnonzero(decided_votes(study, table))
    return frozenset(table.cells[place].case_id for place in decided)


def cell_votes(study: Study, table: VoteTable) -> tuple[CellVotes, ...]:
    """Every cell of the study, in the order of its design."""
    with np.errstate(invalid="ignore"):
        raw = table.counts_safe / table.counts
    shares = raw if table.first is None else table.first.safe
    columns = (table.counts_safe, table.counts, shares, table.majorities)
    rows = zip(
        table.cells,
        decided_votes(study, table).tolist(),
        *(column.tolist() for column in columns),
        strict=True,
    )
    return tuple(
        CellVotes(
            arm=cell.arm,
            case_id=cell.case_id,
            safe=int(safe),
            unsafe=int(votes - safe),
            share_safe=share,
            interval=(math.nan, math.nan)
            if table.is_sequential
            else wilson_interval(share, int(votes)),
            majority=SIDES[majority],
            decided_at=decided or None,
            quota_met=bool(decided) or votes >= study.votes,
        )
        for cell, decided, safe, votes, share, majority in rows
    )


def _agreement(table: VoteTable, places: IntArray) -> Agreement:
    """Agreement of the votes on some cells; of first votes where a rule stopped the others."""
    safe, counts, queries = table.counts_safe, table.counts, table.cell_queries()
    if table.first is None:
        return agreement(safe[places], (counts - safe)[places], queries[places])
    voted = places[counts[places] > 0]
    votes = float(counts[voted].mean()) if len(voted) else 0.0
    return first_agreement(table.first.only(voted), votes, queries[voted])


def arm_votes(table: VoteTable) -> tuple[ArmVotes, ...]:
    """Every arm that has cells."""
    counts, arms = table.counts, []
    for arm in table.arms:
        places = table.arm_places(arm)
        majorities = table.majorities[places]
        agreed = _agreement(table, places)
        arms.append(
            ArmVotes(
                arm=arm,
                cells=len(places),
                votes=int(counts[places].sum()),
                majority_safe=int((majorities > 0).sum()),
                majority_unsafe=int((majorities < 0).sum()),
                ties=int(((majorities == 0) & (counts[places] > 0)).sum()),
                share_safe=mean_share(table.only(table.in_arm(arm))),
                alpha=_one_way(agreed.krippendorff_alpha),
                ac1=_one_way(agreed.gwet_ac1),
            )
        )
    return tuple(arms)


def _one_way(estimate: Estimate) -> TwoWay:
    return TwoWay(estimate.value, estimate.se, estimate.interval, math.nan)


def mean_share(table: VoteTable) -> TwoWay:
    """The mean over cells of their share of safe votes."""
    share = _share_difference(table, [np.ones_like(table.safe)])
    # Nobody asks whether it is 0.
    return replace(share, p=math.nan)


def _share_difference(table: VoteTable, sides: Sequence[FloatArray]) -> TwoWay:
    """The mean share of safe votes of one side's cells, less that of the other side's, if any.

    Of few queries the difference has no interval, as ``casewise describe`` gives none.
    """

    def figure(clusters: Clusters) -> Estimate:
        shares = [
            clustered_ratio(table.safe * table.weight * side, table.weight * side, clusters)
            for side in sides
        ]
        return shares[0] - shares[1] if len(shares) > 1 else shares[0]

    way = two_way(figure, table.by_query, table.by_rater)
    if len(sides) > 1 and figure(table.by_query).reason:
        return replace(way, interval=NO_INTERVAL, p=math.nan)
    low, high = np.clip(way.interval, 1.0 - len(sides), 1.0).tolist()
    return replace(way, interval=(low, high))


def contrasts(table: VoteTable) -> tuple[Contrast, ...]:
    """Effect of the context, of every two arms that share a query with votes in both."""
    effects = []
    for pair in CONTRASTS:
        queries_a, queries_b = (table.query[table.in_arm(arm)] for arm in pair)
        both = np.intersect1d(queries_a, queries_b)
        if not len(both):
            continue
        shared = table.only(np.isin(table.query, both))
        sides = [shared.in_arm(arm).astype(np.float64) for arm in pair]
        query, votes = np.searchsorted(both, shared.query), 2 * shared.safe - 1
        leaning = [np.sign(np.bincount(query, side * votes, len(both))) for side in sides]
        flips = int((leaning[0] * leaning[1] < 0).sum())
        effects.append(Contrast(*pair, len(both), _share_difference(shared, sides), flips))
    return tuple(effects)


def _funnel(study: Study, collected: Collected, screened: Screened) -> Funnel:
    statuses = Counter(person.status for person in collected.people)
    counted = sum(vote.counted for vote in collected.votes)
    minutes = median_minutes(study, collected)
    paid = forecast(study).pay_each
    known = collected.identity
    return Funnel(
        came=len(collected.people),
        by_status={status: statuses[status] for status in PersonStatus},
        people=len(screened.people),
        votes=counted,
        votes_apart=len(collected.votes) - counted,
        confirmed=_confirmed(study, collected, {person.rater for person in screened.people}),
        shared_browsers=None if known is None else known.sharing,
        second_left_out=None if known is None else len(known.left_out(study.second_accounts)),
        flagged={rule: len(screened.flagged(rule)) for rule in study.screening.rules},
        flagged_any=len(screened.flagged()),
        checks=sum(person.checks for person in screened.people),
        checks_failed=sum(person.checks_failed for person in screened.people),
        median_minutes=minutes,
        paid_each=paid,
        paid_per_hour=paid * 60 / minutes if minutes > 0 else math.nan,
    )


def _confirmed(study: Study, collected: Collected, raters: set[str]) -> dict[str, int] | None:
    by = Counter(person.confirmed for person in collected.people if person.rater in raters)
    if study.recruitment.platform is Platform.NONE or by[None]:
        return None
    return {name: by[name] for name in ("export", "link", "nobody")}


def median_minutes(study: Study, collected: Collected) -> float:
    """Median minutes at work, without breaks, of those who completed; NaN without times."""
    active = active_minutes(study, collected)
    done = (each for each in collected.people if each.status is PersonStatus.COMPLETED)
    minutes = [active[person.rater] for person in done if person.rater in active]
    return median(minutes) if minutes else math.nan


def _changed_labels(whole: VoteTable, unflagged: VoteTable) -> tuple[ChangedLabel, ...]:
    """Cells whose majority, or tie, is another one among some of the votes."""
    before, after = (map(SIDES.get, votes.majorities.tolist()) for votes in (whole, unflagged))
    rows = zip(whole.cells, before, after, strict=True)
    return tuple(ChangedLabel(*cell, old, new) for cell, old, new in rows if old != new)


EVERYBODY = "everybody"
NOBODY_FLAGGED = "without flagged"
WITH_SCREENED = "with those excluded by the screening"


def _sensitivity(
    study: Study, collected: Collected, table: VoteTable, screened: Screened
) -> tuple[SensitivityRow, ...]:
    """The main results with everybody, without each rule's flagged, and without all flagged.

    Rules that flag nobody have no row. People whom the screening excluded while the study ran are
    in a row of their own, in which all their votes count.
    """
    rules = {f"without {rule.replace('_', ' ')}": screened.flagged(rule) for rule in Rule}
    out = {name: people for name, people in rules.items() if people}
    rows = {EVERYBODY: table, **{name: table.without(people) for name, people in out.items()}}
    rows[NOBODY_FLAGGED] = table.without(screened.flagged())
    if (again := with_screened(collected)) != collected:
        rows[WITH_SCREENED] = vote_table(study, again)
    return tuple(_row(name, table, part) for name, part in rows.items())


def _row(name: str, table: VoteTable, counted: VoteTable) -> SensitivityRow:
    whole, here = table.majorities, counted.majorities
    is_voted = (table.counts > 0) & (counted.counts > 0)
    measures = _agreement(counted, np.arange(len(counted.counts)))
    return SensitivityRow(
        name=name,
        people=len(np.unique(counted.rater)),
        votes=len(counted.safe),
        share_safe={arm: mean_share(counted.only(counted.in_arm(arm))) for arm in table.arms},
        alpha=measures.krippendorff_alpha.value,
        ac1=measures.gwet_ac1.value,
        differences={
            f"{contrast.first} less {contrast.second}": contrast.difference
            for contrast in contrasts(counted)
        },
        flipped=int((whole * here < 0).sum()),
        ties=int((is_voted & ((whole == 0) != (here == 0))).sum()),
    )
