"""Studies: their file, and the cases that they are about."""

from casewise.annotation.study._pages import Page, pages_of
from casewise.annotation.study._study import (
    Arm,
    Ask,
    Attention,
    AttentionCheck,
    Block,
    Cell,
    Comprehension,
    Consent,
    Design,
    Example,
    Pay,
    Platform,
    Question,
    Recruitment,
    Screening,
    Study,
    Timing,
)
from casewise.annotation.study._study_file import (
    by_arm,
    load_study,
    study_cases,
    without_context,
)

__all__ = [
    "Arm",
    "Ask",
    "Attention",
    "AttentionCheck",
    "Block",
    "Cell",
    "Comprehension",
    "Consent",
    "Design",
    "Example",
    "Page",
    "Pay",
    "Platform",
    "Question",
    "Recruitment",
    "Screening",
    "Study",
    "Timing",
    "by_arm",
    "load_study",
    "pages_of",
    "study_cases",
    "without_context",
]
