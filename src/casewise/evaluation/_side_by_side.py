"""Tasks of models that run in this process: the conditions of one side by side.

Their prompts of one case share most of their beginnings, and so what an engine has to compute.
"""

from collections.abc import Sequence

from inspect_ai import Task
from inspect_ai.model import GenerateConfig

from casewise.evaluation.local import WINDOW, InProcess, TextOrder

SIDE_BY_SIDE = 32
"""Conditions of one model that run together."""

MADE_WITH = "made_with"
"""Where a log's metadata keeps what a model's numbers depend on: see ``InProcess.made_with``."""


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
