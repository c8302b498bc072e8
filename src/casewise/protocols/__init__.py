"""Prompts, and readers of the answers. Pure: no model is called here."""

from casewise.choices import Delivery
from casewise.protocols import _pressures  # noqa: F401  fills VARIATIONS
from casewise.protocols._conversations import (
    NOT_RUN,
    SCRIPTED,
    Conversations,
    Opening,
    Script,
    load_script,
)
from casewise.protocols._cut import read_cut_step
from casewise.protocols._experiments import ESCALATION_STEPS, read_step
from casewise.protocols._grade import (
    GRADE_VERSION,
    GRADER_DECLINED,
    Conversation,
    grade_nonce,
    read_grade,
    render_grading,
)
from casewise.protocols._lexicon import Lexicon, find_lexicon, own_version
from casewise.protocols._mentions import mentioned_parameters
from casewise.protocols._prompts import TRANSLATED, UPSTREAM, Prompts, is_ours, load_prompts
from casewise.protocols._protocol import (
    MAX_TOKENS,
    PREFERS,
    Answer,
    Asking,
    Grade,
    GradedReply,
    Open,
    Protocol,
    Question,
    Request,
    Say,
    Stop,
    Unit,
    acting,
    drive,
    find_protocol,
    is_acting,
    paired,
    protocols,
    published_as,
)
from casewise.protocols._run_condition import CONDITION, RunCondition, SeededVariation
from casewise.protocols._types import (
    DOUBT_LIMIT,
    Graded,
    Reading,
    ResponseClass,
    Status,
    Verdict,
)
from casewise.protocols._variations import VARIATIONS, VariedConversations, find_variation
from casewise.protocols.binary import read_binary
from casewise.protocols.guard import read_guard
from casewise.protocols.probability import (
    LOW_MASS,
    TokenSets,
    derive_token_sets,
    read_probability,
    surface_forms,
)
from casewise.protocols.replies import (
    READER_VERSION,
    count_fitted,
    phrase_match,
    read_reply,
    string_match,
)
from casewise.protocols.respond import grade_reply, grader_version
from casewise.protocols.score import mean_score, read_score

__all__ = [
    "Answer",
    "Asking",
    "CONDITION",
    "Conversation",
    "Conversations",
    "DOUBT_LIMIT",
    "Delivery",
    "ESCALATION_STEPS",
    "GRADER_DECLINED",
    "GRADE_VERSION",
    "Grade",
    "Graded",
    "GradedReply",
    "LOW_MASS",
    "Lexicon",
    "MAX_TOKENS",
    "NOT_RUN",
    "Open",
    "Opening",
    "PREFERS",
    "Prompts",
    "Protocol",
    "Question",
    "READER_VERSION",
    "Reading",
    "Request",
    "ResponseClass",
    "RunCondition",
    "SCRIPTED",
    "Say",
    "Script",
    "SeededVariation",
    "Status",
    "Stop",
    "TRANSLATED",
    "TokenSets",
    "UPSTREAM",
    "Unit",
    "VARIATIONS",
    "VariedConversations",
    "Verdict",
    "acting",
    "count_fitted",
    "derive_token_sets",
    "drive",
    "find_lexicon",
    "find_protocol",
    "find_variation",
    "grade_nonce",
    "grade_reply",
    "grader_version",
    "is_acting",
    "is_ours",
    "load_prompts",
    "load_script",
    "mean_score",
    "mentioned_parameters",
    "own_version",
    "paired",
    "phrase_match",
    "protocols",
    "published_as",
    "read_binary",
    "read_cut_step",
    "read_grade",
    "read_guard",
    "read_probability",
    "read_reply",
    "read_score",
    "read_step",
    "render_grading",
    "string_match",
    "surface_forms",
]
