"""Running models over cases, on Inspect."""

from casewise.evaluation._assets import SIZE_MB, fetch_weights, weights_path
from casewise.evaluation._generate import Aside, Generated, check_out, generate_contexts
from casewise.evaluation._generate_asking import Structured
from casewise.evaluation._generate_plan import (
    GeneratePlan,
    GenerateRequest,
    plan_generation,
)
from casewise.evaluation._generate_rounds import Step
from casewise.evaluation._grading import grade_replies, grade_with
from casewise.evaluation._judge import judge
from casewise.evaluation._plan import Estimate, Prices
from casewise.evaluation._progress import Observer
from casewise.evaluation._respond import respond
from casewise.evaluation._run import Plan, RunRequest, RunResult, make_plan, run
from casewise.evaluation._sampling import SAMPLES, Sampling
from casewise.evaluation._smollm2 import SMOLLM2

__all__ = [
    "Aside",
    "Estimate",
    "GeneratePlan",
    "GenerateRequest",
    "Generated",
    "Observer",
    "Plan",
    "Prices",
    "RunRequest",
    "RunResult",
    "SAMPLES",
    "SIZE_MB",
    "SMOLLM2",
    "Sampling",
    "Step",
    "Structured",
    "check_out",
    "fetch_weights",
    "generate_contexts",
    "grade_replies",
    "grade_with",
    "judge",
    "make_plan",
    "plan_generation",
    "respond",
    "run",
    "weights_path",
]
