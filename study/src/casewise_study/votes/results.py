"""The results of a study, with and without flagged people, also as JSON."""

import math
from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from statistics import median
from typing import Any

import numpy as np

from casewise.cases import Side
from casewise.statistics import Estimate, agreement
from casewise_study.statistics.dawid_skene import DawidSkene, dawid_skene
from casewise_study.statistics.two_way import TwoWay
from casewise_study.study.planning import forecast
from casewise_study.study.schema import Arm, Platform, Study
from casewise_study.study.study_rules import Rule
from casewise_study.votes.cells import (
    NO_INTERVALS,
    SIDES,
    ArmVotes,
    CellStop,
    CellVotes,
    Contrast,
    arm_votes,
    cell_stops,
    cell_votes,
    contrast,
    mean_share,
    pairs_of_arms,
)
from casewise_study.votes.collected import (
    Collected,
    Identity,
    PersonStatus,
    VoteTable,
    active_minutes,
    vote_table,
)
from casewise_study.votes.quality import (
    Drift,
    PanelEffect,
    PersonQuality,
    drift,
    panel_effect,
    person_quality,
)
from casewise_study.votes.screening import Groups, Screened, groups_of, screen, with_screened


@dataclass(frozen=True, slots=True)
class Funnel:
    """Counts from arrival to counted votes."""

    came: int
    by_status: dict[PersonStatus, int]
    people: int
    """Number of people with counted votes."""
    votes: int
    """Counted."""
    confirmed: dict[str, int] | None
    """People with counted votes by what confirmed them: the platform's ``export``, else a signed
    ``link``, else ``nobody``; None is not known, as without a platform."""
    signed: int | None
    """People whose link the platform has signed; None is not known."""
    shared_browsers: int | None
    """People whose browser opened the study under another's id too; None is not known."""
    shared_addresses: int | None
    """People who began within minutes of another from one address range; None is not known."""
    second_left_out: int | None
    """Second accounts whose votes don't count by the rules of the study; None is not known."""
    votes_apart: int
    """Votes of blocks that were left, and judged in full by others."""
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
    differences: dict[tuple[Arm, Arm], TwoWay]
    """Difference by two arms: the share of safe votes in the first less that in the second."""
    flipped: int
    """Cells whose majority is the other one with everybody."""
    to_tie: int
    """Cells that have a majority with everybody, and none here."""
    from_tie: int
    """Cells that are even with everybody, and aren't here."""
    empty: int
    """Cells with votes of everybody that have none here."""


ALL_COUNTED = "all votes that count"
WITHOUT_FLAGGED = "the votes that count, without those of flagged people"


@dataclass(frozen=True, slots=True)
class Turned:
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
    groups: Groups
    with_flagged: bool
    """True if the votes of flagged people are in the figures and the exported cases."""
    table: VoteTable
    """Votes of the exported cases: figures of cells, arms and contrasts are of these."""
    turned: tuple[Turned, ...]
    """Labels that turn without flagged people."""
    classes: DawidSkene
    cells: tuple[CellVotes, ...]
    stops: tuple[CellStop, ...]
    """Rule that stopped each cell; nothing of fixed collection."""
    arms: tuple[ArmVotes, ...]
    contrasts: tuple[Contrast, ...]
    people: tuple[PersonQuality, ...]
    drift: Drift
    panels: PanelEffect
    sensitivity: tuple[SensitivityRow, ...]

    @property
    def left_out(self) -> frozenset[str]:
        """People whose votes the exported cases go without."""
        return frozenset() if self.with_flagged else self.screened.flagged()

    @property
    def votes_words(self) -> str:
        """Votes that the exported cases carry, in words."""
        return ALL_COUNTED if self.with_flagged else WITHOUT_FLAGGED


def summarise(study: Study, collected: Collected, *, with_flagged: bool = False) -> Results:
    """Screen and summarise what a study has collected, counted votes alone.

    Args:
        study: Whose rules they are.
        collected: From the app, or from a file.
        with_flagged: True if flagged people's votes are in the figures; their own figures, drift,
            panels and sensitivity have everybody's in any case.
    """
    table = vote_table(study, collected)
    screened = screen(study, collected)
    classes = dawid_skene(
        table.safe, table.cell, table.rater, items=len(table.cells), raters=len(table.raters)
    )
    flagged = screened.flagged()
    kept = table.without(frozenset() if with_flagged else flagged)
    stops = cell_stops(study, kept)
    cells = cell_votes(kept, study.votes, classes, stops)
    return Results(
        study=study,
        collected=collected,
        funnel=_funnel(study, collected, screened),
        screened=screened,
        groups=groups_of(table, screened, study.seed),
        with_flagged=with_flagged,
        table=kept,
        turned=turned(table, table.without(flagged)),
        classes=classes,
        cells=cells,
        stops=stops,
        arms=arm_votes(kept, cells),
        contrasts=tuple(map(contrast, pairs_of_arms(kept))),
        people=person_quality(table, screened, classes),
        drift=drift(table),
        panels=panel_effect(table, collected.people),
        sensitivity=sensitivity(study, collected, table, screened),
    )


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
        confirmed=_confirmed(study, known, [person.rater for person in screened.people]),
        signed=None if known is None else len(known.signed),
        shared_browsers=None if known is None else known.sharing("browser"),
        shared_addresses=None if known is None else known.sharing("address"),
        second_left_out=None if known is None else len(known.left_out(study.second_accounts)),
        votes_apart=len(collected.votes) - counted,
        flagged={rule: len(screened.flagged(rule)) for rule in study.screening.rules},
        flagged_any=len(screened.flagged()),
        checks=sum(person.checks for person in screened.people),
        checks_failed=sum(person.checks_failed for person in screened.people),
        median_minutes=minutes,
        paid_each=paid,
        paid_per_hour=paid * 60 / minutes if minutes > 0 else math.nan,
    )


def _confirmed(study: Study, known: Identity | None, raters: list[str]) -> dict[str, int] | None:
    if known is None or study.recruitment.platform is Platform.NONE:
        return None
    by_export = known.confirmed.intersection(raters)
    by_link = known.signed.intersection(raters) - by_export
    nobody = len(raters) - len(by_export) - len(by_link)
    return {"export": len(by_export), "link": len(by_link), "nobody": nobody}


def median_minutes(study: Study, collected: Collected) -> float:
    """Median minutes at work, without breaks, of those who completed; NaN without times."""
    active = active_minutes(study, collected)
    done = (each for each in collected.people if each.status is PersonStatus.COMPLETED)
    taken = [active[person.rater] for person in done if person.rater in active]
    return median(taken) if taken else math.nan


def turned(whole: VoteTable, kept: VoteTable) -> tuple[Turned, ...]:
    """Cells whose majority, or tie, is another one among some of the votes."""
    before, after = (map(SIDES.get, votes.majorities.tolist()) for votes in (whole, kept))
    rows = zip(whole.cells, before, after, strict=True)
    return tuple(Turned(*cell, one, other) for cell, one, other in rows if one != other)


EVERYBODY = "everybody"
NOBODY_FLAGGED = "without flagged"
WITH_SCREENED = "with those excluded by the screening"


def sensitivity(
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
    return tuple(_row(name, table, kept) for name, kept in rows.items())


def _row(name: str, table: VoteTable, kept: VoteTable) -> SensitivityRow:
    whole, here = table.majorities, kept.majorities
    voted, left = table.counts > 0, kept.counts > 0
    measures = agreement(kept.counts_safe, kept.counts - kept.counts_safe, first=kept.first)
    return SensitivityRow(
        name=name,
        people=len(np.unique(kept.rater)),
        votes=len(kept.safe),
        share_safe={arm: mean_share(kept.only(kept.in_arm(arm))) for arm in table.arms},
        alpha=measures.krippendorff_alpha.value,
        ac1=measures.gwet_ac1.value,
        differences={
            (paired.first, paired.second): paired.difference for paired in pairs_of_arms(kept)
        },
        flipped=int((whole * here < 0).sum()),
        to_tie=int(((whole != 0) & (here == 0) & left).sum()),
        from_tie=int(((whole == 0) & (here != 0) & voted).sum()),
        empty=int((voted & ~left).sum()),
    )


def as_results_record(results: Results) -> dict[str, Any]:
    """All figures as JSON values; what is undefined is null."""
    study, classes = results.study, results.classes
    record = {
        "study": study.id,
        "cases_hash": study.cases_hash,
        "votes_wanted": study.votes,
        "screening": study.screening.model_dump(),
        "cases_votes": results.votes_words,
        "turned": results.turned,
        "funnel": results.funnel,
        "groups": results.groups,
        "arms": results.arms,
        "contrasts": results.contrasts,
        "sensitivity": [
            plain(row)
            | {
                "differences": [
                    {"first": first, "second": second} | plain(difference)
                    for (first, second), difference in row.differences.items()
                ]
            }
            for row in results.sensitivity
        ],
        "drift": results.drift,
        "panels": results.panels,
        "dawid_skene": {
            name: getattr(classes, name) for name in ("prevalence", "iterations", "converged")
        },
        "cells": results.cells,
    }
    if results.stops:
        record["collection"] = study.collection.model_dump() | {"cells": results.stops}
        record["withheld"] = NO_INTERVALS
    return {**plain(record), "people": plain(results.people)}


def _without_p(record: dict[str, Any]) -> dict[str, Any]:
    """Remove the p-value of a share of safe votes: no hypothesis is tested."""
    share = record["share_safe"]
    for figures in [share] if "value" in share else share.values():
        del figures["p"]
    return record


def plain(value: Any) -> Any:
    """A result as JSON values; what is undefined is null."""
    if isinstance(value, Estimate):
        return plain({name: getattr(value, name) for name in ("value", "se", "interval", "p")})
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value):
        record = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return _without_p(record) if isinstance(value, ArmVotes | SensitivityRow) else record
    if isinstance(value, dict):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    return value
