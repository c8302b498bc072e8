"""Results of runs: scores, comparisons, a trend; the cases that runs get wrong; all in words.

``score`` scores a condition and a table, ``compare`` subtracts two runs, ``verdict`` finds the
sentence on each, ``failures`` the wrong answers. Every sentence on a run is made here, once;
terminal, Markdown, page, card and JSON show it.
"""

from casewise.results.compare import (
    Change,
    Comparison,
    Comparisons,
    Difference,
    Run,
    are_comparable,
    compare_runs,
    find_runs,
    other_data,
    pairs_of_runs,
    right_after,
)
from casewise.results.failures import (
    Browser,
    Failure,
    deed,
    difference_clauses,
    group_titles,
    label_clause,
    make_browser,
    new_failures,
    people_clause,
)
from casewise.results.ladders import climb, find_ladders
from casewise.results.overview import Overview, make_overview
from casewise.results.score import (
    Result,
    Score,
    Scores,
    count_cut,
    differences,
    mean_mass,
    score_rows,
    score_table,
    score_together,
)
from casewise.results.trend import NO_TREND, DatedRun, Trend, leading
from casewise.results.verdict import Figure, Verdict, figure_titles, pinned_rows
from casewise.results.words import (
    Share,
    cut_note,
    first_upper,
    left_open,
    mass_warning,
    of_100,
    remarks,
    rules_remark,
    run_warnings,
    run_wording,
    wording,
)

__all__ = [
    "Browser",
    "Change",
    "Comparison",
    "Comparisons",
    "DatedRun",
    "Difference",
    "Failure",
    "Figure",
    "NO_TREND",
    "Overview",
    "Result",
    "Run",
    "Score",
    "Scores",
    "Share",
    "Trend",
    "Verdict",
    "are_comparable",
    "climb",
    "compare_runs",
    "count_cut",
    "cut_note",
    "deed",
    "difference_clauses",
    "differences",
    "figure_titles",
    "find_ladders",
    "find_runs",
    "first_upper",
    "group_titles",
    "label_clause",
    "leading",
    "left_open",
    "make_browser",
    "make_overview",
    "mass_warning",
    "mean_mass",
    "new_failures",
    "of_100",
    "other_data",
    "pairs_of_runs",
    "people_clause",
    "pinned_rows",
    "remarks",
    "right_after",
    "rules_remark",
    "run_warnings",
    "run_wording",
    "score_rows",
    "score_table",
    "score_together",
    "wording",
]
