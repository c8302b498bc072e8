"""Tables for people and for programs. Formats, and never computes."""

from casewise.choices import Undecided
from casewise.reporting._card import evaluation_card
from casewise.reporting._case_sets import (
    audit_json,
    audit_markdown,
    audit_renderable,
    diff_json,
    diff_markdown,
    diff_renderable,
    parts_table,
    releases_table,
)
from casewise.reporting._compare import (
    CHANGES_PAGE,
    ChangeSentence,
    change_sentences,
    comparison_json,
    comparison_markdown,
    comparison_renderable,
)
from casewise.reporting._describe import (
    description_json,
    description_markdown,
    description_renderable,
)
from casewise.reporting._gate import (
    gate_annotations,
    gate_json,
    gate_junit,
    gate_markdown,
    gate_renderable,
    refusal_annotation,
    refusal_junit,
    refusal_markdown,
)
from casewise.reporting._graders import (
    grader_json,
    grader_markdown,
    grader_renderable,
    injected_json,
    injected_markdown,
    injected_renderable,
    tally_table,
)
from casewise.reporting._power import (
    paper_json,
    paper_markdown,
    paper_renderable,
    plan_json,
    plan_lines,
    plan_markdown,
)
from casewise.reporting._replay import replay_json, replay_markdown, replay_renderable
from casewise.reporting._score import score_renderable, to_csv, to_json, to_markdown
from casewise.reporting._scores import condition_text
from casewise.reporting.page import label_page, report_page

__all__ = [
    "CHANGES_PAGE",
    "ChangeSentence",
    "Undecided",
    "audit_json",
    "audit_markdown",
    "audit_renderable",
    "change_sentences",
    "comparison_json",
    "comparison_markdown",
    "comparison_renderable",
    "condition_text",
    "description_json",
    "description_markdown",
    "description_renderable",
    "diff_json",
    "diff_markdown",
    "diff_renderable",
    "evaluation_card",
    "gate_annotations",
    "gate_json",
    "gate_junit",
    "gate_markdown",
    "gate_renderable",
    "grader_json",
    "grader_markdown",
    "grader_renderable",
    "injected_json",
    "injected_markdown",
    "injected_renderable",
    "label_page",
    "paper_json",
    "paper_markdown",
    "paper_renderable",
    "parts_table",
    "plan_json",
    "plan_lines",
    "plan_markdown",
    "refusal_annotation",
    "refusal_junit",
    "refusal_markdown",
    "releases_table",
    "replay_json",
    "replay_markdown",
    "replay_renderable",
    "report_page",
    "score_renderable",
    "tally_table",
    "to_csv",
    "to_json",
    "to_markdown",
]
