"""Run models over conditions: on Inspect's ``eval_set``, lean, and hard to stop for good."""

import copy
import json
import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from inspect_ai import Task, eval_set
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model

from casewise.cases import digest
from casewise.errors import ModelError, UsageError
from casewise.evaluation._answer_journal import CELL
from casewise.evaluation._budget import Budget, within
from casewise.evaluation._cells import Cell, Plan
from casewise.evaluation._distributions import looked_up_once
from casewise.evaluation._faults import FaultObserver
from casewise.evaluation._frugal import frugally
from casewise.evaluation._judge import judge
from casewise.evaluation._kept import Kept, keeping
from casewise.evaluation._models import MAX_RETRIES, Client, open_models, plain
from casewise.evaluation._models import attempt_timeout as seconds
from casewise.evaluation._progress import Observer, observed_by
from casewise.evaluation._reply_scorer import GRADER
from casewise.evaluation._respond import respond

LOG_BUFFER = 100
"""Judgements held before a log is written: what a crash can lose."""

LOG_MODEL_API = "INSPECT_EVAL_LOG_MODEL_API"
"""Inspect's variable for the raw requests and answers, which double a log and say nothing that
its messages, settings and outputs don't; those of failed requests are always kept."""

CONNECTIONS = 20
"""Requests at once for a provider, where nobody says: about what Inspect begins with."""

AHEAD = 2
"""Cases under way for each request that may be."""

RETRY_ON_ERROR = 3
FAIL_ON_ERROR = 0.05
"""Share of cases in error at which a run stops."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run left behind."""

    logs: tuple[Path, ...]
    """The logs of this run, one a model and condition."""
    complete: bool
    """Whether every task ended well (single cases may still be in error)."""
    failures: tuple[str, ...]
    """For each task that did not, its model and the reason."""
    capped: bool = False
    """Whether it stopped because the money was spent."""
    kept: Kept = field(default_factory=Kept)
    """What went wrong on the way, and what of earlier starts was found."""


def run(
    plan: Plan, log_dir: Path, observer: Observer | None = None, budget: Budget | None = None
) -> RunResult:
    """Run a plan; a second run on the same folder asks only what is still open.

    Raises:
        ModelError: A model can't be used, or can't do what the protocol needs.
        KeyboardInterrupt: The run was stopped; what was judged is in the folder.
    """
    return run_cells(plan.cells, log_dir, observer, budget)


def run_cells(
    cells: Sequence[Cell],
    log_dir: Path,
    observer: Observer | None = None,
    budget: Budget | None = None,
    attempt_timeout: int | None = None,
    tell: FaultObserver | None = None,
) -> RunResult:
    """Run models under conditions, as ``run`` does; no two of the cells may be the same.

    Args:
        cells: What to run.
        log_dir: Where the logs are.
        observer: Told of every judgement.
        budget: What it may cost.
        attempt_timeout: Seconds after which a request is tried again; None is the usual.
        tell: Told when a model meets a kind of fault for the first time.

    Raises:
        UsageError: Another process runs in the folder.
        OSError: The folder can't be written.
    """
    tasks = _tasks(cells, seconds(attempt_timeout))
    log_dir.mkdir(parents=True, exist_ok=True)
    with keeping(log_dir, tell) as keeper:
        result = _run_tasks(tasks, log_dir, cells, observer, budget)
        return replace(result, kept=keeper.end(result.logs, result.complete))


def _run_tasks(
    tasks: Sequence[Task],
    log_dir: Path,
    cells: Sequence[Cell],
    observer: Observer | None,
    budget: Budget | None,
) -> RunResult:
    observing = observed_by(observer or (lambda _: None))
    with frugally(), observing as given_up, within(budget), looked_up_once():
        try:
            complete, logs = _eval_set(tasks, log_dir, cells)
        except PrerequisiteError as error:
            raise UsageError(plain(str(error.message))) from None
        except KeyboardInterrupt:
            complete, logs = False, []
            if budget is None or not budget.stopped:
                raise
    if budget is not None and budget.stopped:
        return RunResult(_paths(logs), False, (budget.reason,), capped=True)
    if len(logs) < len(tasks) or any(log.status == "cancelled" for log in logs):
        # Inspect takes Ctrl-C for itself, writes its logs and returns.
        raise KeyboardInterrupt
    if given_up and not any(log.status == "success" for log in logs):
        raise ModelError("\n".join(given_up))
    failures = given_up or [
        f"{log.eval.model}: {log.error.message if log.error else log.status}"
        for log in logs
        if log.status != "success"
    ]
    return RunResult(_paths(logs), complete, tuple(failures))


def _paths(logs: Sequence[EvalLog]) -> tuple[Path, ...]:
    return tuple(Path(url2pathname(urlparse(log.location).path)) for log in logs)


def _tasks(cells: Sequence[Cell], patience: int) -> list[Task]:
    made: dict[str, Task] = {}
    tasks = []
    for cell in cells:
        request = cell.request
        (model,) = open_models(
            [cell.model],
            base_url=request.model_base_url,
            model_args=request.model_args,
            prices=request.prices,
            client=Client(request.client),
        )
        key = repr((cell.acts, sorted(cell.arguments.items())))
        if key not in made:
            made[key] = (respond if cell.acts else judge)(**cell.arguments)
            _name_cell(made[key], cell)
        # Models share a condition's samples, which takes less memory than to make them anew.
        tasks.append(_for_model(copy.copy(made[key]), model, cell, patience))
    return tasks


def _name_cell(task: Task, cell: Cell) -> None:
    """Let every sample know its condition, for the answers that are kept until a log holds them."""
    name = digest(cell.planned.version, json.dumps(cell.arguments, sort_keys=True, default=str))
    for sample in task.dataset:
        sample.metadata = (sample.metadata or {}) | {CELL: name}


def _for_model(task: Task, model: Model, cell: Cell, patience: int) -> Task:
    request = cell.request
    task.model = model
    if cell.acts and request.grader is not None:
        task.model_roles = {GRADER: _open_grader(request.grader, patience)}
    if request.epochs > 1:
        task.epochs = request.epochs
    task.config = task.config.merge(
        GenerateConfig(
            max_connections=request.max_connections,
            attempt_timeout=patience,
            # Of several answers to one prompt, all but the first would come from the cache.
            cache=(request.cache and cell.draw.samples == 1) or None,
            seed=cell.sent_seed,
        )
    )
    return task


def _open_grader(name: str, patience: int) -> Model:
    (grader,) = open_models([name])
    # Inspect hands this setting to the model under test alone.
    grader.config = GenerateConfig(attempt_timeout=patience).merge(grader.config)
    return grader


def _at_once(cells: Sequence[Cell]) -> int:
    """Tasks that run together: for each model so many that its connections are never idle.

    Not more: neighbours that run one after the other share the beginnings of their prompts, and a
    crash loses what stands in the buffers of the tasks that run.
    """
    total = 0
    for model in {cell.model for cell in cells}:
        own = [cell for cell in cells if cell.model == model]
        connections = max(cell.request.max_connections or CONNECTIONS for cell in own)
        smallest = min(cell.judgements for cell in own)
        total += min(len(own), max(2, math.ceil(2 * connections / max(1, smallest))))
    return total


def _eval_set(
    tasks: Sequence[Task], log_dir: Path, cells: Sequence[Cell]
) -> tuple[bool, list[EvalLog]]:
    connections = {cell.request.max_connections for cell in cells}
    # Where models differ in it, each task has its own.
    shared = connections.pop() if len(connections) == 1 else None
    # Inspect reads this for its own console messages; ours say what matters.
    os.environ.setdefault("INSPECT_LOG_LEVEL", "error")
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    return eval_set(
        list(tasks),
        log_dir=str(log_dir),
        log_dir_allow_dirty=True,
        retry_attempts=1,
        retry_immediate=False,
        display="none",
        log_level="error",
        log_realtime=False,
        log_buffer=LOG_BUFFER,
        score_display=False,
        log_model_api=None if LOG_MODEL_API in os.environ else False,
        ctl_server=False,
        fail_on_error=FAIL_ON_ERROR,
        retry_on_error=RETRY_ON_ERROR,
        max_retries=MAX_RETRIES,
        max_connections=shared,
        # More cases than requests: while some are read and logged, others wait to be sent.
        max_samples=AHEAD * shared if shared else None,
        max_tasks=_at_once(cells),
    )
