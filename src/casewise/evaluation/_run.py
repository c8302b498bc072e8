"""Run models over conditions: on Inspect's ``eval_set``, lean, and hard to stop for good."""

import copy
import json
import logging
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

from inspect_ai import Task, eval_set
from inspect_ai._util.appdirs import inspect_data_dir
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import GenerateConfig, Model
from platformdirs import user_data_path

from casewise.cases import address_of, digest
from casewise.errors import ModelError, UsageError
from casewise.evaluation._answer_journal import CELL
from casewise.evaluation._budget import Budget, within
from casewise.evaluation._cells import Cell
from casewise.evaluation._distributions import looked_up_once
from casewise.evaluation._faults import printable
from casewise.evaluation._frugal import frugally
from casewise.evaluation._judge import judge
from casewise.evaluation._kept import Kept
from casewise.evaluation._models import (
    MAX_RETRIES,
    Client,
    attempt_timeout,
    open_models,
    plain,
)
from casewise.evaluation._progress import Observer, observed_by
from casewise.evaluation._reply_scorer import GRADER
from casewise.evaluation._respond import respond
from casewise.evaluation._side_by_side import (
    SIDE_BY_SIDE,
    check_same_numbers,
    expect_requests,
    join_line,
    shares_beginnings,
)
from casewise.evaluation.local import is_in_process

LOG_BUFFER = 100
"""Judgements held before a log is written: what a crash can lose."""

LOG_MODEL_API = "INSPECT_EVAL_LOG_MODEL_API"
"""Inspect's variable for the raw requests and answers, which double a log and say nothing that
its messages, settings and outputs don't; those of failed requests are always kept."""

CONNECTIONS = 20
"""Requests at once for a provider, where nobody says: about what Inspect begins with."""

AHEAD = 2
"""Cases under way for each request that may be."""

ORDER = "order"
"""Where a log's metadata says the place of its model and condition in the run."""

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


def run_here(
    cells: Sequence[Cell],
    log_dir: Path,
    observer: Observer | None = None,
    budget: Budget | None = None,
    *,
    tasks: Sequence[Task],
) -> RunResult:
    """Run tasks in this process; see ``run_cells``.

    Args:
        cells: What is run.
        log_dir: Where the logs stand.
        observer: Told of every judgement.
        budget: What may be spent.
        tasks: Of the cells, in their order, from ``make_tasks``.
    """
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
        raise ModelError("\n".join(dict.fromkeys(given_up)))
    if given_up:
        for log in logs:
            leave_open(log)
    failures = list(dict.fromkeys(given_up)) or [
        f"{log.eval.model}: {printable(log.error.message) if log.error else log.status}"
        for log in logs
        if log.status != "success"
    ]
    return RunResult(_paths(logs), complete and not given_up, tuple(failures))


def leave_open(log: EvalLog) -> None:
    """Let a log with cases in error be gone on with, where a model was given up on the way.

    Where most cases were judged before, those that a given-up model leaves in error are too few to
    stop a task. The log would count as done, and they would never be asked again.
    """
    results = log.results
    if log.status != "success" or (
        results is not None and results.completed_samples == results.total_samples
    ):
        return
    whole = read_eval_log(log.location)
    whole.status = "error"
    whole.error = next((one.error for one in whole.samples or () if one.error), None)
    write_eval_log(whole, log.location)


def _paths(logs: Sequence[EvalLog]) -> tuple[Path, ...]:
    return tuple(path_of(log.location) for log in logs)


def path_of(location: str) -> Path:
    """Where a log stands; of one that is elsewhere, its address."""
    parsed = urlparse(location)
    local = parsed.scheme in ("", "file")
    return Path(url2pathname(parsed.path)) if local else Path(location)


def open_model(cell: Cell) -> Model:
    """The client of a cell's model.

    Raises:
        ModelError: It can't be used.
    """
    request = cell.request
    (model,) = open_models(
        [cell.model],
        base_url=request.model_base_url,
        model_args=request.model_args,
        prices=request.prices,
        memoize=not is_in_process(cell.model),
        client=Client(request.client),
    )
    return model


def check_inspects_folder() -> None:
    """See that Inspect can write what it keeps under the home.

    Raises:
        UsageError: It can't; the message names the variable that chooses another place.
    """
    try:
        folder = inspect_data_dir("traces")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"{user_data_path('inspect_ai')} can't be written ({error.strerror}), and Inspect AI, "
            "which asks the models, keeps its traces there: set XDG_DATA_HOME to a folder that can"
        ) from None


def make_tasks(cells: Sequence[Cell], orders: Sequence[int], log_dir: Path) -> list[Task]:
    """The tasks of cells, with their models' clients; nothing is sent or written.

    Args:
        cells: What is to be run.
        orders: The cells' places in the run.
        log_dir: Where the logs will stand.

    Raises:
        ModelError: A model can't be used.
        UsageError: The folder was begun in other numbers, or Inspect's own can't be written.
    """
    check_inspects_folder()
    made: dict[str, Task] = {}
    tasks = []
    for order, cell in zip(orders, cells, strict=True):
        model = open_model(cell)
        key = repr((cell.acts, sorted(cell.arguments.items())))
        if key not in made:
            made[key] = (respond if cell.acts else judge)(**cell.arguments)
            _name_cell(made[key], cell)
        # Models share a condition's samples, which takes less memory than to make them anew.
        tasks.append(for_model(copy.copy(made[key]), model, cell, order))
    check_same_numbers(tasks, log_dir)
    expect_requests(tasks)
    return tasks


def _name_cell(task: Task, cell: Cell) -> None:
    """Let every sample know its condition, for the answers that are kept until a log holds them."""
    name = digest(cell.planned.version, json.dumps(cell.arguments, sort_keys=True, default=str))
    for sample in task.dataset:
        sample.metadata = (sample.metadata or {}) | {CELL: name}


def for_model(task: Task, model: Model, cell: Cell, order: int) -> Task:
    """A task as one model is asked it.

    Args:
        task: The task; changed.
        model: The model's client.
        cell: The model under the condition.
        order: The cell's place in the run, by which readers of its logs put them in order.
    """
    request = cell.request
    patience = attempt_timeout(request.attempt_timeout)
    task.model = model
    task.metadata = (task.metadata or {}) | {ORDER: order}
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
    join_line(task)
    return task


def _open_grader(name: str, patience: int) -> Model:
    (grader,) = open_models([name])
    # Inspect hands this setting to the model under test alone.
    grader.config = GenerateConfig(attempt_timeout=patience).merge(grader.config)
    return grader


def _at_once(cells: Sequence[Cell]) -> int:
    """Tasks that run together: for each model so many that its connections are never idle.

    Not more: neighbours that run one after the other share the beginnings of their prompts, and a
    crash loses what stands in the buffers of the tasks that run. Models that share
    beginnings over all conditions have them run side by side.
    """
    total = 0
    for model in {cell.model for cell in cells}:
        own = [cell for cell in cells if cell.model == model]
        if shares_beginnings(model):
            total += min(len(own), SIDE_BY_SIDE)
            continue
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
    return eval_set(
        list(tasks),
        log_dir=address_of(log_dir),
        log_dir_allow_dirty=True,
        retry_attempts=1,
        retry_immediate=False,
        max_connections=shared,
        # More cases than requests: while some are read and logged, others wait to be sent.
        max_samples=AHEAD * shared if shared else None,
        max_tasks=_at_once(cells),
        **lean_options(),
    )


def lean_options() -> dict[str, Any]:
    """Options of Inspect's ``eval`` and ``eval_set`` that keep a run lean, quiet and patient."""
    # Inspect reads this for its own console messages; ours say what matters.
    os.environ.setdefault("INSPECT_LOG_LEVEL", "error")
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    return {
        "display": "none",
        "log_level": "error",
        "log_realtime": False,
        "log_buffer": LOG_BUFFER,
        "score_display": False,
        "log_model_api": None if LOG_MODEL_API in os.environ else False,
        "ctl_server": False,
        "fail_on_error": FAIL_ON_ERROR,
        "retry_on_error": RETRY_ON_ERROR,
        "max_retries": MAX_RETRIES,
    }
