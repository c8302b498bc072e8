"""How well each person's votes tell what the others see, beside what screening says."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casewise.annotation.votes._screening import PersonScreen, Screened
from casewise.annotation.votes._table import VoteTable
from casewise.statistics import DawidSkene, cohen_kappa

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PersonQuality:
    """A person with counted votes; NaN is undefined."""

    screen: PersonScreen
    """Agreement, speed and flags."""
    kappa: float
    """Cohen's, of the person's votes with the majority of the others; cases on which the others
    are even are left out."""
    sensitivity: float
    """By Dawid & Skene's model, the chance of saying unsafe of an unsafe case, 0..1."""
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
    others, safe = table.others, table.others_safe
    seen = others > 0
    size = np.bincount(table.rater[seen], minlength=raters)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = np.where(seen, table.safe - safe / others, 0.0)
        leniency = np.bincount(table.rater, lean, minlength=raters) / size
    kappa = cohen_kappa(_against_majority(table, others, safe))
    return tuple(
        PersonQuality(
            screen=one,
            kappa=float(kappa[number]),
            sensitivity=float(classes.sensitivity[number]),
            specificity=float(classes.specificity[number]),
            leniency=float(leniency[number]),
            median_seconds=_median(table.seconds[mine]),
        )
        for number, (one, mine) in enumerate(zip(screened.people, table.of_raters(), strict=True))
    )


def _against_majority(table: VoteTable, others: FloatArray, safe: FloatArray) -> FloatArray:
    """Counts of own votes by the others' majority. Shape ``(raters, 2, 2)``."""
    decided = 2 * safe != others
    majority = (2 * safe > others)[decided].astype(np.int64)
    said = table.safe[decided].astype(np.int64)
    found = np.zeros((len(table.raters), 2, 2))
    np.add.at(found, (table.rater[decided], said, majority), 1)
    return found


def _median(seconds: FloatArray) -> float:
    known = seconds[np.isfinite(seconds)]
    return float(np.median(known)) if len(known) else math.nan
