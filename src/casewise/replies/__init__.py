"""Replies: graded, drawn and labelled by people, held against their graders, and asked again."""

from casewise.replies.agreement import (
    PROVISIONAL,
    REFUSING,
    Agreement,
    GraderReport,
    LabelledReply,
    check_grader,
    grader_record,
    load_labelled,
    rules_note,
)
from casewise.replies.correction import (
    GraderCorrection,
    correct_rates,
    correction_notes,
)
from casewise.replies.replay import (
    REPLAY_TABLE,
    ChangeRates,
    ReplayedReplies,
    ReplayReport,
    ReplayTexts,
    ReplyChange,
    compare_replies,
    draw_turns,
)
from casewise.replies.sample import draw_replies, sheet_text
from casewise.replies.sheet import CheckFile, LabelSheet, load_checks
from casewise.replies.transcripts import (
    Fate,
    Grading,
    LineTally,
    NothingPlacedError,
    ToGrade,
    grade_by,
    grade_conversations,
)

__all__ = [
    "Agreement",
    "ChangeRates",
    "CheckFile",
    "Fate",
    "GraderCorrection",
    "GraderReport",
    "Grading",
    "LabelSheet",
    "LabelledReply",
    "LineTally",
    "NothingPlacedError",
    "PROVISIONAL",
    "REFUSING",
    "REPLAY_TABLE",
    "ReplayReport",
    "ReplayTexts",
    "ReplayedReplies",
    "ReplyChange",
    "ToGrade",
    "check_grader",
    "compare_replies",
    "correct_rates",
    "correction_notes",
    "draw_replies",
    "draw_turns",
    "grade_by",
    "grade_conversations",
    "grader_record",
    "load_checks",
    "load_labelled",
    "rules_note",
    "sheet_text",
]
