"""Contexts: rendered, changed, compared, and held to rules where a model makes them.

People and judges read the same words: both through ``render``.
"""

from casewise.contexts.change import (
    Ablation,
    ablate,
    ablate_cases,
    differing_parameters,
    leaf_parameters,
    swap_cases,
)
from casewise.contexts.likeness import (
    Words,
    context_text,
    near_copies,
    number_words,
    similar_rows,
)
from casewise.contexts.prompts import (
    MAKE_VERSION,
    make_context,
    read_pair,
    read_review,
    render_making,
    render_repair,
    render_review,
    review_nonce,
)
from casewise.contexts.quoted import quote, read_ending
from casewise.contexts.render import (
    claim,
    claim_turns,
    describe_to_sender,
    facts,
    parameter_title,
    render_json,
    render_text,
)
from casewise.contexts.rules import (
    PARAMETERS,
    VERDICT_WORDS,
    Fault,
    Pair,
    Shingles,
    check_pair,
    shingles,
)
