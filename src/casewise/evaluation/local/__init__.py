"""Models that run in this process, and the line in which their requests wait."""

from casewise.evaluation.local._in_process import WINDOW, InProcess, is_in_process
from casewise.evaluation.local._line import Batch, Key, Line, common_prefix
from casewise.evaluation.local._text_order import TextOrder, Ticket

__all__ = [
    "Batch",
    "InProcess",
    "Key",
    "Line",
    "TextOrder",
    "Ticket",
    "WINDOW",
    "common_prefix",
    "is_in_process",
]
