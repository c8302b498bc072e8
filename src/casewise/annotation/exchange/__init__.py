"""Studies that run on a platform: their tasks as its files, and its files as what was collected."""

from casewise.annotation.exchange._folder import check_free, write_folder
from casewise.annotation.exchange._label_studio import label_studio_files, read_label_studio
from casewise.annotation.exchange._mturk import mturk_files, read_mturk, too_long
from casewise.annotation.exchange._plain_csv import csv_tasks, read_csv_answers
from casewise.annotation.exchange._prolific import join_prolific, prolific_files, study_url
from casewise.annotation.exchange._shown import ShownPage, Tasks, plan_tasks, study_mark
from casewise.annotation.exchange._sittings import (
    Salt,
    Sitting,
    TakenIn,
    TaskAnswer,
    is_open_to_others,
    keep_salt,
    read_salt,
    settle,
)

__all__ = [
    "Salt",
    "ShownPage",
    "Sitting",
    "TakenIn",
    "TaskAnswer",
    "Tasks",
    "check_free",
    "csv_tasks",
    "is_open_to_others",
    "join_prolific",
    "keep_salt",
    "label_studio_files",
    "mturk_files",
    "plan_tasks",
    "prolific_files",
    "read_csv_answers",
    "read_label_studio",
    "read_mturk",
    "read_salt",
    "settle",
    "study_mark",
    "study_url",
    "too_long",
    "write_folder",
]
