"""Which of two contexts of a query is the more appropriate to answer."""

from casewise.choices import Family
from casewise.measures import measures
from casewise.results import Analysis, Line, Scores, analysis


@analysis
def rank(scores: Scores) -> Analysis:
    """Models that ranked two contexts."""
    return Analysis(
        "rank",
        "Which of two contexts of a query is the more appropriate",
        "Which of two contexts of a query does the model find more appropriate?",
        [Line(score.condition, "", score.n, score.measures) for score in scores.ranked],
        "A pair weighs as much as its two labels differ. A model that can't tell the contexts "
        "apart ranks half of them as labels do.",
        shown=[measure.name for measure in measures() if Family.PAIRS in measure.of],
    )
