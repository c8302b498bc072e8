"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.gate._gate_report import (
    EXIT_STATUS,
    GateReport,
    GateRow,
    as_gate_record,
)
from casewise.gate._gate_rules import Demand
from casewise.gate._history import BUILDS, FALSE_FAILS, LOOKS, Build
from casewise.gate._rules_file import gate_files, gate_rules
from casewise.gate._run_gate import run_gate
from casewise.gate._verdicts import GateVerdict

__all__ = [
    "BUILDS",
    "Build",
    "Demand",
    "EXIT_STATUS",
    "FALSE_FAILS",
    "GateReport",
    "GateRow",
    "GateVerdict",
    "LOOKS",
    "as_gate_record",
    "gate_files",
    "gate_rules",
    "run_gate",
]
