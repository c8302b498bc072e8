"""Prompts, and readers of the answers. Pure: no model is called here."""

from casewise.choices import Delivery
from casewise.protocols.answer import named_parameters
from casewise.protocols.condition import CONDITION, TRANSCRIPTS, RunCondition
from casewise.protocols.conversations import (
    NOT_RUN,
    SCRIPTED,
    Conversations,
    Opening,
    Script,
    load_script,
)
from casewise.protocols.grade import (
    GRADE_VERSION,
    Conversation,
    grade_nonce,
    read_grade,
    render_grading,
)
from casewise.protocols.ladder import (
    BARE_RUNG,
    RUNG_NAME,
    is_rung,
    load_ladder,
    on_rung,
)
from casewise.protocols.probability import (
    LOW_MASS,
    surface_forms,
)
from casewise.protocols.prompts import Prompts, load_prompts
from casewise.protocols.protocol import (
    MAX_TOKENS,
    PREFERS,
    Answer,
    Grade,
    GradedReply,
    Open,
    Protocol,
    Question,
    Request,
    Say,
    Stop,
    Unit,
    acting_protocols,
    drive,
    find_protocol,
    is_acting,
    pair_protocols,
    protocols,
    published_protocol,
)
from casewise.protocols.replies import (
    READER_VERSION,
    count_fitted,
    name_non_reply,
    read_cut_step,
    read_reply,
    read_step,
    string_match,
)
from casewise.protocols.respond import BY_PROVIDER, grade_reply, grader_version
from casewise.protocols.types import (
    Graded,
    Reading,
    ResponseClass,
    Status,
    Verdict,
)
from casewise.protocols.variations import (
    ESCALATION_STEPS,
    VARIATIONS,
    VariedConversations,
    find_variation,
)
from casewise.protocols.words import TRANSLATED, other_words
