"""All that the votes of a study say, and how far they can be relied on."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from casewise.annotation.study import Study, forecast, study_cases
from casewise.annotation.votes._cells import (
    ArmVotes,
    CellVotes,
    Contrast,
    arm_votes,
    cell_votes,
    contrasts,
)
from casewise.annotation.votes._csv_table import to_utc
from casewise.annotation.votes._drift import Drift, PanelEffect, drift, panel_effect
from casewise.annotation.votes._quality import PersonQuality, person_quality
from casewise.annotation.votes._records import Collected, PersonRecord, PersonStatus
from casewise.annotation.votes._screening import Rule, Screened, screen
from casewise.annotation.votes._sensitivity import SensitivityRow, sensitivity
from casewise.annotation.votes._table import vote_table
from casewise.cases import Case
from casewise.statistics import DawidSkene, Resampling, dawid_skene

DRAWS = 1000
"""Draws of whole queries for the intervals of agreement."""


@dataclass(frozen=True, slots=True)
class Funnel:
    """From those who came to the votes that count."""

    came: int
    by_status: dict[PersonStatus, int]
    people: int
    """Who have counted votes."""
    votes: int
    """Counted."""
    shared_browsers: int | None
    """People from whose browser the study was then opened under another id; None is not known."""
    votes_apart: int
    """Of blocks that were left, and judged in full by others."""
    flagged: dict[Rule, int]
    """People with counted votes, by rule; one may come under several."""
    flagged_any: int
    checks: int
    """Attention checks that people with counted votes answered."""
    checks_failed: int
    median_minutes: float
    """From start to end, of those who completed; NaN where no times are known."""
    paid_each: float
    """As planned for the longest block, in the currency of the study."""
    paid_per_hour: float
    """What that comes to in the median time; NaN without times."""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Everything of a study that is told."""

    study: Study
    collected: Collected
    funnel: Funnel
    screened: Screened
    classes: DawidSkene
    cells: tuple[CellVotes, ...]
    arms: tuple[ArmVotes, ...]
    contrasts: tuple[Contrast, ...]
    people: tuple[PersonQuality, ...]
    drift: Drift
    panels: PanelEffect
    sensitivity: tuple[SensitivityRow, ...]


def summarise(
    study: Study,
    collected: Collected,
    *,
    draws: int = DRAWS,
    cases: Sequence[Case] | None = None,
) -> Results:
    """Screen and summarise what a study has collected, counted votes alone.

    Args:
        study: Whose rules they are.
        collected: From the app, or from a file.
        draws: Of the intervals of agreement; the seed is the study's. 0 leaves them undefined.
        cases: Of the study's cells, in their order; None reads them.
    """
    known = study_cases(study) if cases is None else cases
    table = vote_table(study, collected)
    screened = screen(study, collected, known)
    classes = dawid_skene(
        table.safe, table.cell, table.rater, items=len(table.cells), raters=len(table.raters)
    )
    cells = cell_votes(table, study.votes, classes)
    resampling = Resampling(draws, study.seed) if draws else None
    return Results(
        study=study,
        collected=collected,
        funnel=_funnel(study, collected, screened, known),
        screened=screened,
        classes=classes,
        cells=cells,
        arms=arm_votes(table, cells, resampling),
        contrasts=contrasts(table),
        people=person_quality(table, screened, classes),
        drift=drift(table),
        panels=panel_effect(table, collected.people),
        sensitivity=sensitivity(table, screened),
    )


def _funnel(
    study: Study, collected: Collected, screened: Screened, cases: Sequence[Case]
) -> Funnel:
    statuses = Counter(one.status for one in collected.people)
    counted = sum(vote.counted for vote in collected.votes)
    minutes = _median_minutes(collected.people)
    paid = forecast(study, cases=cases).pay_each
    return Funnel(
        came=len(collected.people),
        by_status={status: statuses[status] for status in PersonStatus},
        people=len(screened.people),
        votes=counted,
        shared_browsers=collected.shared_browsers,
        votes_apart=len(collected.votes) - counted,
        flagged={rule: len(screened.flagged(rule)) for rule in Rule},
        flagged_any=len(screened.flagged()),
        checks=sum(one.checks for one in screened.people),
        checks_failed=sum(one.checks_failed for one in screened.people),
        median_minutes=minutes,
        paid_each=paid,
        paid_per_hour=paid * 60 / minutes if minutes > 0 else math.nan,
    )


def _median_minutes(people: Sequence[PersonRecord]) -> float:
    taken = [
        (to_utc(one.ended) - to_utc(one.started)).total_seconds() / 60
        for one in people
        if one.status is PersonStatus.COMPLETED and one.started and one.ended
    ]
    return median(taken) if taken else math.nan
