"""Effect of recalibrated probabilities on measures."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from casewise.judgements import conditions
from casewise.measures import Answers, Scoring, labelled_rows, make_answers, measure
from casewise.protocols import RunCondition, acting
from casewise.statistics import (
    Estimate,
    FloatArray,
    grouped_folds,
    recalibrate,
)

FOLDS = 5

CALIBRATED = ("accuracy", "pcc", "bce", "brier", "ece")
"""Measures shown before and after recalibration."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A condition's measures before and after recalibration on held-out queries."""

    condition: RunCondition
    folds: int
    temperatures: tuple[float, ...]
    before: dict[str, Estimate]
    """Measures of ``CALIBRATED``; so are the next two, after recalibration."""
    temperature: dict[str, Estimate]
    isotonic: dict[str, Estimate]

    @property
    def mean_temperature(self) -> float:
        """The mean over folds: above 1 the model was too sure, below 1 not sure enough."""
        return sum(self.temperatures) / len(self.temperatures)


def calibrations(table: pl.DataFrame, scoring: Scoring, seed: int = 0) -> list[Calibration]:
    """Recalibrate every judging condition with probabilities; unread answers are left out.

    Five folds of whole queries: each probability is recalibrated by a fit to other queries, which
    saw neither its case nor its twin. Conditions with a single query are left out.
    """
    found = []
    for condition, answers in _read_answers(table, scoring):
        kept = answers.only(~np.isnan(answers.p_safe))
        folds = grouped_folds(kept.clusters.index, FOLDS, seed)
        if len(np.unique(folds)) < 2:
            continue
        mended = recalibrate(kept.p_safe, kept.truth.rate, folds)
        found.append(
            Calibration(
                condition=condition,
                folds=len(mended.temperatures),
                temperatures=mended.temperatures,
                before=measure(kept, CALIBRATED),
                temperature=measure(_with(kept, mended.temperature), CALIBRATED),
                isotonic=_of_enough(_with(kept, mended.isotonic)),
            )
        )
    return found


LEAST_MENDED = 450
"""Queries below which figures after an isotonic recalibration have no interval."""


def _of_enough(mended: Answers) -> dict[str, Estimate]:
    """Measures of recalibrated answers, without intervals where queries are few.

    An interval takes the fit for given, and a fit to few queries is by chance.
    """
    few = f"fewer than {LEAST_MENDED} queries: the fit is by chance, too"
    reason = few if mended.clusters.count < LEAST_MENDED else ""
    return {
        name: replace(one, unavailable=reason) for name, one in measure(mended, CALIBRATED).items()
    }


def _read_answers(table: pl.DataFrame, scoring: Scoring) -> list[tuple[RunCondition, Answers]]:
    found = []
    for condition, part in conditions(table.filter(~pl.col("protocol").is_in(acting()))):
        rule = scoring.rule(part)
        kept, truth = labelled_rows(part, rule, scoring.ties)
        answers = make_answers(kept, truth)
        found.append((condition, answers.only(answers.read)))
    return found


def _with(answers: Answers, p_safe: FloatArray) -> Answers:
    return replace(answers, p_safe=p_safe, verdict=(p_safe > 0.5).astype(np.float64))
