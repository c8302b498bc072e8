"""Judgements: logs, tables and published outputs read into one table, and its conditions."""

from casewise.judgements.conditions import (
    ANSWER_KEYS,
    RunState,
    conditions,
    lost_rows,
    planned_in,
    run_state,
    shared_rows,
)
from casewise.judgements.outputs import case_columns
from casewise.judgements.read import (
    Judgements,
    Unjudged,
    find_logs,
    nothing_judged,
    read_paths,
    run_records,
)
from casewise.judgements.runs import (
    RunRecord,
    plain_notes,
    recorded_command,
    without_paths,
)
from casewise.judgements.schema import (
    OF_CASE,
    PROVIDER,
    SCHEMA,
    TEXTS,
    TWIN,
    is_withheld,
    length_of,
    make_table,
    stand_in,
    table_bytes,
)

__all__ = [
    "ANSWER_KEYS",
    "Judgements",
    "OF_CASE",
    "PROVIDER",
    "RunRecord",
    "RunState",
    "SCHEMA",
    "TEXTS",
    "TWIN",
    "Unjudged",
    "case_columns",
    "conditions",
    "find_logs",
    "is_withheld",
    "length_of",
    "lost_rows",
    "make_table",
    "nothing_judged",
    "plain_notes",
    "planned_in",
    "read_paths",
    "recorded_command",
    "run_records",
    "run_state",
    "shared_rows",
    "stand_in",
    "table_bytes",
    "without_paths",
]
