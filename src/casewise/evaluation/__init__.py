"""Running models over cases, on Inspect."""

from casewise.evaluation._assets import (
    SIZE_MB,
    fetch_weights,
    told_of_weights,
    weights_path,
)
from casewise.evaluation._cells import Cell, Plan, RunRequest, make_plan
from casewise.evaluation._done import CellState, Done, State, make_budget, read_done
from casewise.evaluation._engine import RunResult, check_models, run, run_cells
from casewise.evaluation._grading import grade_replies, grade_with
from casewise.evaluation._judge import judge
from casewise.evaluation._kept import Kept, out_before
from casewise.evaluation._plan import Estimate, Prices
from casewise.evaluation._respond import respond
from casewise.evaluation._sampling import SAMPLES, Sampling
from casewise.evaluation._secrets import refuse_password, refuse_secret
from casewise.evaluation._settings import check_settings, setting_parts
from casewise.evaluation._smollm2 import SMOLLM2
from casewise.evaluation._sweep import Sweep, SweepCell, plan_sweep
from casewise.evaluation.cluster import Cluster
from casewise.evaluation.executor import Observer
from casewise.evaluation.generate import (
    Aside,
    Generated,
    GeneratePlan,
    GenerateRequest,
    Step,
    Structured,
    check_generation,
    check_out,
    generate_contexts,
    plan_generation,
)

__all__ = [
    "Aside",
    "Cell",
    "CellState",
    "Cluster",
    "Done",
    "Estimate",
    "GeneratePlan",
    "GenerateRequest",
    "Generated",
    "Kept",
    "Observer",
    "Plan",
    "Prices",
    "RunRequest",
    "RunResult",
    "SAMPLES",
    "SIZE_MB",
    "SMOLLM2",
    "Sampling",
    "State",
    "Step",
    "Structured",
    "Sweep",
    "SweepCell",
    "check_generation",
    "check_models",
    "check_out",
    "check_settings",
    "fetch_weights",
    "generate_contexts",
    "grade_replies",
    "grade_with",
    "judge",
    "make_budget",
    "make_plan",
    "out_before",
    "plan_generation",
    "plan_sweep",
    "read_done",
    "refuse_password",
    "refuse_secret",
    "respond",
    "run",
    "run_cells",
    "setting_parts",
    "told_of_weights",
    "weights_path",
]
