"""Studies: their plan, their file, and the cases that they are about."""

from casewise.annotation.study._accounts import (
    ACCOUNT_FORM,
    ACCOUNT_PARAMETER,
    AccountFault,
    account_fault,
    given_account,
    normal_account,
)
from casewise.annotation.study._balance import Balance, Range, balance, efficiency_bound
from casewise.annotation.study._hashing import hash_platform_id
from casewise.annotation.study._pages import Page, pages_of
from casewise.annotation.study._plan import (
    PAPER_VOTES,
    Forecast,
    StudyPlan,
    forecast,
    other_tasks,
    plan_study,
)
from casewise.annotation.study._ready import check_ready
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
    open_study_cases,
    study_cases,
    without_context,
)
from casewise.annotation.study._texts import TODO, Asker
from casewise.annotation.study._write import study_yaml, write_study

__all__ = [
    "ACCOUNT_FORM",
    "ACCOUNT_PARAMETER",
    "AccountFault",
    "Arm",
    "Ask",
    "Asker",
    "Attention",
    "AttentionCheck",
    "Balance",
    "Block",
    "Cell",
    "Comprehension",
    "Consent",
    "Design",
    "Example",
    "Forecast",
    "PAPER_VOTES",
    "Page",
    "Pay",
    "Platform",
    "Question",
    "Range",
    "Recruitment",
    "Screening",
    "Study",
    "StudyPlan",
    "TODO",
    "Timing",
    "account_fault",
    "balance",
    "by_arm",
    "check_ready",
    "efficiency_bound",
    "forecast",
    "given_account",
    "hash_platform_id",
    "load_study",
    "normal_account",
    "open_study_cases",
    "other_tasks",
    "pages_of",
    "plan_study",
    "study_cases",
    "study_yaml",
    "without_context",
    "write_study",
]
