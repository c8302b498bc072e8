"""Quality of each person's votes; effects of time, position and panel; the times of a pilot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.statistics import (
    Estimate,
    FloatArray,
    IntArray,
    clustered_mean,
    clustered_ratio,
    cohen_kappa,
    kruskal_wallis,
)
from casewise_study.statistics.dawid_skene import DawidSkene
from casewise_study.votes.collected import PersonRecord, VoteTable
from casewise_study.votes.result_files import row_of
from casewise_study.votes.screening import PersonScreen, Screened


@dataclass(frozen=True, slots=True)
class PersonQuality(PersonScreen):
    """A person with counted votes; NaN is undefined."""

    kappa: float
    """Cohen's, of the person's votes with the majority of the others; cases on which the others
    are even are left out."""
    sensitivity: float
    """Chance, by Dawid & Skene's model, of saying unsafe of an unsafe case, 0..1."""
    specificity: float
    """The chance of saying safe of a safe case."""
    leniency: float
    """Share of safe votes less the others' on the same cases, -1..1; above 0 is lenient."""
    median_seconds: float


def person_quality(
    table: VoteTable, screened: Screened, classes: DawidSkene
) -> tuple[PersonQuality, ...]:
    """Everybody with counted votes, in the order of the people."""
    raters = len(table.raters)
    others = np.asarray(table.counts[table.cell] - 1)
    safe = np.asarray(table.counts_safe[table.cell] - table.safe)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = np.where(others > 0, table.safe - safe / others, 0.0)
        size = np.bincount(table.rater, others > 0, minlength=raters)
        leniency = np.bincount(table.rater, lean, minlength=raters) / size
    kappa = cohen_kappa(_against_majority(table, others, safe))
    medians = (_median(table.seconds[mine]) for mine in table.of_raters())
    columns = (kappa, classes.sensitivity, classes.specificity, leniency)
    figures = zip(screened.people, *map(list, columns), medians, strict=True)
    return tuple(
        PersonQuality(*row_of(person).values(), *map(float, each)) for person, *each in figures
    )


def _against_majority(table: VoteTable, others: FloatArray, safe: FloatArray) -> FloatArray:
    """Counts of own votes by the others' majority. Shape ``(raters, 2, 2)``."""
    decided = 2 * safe != others
    majority = (2 * safe > others)[decided].astype(np.int64)
    said = table.safe[decided].astype(np.int64)
    counts = np.zeros((len(table.raters), 2, 2))
    np.add.at(counts, (table.rater[decided], said, majority), 1)
    return counts


def _median(seconds: FloatArray) -> float:
    known = seconds[np.isfinite(seconds)]
    return float(np.median(known)) if len(known) else math.nan


PAGES = 10
"""Pages of a person over which a slope is given."""

DAY = 86_400.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Slopes within cases, with errors clustered by person; NaN is undefined."""

    safe_by_page: Estimate
    """Change of the share of safe votes over ``PAGES`` pages of a person."""
    speed_by_page: Estimate
    """Change of the logarithm of seconds over ``PAGES`` pages."""
    safe_by_day: Estimate
    """Change of the share of safe votes over a day of the study."""
    speed_by_day: Estimate
    """Change of the logarithm of seconds over a day."""


@dataclass(frozen=True, slots=True)
class PanelVotes:
    """The people of one panel."""

    panel: str
    people: int
    votes: int
    """On cases that other panels judged too."""
    leaning: Estimate
    """Share of safe votes less that of everybody on the same cases, with errors by person."""


@dataclass(frozen=True, slots=True)
class PanelEffect:
    """Effect of the panel on votes on the same cases; NaN is undefined."""

    panels: tuple[PanelVotes, ...]
    shared_cells: int
    """Cells with votes of two panels or more; panels can be told from cases on these alone."""
    cells: int
    """Cells with votes."""
    statistic: float
    """Kruskal & Wallis's over the mean leaning of people, whose panels are what is compared."""
    p: float


def drift(table: VoteTable) -> Drift:
    """Estimate how votes and speed change over pages and days, within cases."""
    speed = np.log(np.maximum(table.seconds, 1e-3))
    pages, days = table.position / PAGES, table.time / DAY
    return Drift(
        safe_by_page=_slope(table, table.safe, pages),
        speed_by_page=_slope(table, speed, pages),
        safe_by_day=_slope(table, table.safe, days),
        speed_by_day=_slope(table, speed, days),
    )


def _slope(table: VoteTable, values: FloatArray, along: FloatArray) -> Estimate:
    """Least squares with an intercept for each cell; NaN where nothing varies within cells."""
    known = np.isfinite(values) & np.isfinite(along)
    kept = table.only(known)
    y, x = (_within(kept.cell, column[known]) for column in (values, along))
    squares = np.where(np.abs(x) > 1e-9, x * x, 0.0)
    return clustered_ratio(x * y, squares, kept.by_rater)


def _within(cell: IntArray, values: FloatArray) -> FloatArray:
    """Values less the mean of their cell."""
    votes = np.bincount(cell)
    return np.asarray(values - (np.bincount(cell, values) / np.maximum(votes, 1))[cell])


def panel_effect(table: VoteTable, people: Sequence[PersonRecord]) -> PanelEffect:
    """Compare the panels of people over the cells that several judged.

    Votes less the mean of their cell are averaged for each person, and the people of one panel are
    compared with those of the others: a person's votes are correlated, so errors are clustered by
    person.
    """
    of_person = {person.rater: person.panel for person in people}
    names = sorted({of_person[rater] for rater in table.raters})
    panel = np.array([names.index(of_person[rater]) for rater in table.raters], np.int64)
    seen = np.zeros((len(table.cells), max(1, len(names))), bool)
    seen[table.cell, panel[table.rater]] = True
    shared = seen.sum(axis=1) >= 2
    kept = table.only(shared[table.cell])
    leaning = _within(kept.cell, kept.safe) if len(kept.safe) else kept.safe
    own, clusters = panel[kept.rater], kept.by_rater
    judged = np.bincount(kept.rater, minlength=len(table.raters))
    with np.errstate(invalid="ignore"):
        mean = np.bincount(kept.rater, leaning, minlength=len(table.raters)) / judged
    test = kruskal_wallis([mean[(panel == n) & (judged > 0)] for n in range(len(names))])
    return PanelEffect(
        panels=tuple(
            PanelVotes(
                panel=name,
                people=int((panel == n).sum()),
                votes=int((own == n).sum()),
                leaning=clustered_mean(leaning[own == n], clusters.only(own == n)),
            )
            for n, name in enumerate(names)
        ),
        shared_cells=int(shared.sum()),
        cells=int(seen.any(axis=1).sum()),
        statistic=test.statistic if test.groups > 1 else math.nan,
        p=test.p,
    )
