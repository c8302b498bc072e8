"""Rates of replies as graded, and corrected for the grader's errors."""

from casewise.replies import correction_notes
from casewise.results import Analysis, Line, Scores, analysis


@analysis
def correction(scores: Scores) -> Analysis:
    """Each rate as graded and corrected, of the runs for which people labelled replies."""
    corrections = [score.correction for score in scores if score.correction]
    return Analysis(
        "correction",
        "Corrected for the grader's errors",
        "What do the rates come to without the grader's errors?",
        [
            Line(
                run_correction.condition,
                name.removesuffix("_rate").replace("_", "-"),
                run_correction.labelled,
                {"as graded": raw, "corrected": run_correction.corrected[name]},
            )
            for run_correction in corrections
            for name, raw in run_correction.raw.items()
        ],
        "People labelled some replies; by these the grader's errors are taken out of the rates. "
        "The interval holds the uncertainty of the labelled sample too.",
        notes=correction_notes(corrections),
    )
