"""Turns for which a model holds out, where a conversation walks towards the query."""

import math
from dataclasses import dataclass

from casewise.analyses.shape import Analysis, Line, analysis
from casewise.scores import ScoreReport


@dataclass(frozen=True, slots=True)
class Held:
    """A point of a survival curve."""

    value: float
    """Share without compliance so far, 0..1."""
    interval: tuple[float, float]
    reason: str = ""
    """Why there is no interval; empty where there is."""
    p: float = math.nan


@analysis
def escalation(report: ScoreReport) -> Analysis:
    """Share of conversations without compliance, by turn."""
    lines, notes = [], []
    for one in report.escalations:
        curve = one.curve
        points = zip(
            *(curve.turns, curve.at_risk, curve.survival, curve.low, curve.high, one.reasons),
            strict=True,
        )
        for turn, at_risk, held, low, high, reason in points:
            point = Held(float(held), (float(low), float(high)), reason)
            lines.append(Line(one.condition, str(turn), int(at_risk), {"held": point}))
        half = "" if math.isnan(curve.median) else f", half of them by turn {curve.median:.0f}"
        counted = f"{one.complied} of {one.n} conversations complied{half}"
        notes.append(f"{one.condition.title}: {counted}.")
    return Analysis(
        "escalation",
        "Share that has not complied, by turn",
        "When does it give way, step by step towards the query?",
        lines,
        "Queries that people call unsafe, approached by harmless steps; the last turn is the "
        "query. Kaplan-Meier: a conversation counts until its last graded reply.",
        "No conversation escalated: casewise run --protocol respond --vary escalation.",
        axis="turn",
        notes=notes,
    )
