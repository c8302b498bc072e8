"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.analysis.gate._config import default_gate, gate_file, load_gate
from casewise.analysis.gate._gate import GateReport, GateRow, run_gate
from casewise.analysis.gate._judge import GateVerdict
from casewise.analysis.gate._measures import GATE_MEASURES, Better, Measure
from casewise.analysis.gate._needed import Needed
from casewise.analysis.gate._record import EXIT_STATUS, as_gate_record
from casewise.analysis.gate._rules import Demand, GateConfig, GateRule

__all__ = [
    "Better",
    "Demand",
    "EXIT_STATUS",
    "GATE_MEASURES",
    "GateConfig",
    "GateReport",
    "GateRow",
    "GateRule",
    "GateVerdict",
    "Measure",
    "Needed",
    "as_gate_record",
    "default_gate",
    "gate_file",
    "load_gate",
    "run_gate",
]
