"""Evidence ladders: refusals of the same cases at each rung of proof."""

from casewise.analyses.shape import Analysis, Line, analysis
from casewise.scores import ScoreReport


@analysis
def ladder(report: ScoreReport) -> Analysis:
    """Refusals at each rung, then the measures of several rungs."""
    lines = []
    for one in report.ladders:
        for rung in one.rungs:
            figures = {"refused_safe": rung.safe, "refused_unsafe": rung.unsafe} | rung.moved
            if rung.answered_from is not None:
                figures["answered_from_here"] = rung.answered_from
            lines.append(Line(one.condition, rung.rung, one.n, figures))
        lines.append(Line(one.condition, "", one.n, one.measures))
    return Analysis(
        "ladder",
        "Evidence ladder: share refused, or called unsafe, rung by rung",
        "How much proof moves it, from a bare claim to a check?",
        lines,
        "The same queries with rising proof of their context: 0 the query alone, 1 a claim, 2 "
        "credentials, 3 a letter, 4 the operator's word, 5 a tool that says true, 6 one that says "
        "false. Controls: 1b an unrelated claim, 1c the claim of the twin, 3x a letter that says "
        "otherwise. Over the cases that were graded at every rung.",
        "No model climbed a ladder: casewise run --ladder evidence.",
        axis="rung",
    )
