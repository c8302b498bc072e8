"""Effect of recalibrated probabilities on measures."""

from casewise.analyses.shape import Analysis, Line, analysis
from casewise.scores import ScoreReport
from casewise.sheets import number


@analysis
def calibration(report: ScoreReport) -> Analysis:
    """Measures as they are, and after temperature scaling and isotonic regression."""
    lines = []
    for row in report.rows:
        if row.calibration is not None:
            found = row.calibration
            parts = {
                "as it is": found.before,
                f"temperature {number(found.mean_temperature, 2)}": found.temperature,
                "isotonic": found.isotonic,
            }
            lines += [Line(found.condition, part, None, one) for part, one in parts.items()]
    return Analysis(
        "calibration",
        "Recalibrated on held-out queries",
        "Would recalibration help?",
        lines,
        "Each query's probabilities are recalibrated by a fit to other queries. A temperature "
        "above 1: the model was too sure.",
        "Not asked for: casewise score --calibrate.",
    )
