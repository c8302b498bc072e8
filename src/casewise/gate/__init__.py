"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.gate._gate_report import (
    EXIT_STATUS,
    GateReport,
    GateRow,
    as_gate_record,
)
from casewise.gate._gate_rules import Demand
from casewise.gate._rules_file import SHIPPED, gate_file, gate_rules
from casewise.gate._run_gate import run_gate
from casewise.gate._verdicts import GateVerdict

__all__ = [
    "Demand",
    "EXIT_STATUS",
    "GateReport",
    "GateRow",
    "GateVerdict",
    "as_gate_record",
    "SHIPPED",
    "gate_file",
    "gate_rules",
    "run_gate",
]
