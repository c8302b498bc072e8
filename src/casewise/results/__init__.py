"""Results of runs: rows, the state of the runs, baselines, and the verdicts in words.

Every sentence on a run is made here, once; terminal, Markdown, page, card and JSON show it.
"""

from casewise.results._changes import ChangeSentence, change_sentences
from casewise.results._failure_words import (
    GROUP_TITLES,
    deed,
    difference_clause,
    failure_record,
    failure_sentence,
    label_clause,
    people_clause,
)
from casewise.results._gate_words import (
    build_lines,
    gate_heading,
    gate_lines,
    rule_demand,
    rule_name,
    rule_sentence,
)
from casewise.results._ladder_words import ladder_sentence
from casewise.results._leaderboard_words import leaderboard_lines
from casewise.results._result import (
    Comparisons,
    Gate,
    Result,
    Scores,
    Trend,
    leading,
)
from casewise.results._trend import DatedRun, ended_at
from casewise.results._verdict import (
    Figure,
    Verdict,
    cut_notes,
    kind_of,
    left_open,
    mass_warnings,
    provisional_note,
    remarks,
    rules_remark,
    run_warnings,
    uneven_notes,
    weighing_note,
    weighing_words,
)
from casewise.results._wording import (
    BASELINES,
    Share,
    Wording,
    baselines_read,
    first_upper,
    mistake_measures,
    page_wording,
    refusals,
    rule_wording,
    whole_percent,
    wording,
)

__all__ = [
    "BASELINES",
    "ChangeSentence",
    "Comparisons",
    "DatedRun",
    "Figure",
    "GROUP_TITLES",
    "Gate",
    "Result",
    "Scores",
    "Share",
    "Trend",
    "Verdict",
    "Wording",
    "baselines_read",
    "build_lines",
    "change_sentences",
    "cut_notes",
    "deed",
    "difference_clause",
    "ended_at",
    "failure_record",
    "failure_sentence",
    "first_upper",
    "gate_heading",
    "gate_lines",
    "kind_of",
    "ladder_sentence",
    "label_clause",
    "leaderboard_lines",
    "leading",
    "mistake_measures",
    "mass_warnings",
    "page_wording",
    "people_clause",
    "provisional_note",
    "refusals",
    "left_open",
    "remarks",
    "rule_demand",
    "rule_name",
    "rule_sentence",
    "rule_wording",
    "rules_remark",
    "run_warnings",
    "uneven_notes",
    "weighing_note",
    "weighing_words",
    "whole_percent",
    "wording",
]
