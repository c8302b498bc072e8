"""Running models over cases, on Inspect.

``plan`` makes a cell of every model under every ``condition``, with its ``sampling`` and ``cost``;
``folder`` says what is judged; ``loop`` asks the rest, a case by ``asking``, into the logs of
``samples``; ``ray`` does so on a cluster. ``sweep`` plans a file of options, ``tasks`` are
Inspect's, and ``making`` has contexts written.
"""

from casewise.runs.asking import grade_replies
from casewise.runs.cost import Budget, CostEstimate, total
from casewise.runs.folder import (
    CellState,
    changed_targets,
    command_line,
    make_budget,
    read_progress,
    resume,
)
from casewise.runs.loop import (
    Observers,
    RunResult,
    check_models,
    run_cells,
)
from casewise.runs.making import (
    MakingPlan,
    check_making,
    estimate_making,
    make_contexts,
    plan_making,
)
from casewise.runs.plan import Cell, Plan, make_plan
from casewise.runs.sweep import plan_sweep
