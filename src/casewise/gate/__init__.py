"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.gate.ci import annotations, junit, refusal
from casewise.gate.judge import run_gate
from casewise.gate.report import EXIT_STATUS, Gate, GateRow, GateVerdict
from casewise.gate.rules import SHIPPED, gate_file, gate_rules
