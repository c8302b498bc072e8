"""Judgements: logs, tables and published outputs read into one table, and its conditions."""

from casewise.judgements.read import (
    Judgements,
    Unjudged,
    case_columns,
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
from casewise.judgements.table import (
    ANSWER_KEYS,
    OF_CASE,
    PROVIDER,
    SCHEMA,
    TEXTS,
    TWIN,
    RunState,
    conditions,
    is_withheld,
    length_of,
    lost_rows,
    make_table,
    run_state,
    shared_rows,
    stand_in,
    table_bytes,
)
