"""Logs as judgement rows, and made fit to publish.

They are Inspect's, which takes seconds to import, so whoever can do without it imports this room
late.
"""

from casewise.analysis.logs._judgements import choose_logs, read_judgements
from casewise.analysis.logs._provenance import run_record
from casewise.analysis.logs._redact import redact_log, write_log
from casewise.analysis.logs._resume import command_to_resume, resume_line, without_option

__all__ = [
    "choose_logs",
    "command_to_resume",
    "read_judgements",
    "redact_log",
    "resume_line",
    "run_record",
    "without_option",
    "write_log",
]
