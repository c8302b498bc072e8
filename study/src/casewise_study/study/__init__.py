"""Studies: their plan, their file, and the cases that they are about."""

from casewise_study.study.block_balance import balance
from casewise_study.study.planning import check_ready, forecast, plan_study
from casewise_study.study.reading_times import pages_of
from casewise_study.study.study_file import load_study, study_cases, write_study

__all__ = [
    "balance",
    "check_ready",
    "forecast",
    "load_study",
    "pages_of",
    "plan_study",
    "study_cases",
    "write_study",
]
