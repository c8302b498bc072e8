"""Tables for people and for programs. Formats, and never computes."""

from casewise.reporting.case_sets import diff_sheet
from casewise.reporting.comparison import comparison_sheet
from casewise.reporting.describe import audit_sheet, description_sheet
from casewise.reporting.graders import grader_sheet, tally_table
from casewise.reporting.page import write_report
from casewise.reporting.power import plan_sheet
from casewise.reporting.replay import replay_sheet
from casewise.reporting.scores import score_sheet
from casewise.sheets import sheet_of
