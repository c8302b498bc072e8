"""Inspect's logs: read as judgement rows, and made fit to publish.

With ``evaluation/``, the only place that knows Inspect; it takes seconds to import, so whoever can
do without it imports this room late.
"""

from casewise.analysis.logs._header import LogHeader, choose_logs, list_logs, read_header
from casewise.analysis.logs._merge import read_judgements
from casewise.analysis.logs._provenance import run_record
from casewise.analysis.logs._redact import redact_log, write_log
from casewise.analysis.logs._resume import command_to_resume, resume_line, without_option

__all__ = [
    "LogHeader",
    "choose_logs",
    "command_to_resume",
    "list_logs",
    "read_header",
    "read_judgements",
    "redact_log",
    "resume_line",
    "run_record",
    "without_option",
    "write_log",
]
