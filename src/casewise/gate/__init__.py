"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.gate._gate_report import (
    EXIT_STATUS,
    GateReport,
    GateRow,
    as_gate_record,
)
from casewise.gate._gate_rules import Demand
from casewise.gate._result import Gate
from casewise.gate._rules_file import SHIPPED, gate_file, gate_rules
from casewise.gate._run_gate import run_gate
from casewise.gate._verdicts import GateVerdict
from casewise.gate._words import (
    gate_heading,
    gate_lines,
    rule_demand,
    rule_name,
    rule_sentence,
)

__all__ = [
    "Demand",
    "EXIT_STATUS",
    "Gate",
    "GateReport",
    "GateRow",
    "GateVerdict",
    "as_gate_record",
    "SHIPPED",
    "gate_file",
    "gate_heading",
    "gate_lines",
    "gate_rules",
    "rule_demand",
    "rule_name",
    "rule_sentence",
    "run_gate",
]
