"""Effect of recalibrated probabilities on measures."""

from dataclasses import replace

import numpy as np

from casewise.analyses.pairing import Run, common_answers
from casewise.measures import Answers, measure
from casewise.results import Analysis, Line, Scores, analysis
from casewise.sheets import number
from casewise.statistics import Estimate, FloatArray, grouped_folds, recalibrate

FOLDS = 5

CALIBRATED = ("accuracy", "pcc", "bce", "brier", "ece")
"""Measures shown before and after recalibration."""

FITTED = "the fit is by chance, too"
"""Reason for no interval after an isotonic recalibration, which would take the fit for given."""


@analysis
def calibration(scores: Scores) -> Analysis:
    """Measures as they are, and after temperature scaling and isotonic regression.

    Five folds of whole queries: each probability is recalibrated by a fit to other queries, which
    saw neither its case nor its twin. Unread answers, and runs of a single query, are left out.
    """
    judged = [run for run in scores.runs if scores.calibrate and not run[0].acts]
    return Analysis(
        "calibration",
        "Recalibrated on held-out queries",
        "Would recalibration help?",
        [line for run in judged for line in _recalibrated_lines(run, scores)],
        "Each query's probabilities are recalibrated by a fit to other queries. A temperature "
        "above 1: the model was too sure.",
    )


def _recalibrated_lines(run: Run, scores: Scores) -> list[Line]:
    (read,) = common_answers(scores, [run])
    answers = read.only(~np.isnan(read.p_safe))
    folds = grouped_folds(answers.clusters.index, FOLDS, scores.seed)
    fitted = recalibrate(answers.p_safe, answers.truth.rate, folds)
    if not fitted.temperatures:
        return []
    mean = sum(fitted.temperatures) / len(fitted.temperatures)
    parts = {
        "as it is": measure(answers, CALIBRATED),
        f"temperature {number(mean, 2)}": _measure_with(answers, fitted.temperature),
        "isotonic": _without_intervals(_measure_with(answers, fitted.isotonic)),
    }
    return [Line(run[0], part, len(answers.read), figures) for part, figures in parts.items()]


def _measure_with(answers: Answers, p_safe: FloatArray) -> dict[str, Estimate]:
    """Measures of the answers with other probabilities."""
    verdict = (p_safe > 0.5).astype(np.float64)
    return measure(replace(answers, p_safe=p_safe, verdict=verdict), CALIBRATED)


def _without_intervals(measured: dict[str, Estimate]) -> dict[str, Estimate]:
    return {
        name: replace(figure, unavailable=figure.unavailable or FITTED)
        for name, figure in measured.items()
    }
