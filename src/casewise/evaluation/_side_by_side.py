"""Conditions of one model side by side, where an engine keeps what it computed.

Their prompts of one case share most of their beginnings, and so what has to be computed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from inspect_ai import Task
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig

from casewise.errors import UsageError
from casewise.evaluation.local import WINDOW, InProcess, TextOrder, is_in_process

SIDE_BY_SIDE = 32
"""Conditions of one model that run together."""

SERVERS = frozenset({"sglang", "vllm"})
"""Providers whose servers keep the beginnings of prompts, for as long as there is room: the next
condition's prompts of a case must not come after all the others of this one's."""

MADE_WITH = "made_with"
"""Where a log's metadata keeps what a model's numbers depend on: see ``InProcess.made_with``."""


def shares_beginnings(model: str) -> bool:
    """Whether a model, by its name, is the faster the nearer its similar prompts come."""
    return is_in_process(model) or model.partition("/")[0] in SERVERS


def join_line(task: Task) -> None:
    """Let enough of a task's cases wait in its model's line, and note what the model runs on.

    A request waits until those before it are answered, however long that takes. Models that run
    elsewhere are left as they are.
    """
    api = task.model.api if task.model is not None else None
    if not isinstance(api, InProcess):
        return
    own = GenerateConfig(max_connections=task.config.max_connections or WINDOW)
    task.config = task.config.merge(own)
    task.config.attempt_timeout = None
    made_with = dict(api.made_with)
    if made_with:
        said = task.metadata or {}
        variant = f"{said.get('variant', '')};dtype={made_with['dtype']}"
        task.metadata = said | {"variant": variant, MADE_WITH: made_with}


def expect_requests(tasks: Sequence[Task]) -> None:
    """Tell each line which tasks will ask, so that none is answered before all have come."""
    askers: dict[TextOrder[object, object], list[int]] = {}
    for task in tasks:
        if task.model is not None and isinstance(task.model.api, InProcess):
            askers.setdefault(task.model.api.line, []).append(task.model.api.asker)
    for line, numbers in askers.items():
        line.expect(set(numbers[:SIDE_BY_SIDE]))


def check_same_numbers(tasks: Sequence[Task], log_dir: Path) -> None:
    """Refuse to go on with what a model judged in numbers of another width.

    Where nobody says, the width follows the machine, and a folder may be taken from one to
    another; what is done there would then be completed in other numbers without a word.

    Raises:
        UsageError: A log of the folder is of the same model and options, and of another width.
    """
    own = {
        str(task.model): dict(task.model.api.made_with)["dtype"]
        for task in tasks
        if task.model is not None
        and isinstance(task.model.api, InProcess)
        and "dtype" not in task.model.model_args
        and task.model.api.made_with
    }
    for log in _headers(log_dir) if own else ():
        made_with = (log.eval.metadata or {}).get(MADE_WITH) or {}
        dtype, now = made_with.get("dtype"), own.get(log.eval.model)
        if dtype and now and dtype != now and "dtype" not in log.eval.model_args:
            raise UsageError(
                f"{log_dir}: {log.eval.model} judged here in {dtype} on "
                f"{made_with.get('device')}; on this machine it would go on in {now}. Go on "
                "where it ran, or begin anew in another --log-dir"
            )


def _headers(log_dir: Path) -> Iterator[EvalLog]:
    for path in sorted(log_dir.glob("*.eval")):
        try:
            yield read_eval_log(str(path), header_only=True)
        except Exception:  # cut short: whoever reads its judgements says so
            continue
