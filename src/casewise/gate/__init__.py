"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.gate._gate_report import (
    BUILDS,
    EXIT_STATUS,
    FALSE_FAILS,
    Build,
    GateReport,
    GateRow,
    Missing,
    as_gate_record,
    read_history,
)
from casewise.gate._gate_rules import Demand, GateConfig, When
from casewise.gate._rules_file import default_gate, gate_file, gate_files, gate_rules, load_gate
from casewise.gate._run_gate import run_gate
from casewise.gate._verdicts import GateVerdict

__all__ = [
    "BUILDS",
    "Build",
    "Demand",
    "EXIT_STATUS",
    "FALSE_FAILS",
    "GateConfig",
    "GateReport",
    "GateRow",
    "GateVerdict",
    "Missing",
    "When",
    "as_gate_record",
    "default_gate",
    "gate_file",
    "gate_files",
    "gate_rules",
    "load_gate",
    "read_history",
    "run_gate",
]
