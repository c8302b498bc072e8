"""What a model is asked and how its answer is read. Pure: no model is called here."""

from casewise.protocols._prompts import (
    OURS,
    UPSTREAM,
    Prompts,
    Template,
    load_prompts,
    parse_template,
    render_query,
)
from casewise.protocols._read_binary import read_binary
from casewise.protocols._read_probability import (
    LOW_MASS,
    SURFACE_FORMS,
    TokenSets,
    derive_token_sets,
    read_probability,
)
from casewise.protocols._read_score import mean_score, read_score
from casewise.protocols._types import Delivery, Protocol, Reading, Status, Verdict

__all__ = [
    "Delivery",
    "LOW_MASS",
    "OURS",
    "Prompts",
    "Protocol",
    "Reading",
    "SURFACE_FORMS",
    "Status",
    "Template",
    "TokenSets",
    "UPSTREAM",
    "Verdict",
    "derive_token_sets",
    "load_prompts",
    "mean_score",
    "parse_template",
    "read_binary",
    "read_probability",
    "read_score",
    "render_query",
]
