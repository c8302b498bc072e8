"""Scores and comparisons of the judgement table, and the cases that runs get wrong.

``score`` scores a condition, ``report`` a table and its baselines, ``comparison`` subtracts two
runs, ``failures`` finds the wrong answers.
"""

from casewise.choices import Split
from casewise.protocols import LOW_MASS, RunCondition
from casewise.scores.comparison import (
    Change,
    Comparison,
    Difference,
    Run,
    are_comparable,
    compare_runs,
    comparison_records,
    correction_record,
    find_runs,
    other_data,
    pairs_of_runs,
    right_after,
)
from casewise.scores.failures import (
    Browser,
    ContextDifference,
    Failure,
    context_differences,
    judged_and_acted,
    make_browser,
    new_failures,
)
from casewise.scores.ladders import climb, find_ladders
from casewise.scores.overview import Overview, make_overview
from casewise.scores.report import ScoreReport, report_scores
from casewise.scores.score import (
    RuleAccuracy,
    Score,
    count_cut,
    cut_note,
    differences,
    is_provisional,
    mass_warning,
    mean_mass,
    rule_accuracies,
    score_rows,
    score_table,
    score_together,
)
from casewise.statistics import BY_DESIGN, Estimate, RareRate

__all__ = [
    "BY_DESIGN",
    "Browser",
    "Change",
    "Comparison",
    "ContextDifference",
    "Difference",
    "Estimate",
    "Failure",
    "LOW_MASS",
    "Overview",
    "RareRate",
    "RuleAccuracy",
    "Run",
    "RunCondition",
    "Score",
    "ScoreReport",
    "Split",
    "are_comparable",
    "climb",
    "compare_runs",
    "comparison_records",
    "context_differences",
    "count_cut",
    "cut_note",
    "correction_record",
    "differences",
    "find_ladders",
    "find_runs",
    "is_provisional",
    "judged_and_acted",
    "make_browser",
    "make_overview",
    "mass_warning",
    "mean_mass",
    "new_failures",
    "other_data",
    "pairs_of_runs",
    "report_scores",
    "right_after",
    "rule_accuracies",
    "score_rows",
    "score_table",
    "score_together",
]
