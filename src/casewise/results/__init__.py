"""Results of runs: rows, the state of the runs, baselines, and the verdicts in words.

Every sentence on a run is made here, once; terminal, Markdown, page, card and JSON show it.
"""

from casewise.results.failures import (
    deed,
    difference_clause,
    failure_record,
    failure_sentence,
    group_titles,
    label_clause,
    people_clause,
)
from casewise.results.gate_words import (
    gate_heading,
    gate_lines,
    rule_demand,
    rule_name,
    rule_sentence,
)
from casewise.results.notes import (
    left_open,
    remarks,
    rules_remark,
    run_warnings,
)
from casewise.results.result import (
    NO_TREND,
    Comparisons,
    Gate,
    Result,
    Scores,
    Trend,
    leading,
)
from casewise.results.trend import DatedRun
from casewise.results.verdict import Figure, Verdict, figure_titles, pinned_rows
from casewise.results.words import (
    Share,
    first_upper,
    of_100,
    run_wording,
    wording,
)

__all__ = [
    "NO_TREND",
    "Comparisons",
    "DatedRun",
    "Figure",
    "Gate",
    "Result",
    "Scores",
    "Share",
    "Trend",
    "Verdict",
    "deed",
    "difference_clause",
    "failure_record",
    "failure_sentence",
    "figure_titles",
    "first_upper",
    "gate_heading",
    "gate_lines",
    "group_titles",
    "label_clause",
    "leading",
    "left_open",
    "of_100",
    "people_clause",
    "pinned_rows",
    "remarks",
    "rule_demand",
    "rule_name",
    "rule_sentence",
    "rules_remark",
    "run_warnings",
    "run_wording",
    "wording",
]
