"""Logs to the judgement table to scores."""

from casewise.analysis._baselines import intended_baseline
from casewise.analysis._score import (
    METRICS,
    Score,
    Split,
    UnreadPolicy,
    as_record,
    score_table,
)
from casewise.analysis._sources import Judgements, read_paths
from casewise.analysis._table import CONDITION, SCHEMA, make_table, read_table, table_bytes
from casewise.protocols import LOW_MASS

__all__ = [
    "CONDITION",
    "Judgements",
    "LOW_MASS",
    "METRICS",
    "SCHEMA",
    "Score",
    "Split",
    "UnreadPolicy",
    "as_record",
    "intended_baseline",
    "make_table",
    "read_paths",
    "read_table",
    "score_table",
    "table_bytes",
]
