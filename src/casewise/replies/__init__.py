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
    ChangeRates,
    ReplayReport,
    Replies,
    ReplyChange,
    compare_replies,
    grade_old,
    recorded_replies,
    turn_table,
)
from casewise.replies.sample import draw_replies, sheet_text
from casewise.replies.sheet import CheckFile, LabelSheet, load_checks
from casewise.replies.transcripts import (
    GRADED,
    Grading,
    LineTally,
    UngradedReply,
    grade_by,
    grade_conversations,
)
