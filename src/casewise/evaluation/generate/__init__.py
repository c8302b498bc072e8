"""Pairs of contexts for queries, written by models and read by critics."""

from casewise.evaluation.generate._asking import Structured
from casewise.evaluation.generate._generate import (
    Aside,
    Generated,
    check_generation,
    check_out,
    generate_contexts,
)
from casewise.evaluation.generate._plan import GeneratePlan, GenerateRequest, plan_generation
from casewise.evaluation.generate._rounds import Step

__all__ = [
    "Aside",
    "GeneratePlan",
    "GenerateRequest",
    "Generated",
    "Step",
    "Structured",
    "check_generation",
    "check_out",
    "generate_contexts",
    "plan_generation",
]
