"""Results of runs: scores, comparisons, a trend; the cases that runs get wrong; all in words.

``score`` scores a condition and a table, ``compare`` subtracts two runs, ``verdict`` finds the
sentence on each, ``failures`` the wrong answers. Every sentence on a run is made here, once;
terminal, Markdown, page, card and JSON show it.
"""

from casewise.results.analysis import ANALYSES, Analysis, Line, analysis
from casewise.results.compare import (
    Change,
    Comparison,
    Comparisons,
    Difference,
    Run,
    are_comparable,
    compare_runs,
    find_pairs,
    find_runs,
    other_data,
)
from casewise.results.failures import (
    Browser,
    Failure,
    group_titles,
    label_clause,
    make_browser,
    people_clause,
    predicate,
)
from casewise.results.overview import (
    NO_TREND,
    DatedRun,
    Overview,
    Trend,
    dated_runs,
    leading,
    make_overview,
)
from casewise.results.score import (
    Result,
    Score,
    Scores,
    correct_scores,
    count_cut,
    differences,
    score_rows,
    score_table,
    score_together,
)
from casewise.results.verdict import (
    Figure,
    Verdict,
    cut_note,
    figure_titles,
    first_upper,
    of_100,
    pinned_rows,
    remarks,
    rules_remark,
    run_warnings,
    run_wording,
    unread_counts,
    wording,
)
