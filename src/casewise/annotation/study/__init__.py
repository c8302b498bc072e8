"""Studies: their plan, their file, and the cases that they are about."""

from casewise.annotation.study.block_balance import balance
from casewise.annotation.study.planning import StudyPlan, check_ready, forecast, plan_study
from casewise.annotation.study.reading_times import pages_of
from casewise.annotation.study.study_file import load_study, study_cases, write_study

__all__ = [
    "StudyPlan",
    "balance",
    "check_ready",
    "forecast",
    "load_study",
    "pages_of",
    "plan_study",
    "study_cases",
    "write_study",
]
