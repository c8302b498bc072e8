"""The gate: a run held to thresholds, and to margins against a baseline."""

from casewise.analysis.gate._config import default_gate, gate_file, load_gate
from casewise.analysis.gate._extent import Extent
from casewise.analysis.gate._gate import GateReport, GateRow, run_gate
from casewise.analysis.gate._init import GateFiles, gate_files
from casewise.analysis.gate._judge import GateVerdict
from casewise.analysis.gate._measures import GATE_MEASURES, Better, Measure, Side
from casewise.analysis.gate._missing import Missing
from casewise.analysis.gate._needed import Needed
from casewise.analysis.gate._record import EXIT_STATUS, as_gate_record
from casewise.analysis.gate._rules import Demand, GateConfig, GateRule

__all__ = [
    "Better",
    "Demand",
    "EXIT_STATUS",
    "Extent",
    "GATE_MEASURES",
    "GateConfig",
    "GateFiles",
    "GateReport",
    "GateRow",
    "GateRule",
    "GateVerdict",
    "Measure",
    "Missing",
    "Needed",
    "Side",
    "as_gate_record",
    "default_gate",
    "gate_file",
    "gate_files",
    "load_gate",
    "run_gate",
]
