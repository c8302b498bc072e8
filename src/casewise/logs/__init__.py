"""Contract between running and reading: the contents of a log, its writer and its readers.

Logs are Inspect's ``.eval`` files, so that its viewer and its readers open them. It takes seconds
to import, so this room imports it where something is written, or read whole.
"""

from casewise.logs.attempts import (
    LoggedRun,
    Outcome,
    SampleKey,
    counted_attempts,
    list_logs,
    outcomes_of,
    read_headers,
    recorded_line,
    resume_line,
    runs_of,
    without_option,
)
from casewise.logs.log import (
    LogHeader,
    LogStatus,
    LogWriter,
    Part,
    SampleRecord,
    TokenUsage,
    Usage,
    calls_of,
    check_whole,
    end_killed,
    header_fields,
    input_tokens,
    message_text,
    provider_refused,
    read_header,
    read_records,
    read_samples,
    run_identity,
    without_keys,
)
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
