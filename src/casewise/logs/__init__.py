"""The contract between running and reading: what a log says, how it is written and read.

Logs are Inspect's ``.eval`` files, so that its viewer and its readers open them. Inspect takes
seconds to import, so whoever can do without it imports this room late.
"""

from casewise.logs._attempts import Asked, Attempts, LoggedRun, counting, runs_of
from casewise.logs._header import (
    BROKEN,
    GENERATE,
    LOCK,
    ORDER,
    OURS,
    REDACTED,
    SHARD,
    SHARDS,
    START,
    TARGETS,
    LogFolder,
    LogHeader,
    Part,
    RunKey,
    list_logs,
    read_header,
    without_keys,
)
from casewise.logs._records import (
    ANSWERED_BY,
    CANCELLED,
    GRADER,
    SCORERS,
    SampleRecord,
    ScoreRecord,
    calls_of,
    is_readable,
    message_text,
    read_records,
    read_samples,
)
from casewise.logs._write import LogStatus, LogWriter, without_texts

__all__ = [
    "ANSWERED_BY",
    "Asked",
    "Attempts",
    "BROKEN",
    "CANCELLED",
    "GENERATE",
    "GRADER",
    "LOCK",
    "LogFolder",
    "LogHeader",
    "LogStatus",
    "LogWriter",
    "LoggedRun",
    "ORDER",
    "OURS",
    "Part",
    "REDACTED",
    "RunKey",
    "SCORERS",
    "SHARD",
    "SHARDS",
    "START",
    "SampleRecord",
    "ScoreRecord",
    "TARGETS",
    "calls_of",
    "counting",
    "is_readable",
    "list_logs",
    "message_text",
    "read_header",
    "read_records",
    "read_samples",
    "runs_of",
    "without_keys",
    "without_texts",
]
