"""The making of contexts: what a model is asked, how its answer is read, what is wrong with it.

Pure: no model is called here.
"""

from casewise.contexts.making._form import (
    NOT_MENDED,
    PARAMETERS,
    ContextFault,
    Fault,
    Values,
    context_schema,
    make_context,
    pair_schema,
    parse_matched,
)
from casewise.contexts.making._prompts import (
    CRITIC_VERSION,
    MAKE_VERSION,
    Piece,
    render_making,
    render_repair,
    render_review,
    review_nonce,
)
from casewise.contexts.making._read import CONTEXT, PAIR, Review, Written, read_answer, read_review
from casewise.contexts.making._rules import (
    ADDRESSING_WORDS,
    PLEADING_WORDS,
    VERDICT_WORDS,
    Member,
    check_context,
    check_set,
    check_twins,
    found_words,
)

__all__ = [
    "ADDRESSING_WORDS",
    "CONTEXT",
    "CRITIC_VERSION",
    "ContextFault",
    "Fault",
    "MAKE_VERSION",
    "Member",
    "NOT_MENDED",
    "PAIR",
    "PARAMETERS",
    "PLEADING_WORDS",
    "Piece",
    "Review",
    "VERDICT_WORDS",
    "Values",
    "Written",
    "check_context",
    "check_set",
    "check_twins",
    "context_schema",
    "found_words",
    "make_context",
    "pair_schema",
    "parse_matched",
    "read_answer",
    "read_review",
    "render_making",
    "render_repair",
    "render_review",
    "review_nonce",
]
