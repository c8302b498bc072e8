"""Results of runs: rows, the state of the runs, baselines, and the verdicts in words.

Every sentence on a run is made here, once; terminal, Markdown, page, card and JSON show it.
"""

from casewise.results._changes import ChangeSentence, change_sentences
from casewise.results._result import (
    Comparisons,
    Gate,
    Result,
    Scores,
    Trend,
    leading,
    verdict_sentences,
)
from casewise.results._trend import DatedRun, ended_at
from casewise.results._verdict import (
    Figure,
    Verdict,
    cut_notes,
    kind_of,
    mass_warnings,
    provisional_note,
    remarks,
    rules_remark,
    run_warnings,
    uneven_notes,
)
from casewise.results._wording import (
    BASELINES,
    Share,
    Wording,
    baselines_read,
    first_upper,
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
    "Gate",
    "Result",
    "Scores",
    "Share",
    "Trend",
    "Verdict",
    "Wording",
    "baselines_read",
    "change_sentences",
    "cut_notes",
    "ended_at",
    "first_upper",
    "kind_of",
    "leading",
    "mass_warnings",
    "page_wording",
    "provisional_note",
    "refusals",
    "remarks",
    "rule_wording",
    "rules_remark",
    "run_warnings",
    "uneven_notes",
    "verdict_sentences",
    "whole_percent",
    "wording",
]
