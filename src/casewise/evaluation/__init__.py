"""Running models over cases, on Inspect."""

from casewise.evaluation.making import (
    Made,
    MakingOptions,
    MakingPlan,
    check_making,
    estimate_making,
    make_contexts,
    plan_making,
)
from casewise.evaluation.models._in_process import (
    InProcess,
    Replied,
    TokenPlace,
    plain_turns,
    to_output,
    told_of_local_models,
    too_long,
)
from casewise.evaluation.models._smollm2 import SMOLLM2, weights_are_sound, weights_path
from casewise.evaluation.models.keys import refuse_password, refuse_secret
from casewise.evaluation.models.open import TargetCheck, check_grader, check_target
from casewise.evaluation.models.patient import Prices
from casewise.evaluation.plan._costs import Budget, CostEstimate, total
from casewise.evaluation.plan._plan import Cell, Plan, lone_ablations, make_plan
from casewise.evaluation.plan._sampling import check_settings
from casewise.evaluation.plan._sweep import plan_sweep
from casewise.evaluation.runs import RunResult, check_models, run_cells
from casewise.evaluation.runs.ending import STOPPING, Ending
from casewise.evaluation.runs.folder import resume
from casewise.evaluation.runs.progress import CellState, Done, make_budget, read_done
from casewise.evaluation.runs.ray import ClusterOptions
from casewise.evaluation.runs.recorded import grade_recorded
from casewise.evaluation.runs.work import Observers
from casewise.evaluation.tasks._asking import grade_replies

__all__ = [
    "Budget",
    "Cell",
    "CellState",
    "ClusterOptions",
    "CostEstimate",
    "Done",
    "Ending",
    "MakingPlan",
    "MakingOptions",
    "Made",
    "InProcess",
    "Observers",
    "Plan",
    "Prices",
    "Replied",
    "RunResult",
    "SMOLLM2",
    "STOPPING",
    "TargetCheck",
    "TokenPlace",
    "check_making",
    "check_grader",
    "check_models",
    "check_settings",
    "check_target",
    "make_contexts",
    "estimate_making",
    "grade_recorded",
    "grade_replies",
    "make_budget",
    "lone_ablations",
    "make_plan",
    "plain_turns",
    "plan_making",
    "plan_sweep",
    "read_done",
    "resume",
    "refuse_password",
    "refuse_secret",
    "run_cells",
    "to_output",
    "told_of_local_models",
    "too_long",
    "total",
    "weights_are_sound",
    "weights_path",
]
