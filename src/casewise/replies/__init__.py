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
