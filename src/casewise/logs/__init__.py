"""Contract between running and reading: the contents of a log, its writer and its readers.

Logs are Inspect's ``.eval`` files, so that its viewer and its readers open them. It takes seconds
to import, so this room imports it where something is written, or read whole.
"""

from casewise.logs.names import (
    ADDRESS,
    ANSWERED_BY,
    CANCELLED,
    COMMAND,
    CUT,
    CUT_TURNS,
    GENERATE,
    GRADER,
    LOCK,
    OF_RUN,
    ORDER,
    OURS,
    REDACTED,
    RUNNING,
    SCORERS,
    SHARD,
    SHARDS,
    TURN_DOUBTS,
    TURNS_BY,
)
from casewise.logs.read import (
    Asked,
    LoggedRun,
    LogHeader,
    Outcome,
    Part,
    RunKey,
    SampleRecord,
    TokenUsage,
    Usage,
    calls_of,
    check_whole,
    counting,
    input_tokens,
    list_logs,
    message_text,
    outcomes_of,
    provider_refused,
    read_header,
    read_headers,
    read_records,
    read_samples,
    recorded_line,
    resume_line,
    runs_of,
    without_keys,
    without_option,
)
from casewise.logs.write import LogStatus, LogWriter, end_killed, without_texts
