"""Contexts: rendered for judges and for people, and taken apart."""

from casewise.contexts._ablate import (
    Ablation,
    ablate,
    ablate_cases,
    parameter_names,
    parse_names,
)
from casewise.contexts._prose import Fact, claim, claim_turns, describe_to_sender, facts
from casewise.contexts._render import parameter_title, render_json, render_text
from casewise.contexts._swap import (
    Swap,
    differing_parameters,
    leaf_parameters,
    swap,
    swap_cases,
)

__all__ = [
    "Ablation",
    "Fact",
    "Swap",
    "ablate",
    "ablate_cases",
    "claim",
    "claim_turns",
    "describe_to_sender",
    "differing_parameters",
    "facts",
    "leaf_parameters",
    "parameter_names",
    "parameter_title",
    "parse_names",
    "render_json",
    "render_text",
    "swap",
    "swap_cases",
]
