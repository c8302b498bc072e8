"""What one log is about: a model under a condition, or a part of that, with the model's client."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalPlan,
    EvalPlanStep,
    EvalSpec,
)
from inspect_ai.model import CachePolicy, GenerateConfig, Model, ModelConfig

import casewise
from casewise.cases import digest
from casewise.evaluation._batches import batch_settings
from casewise.evaluation._cells import Cell
from casewise.evaluation._condition import Condition
from casewise.evaluation._converse import ask_chatbot
from casewise.evaluation._judge import judge
from casewise.evaluation._models import MAX_RETRIES, Client, attempt_timeout, open_models
from casewise.evaluation._reply_scorer import GRADER, read_chatbot
from casewise.evaluation._respond import respond
from casewise.evaluation._samples import script_sample, task_metadata, to_sample
from casewise.evaluation._scorer import Read, read_judge
from casewise.evaluation._shards import sample_ids
from casewise.evaluation._side_by_side import MADE_WITH
from casewise.evaluation._solver import Ask, ask_judge
from casewise.evaluation.local import WINDOW, InProcess, is_in_process
from casewise.logs import ORDER, Part, without_keys
from casewise.protocols import GRADE_VERSION, READER_VERSION

RETRY_ON_ERROR = 3
"""How often a case is asked again that ended in an error."""

FAIL_ON_ERROR = 0.05
"""Share of a log's cases in error at which it is given up."""


@dataclass(frozen=True, slots=True)
class Clients:
    """What asks a cell's model, and the model that grades."""

    model: Model
    grader: Model | None


@dataclass(frozen=True, slots=True)
class Work:
    """The cases of one log, and how they are asked, read and written."""

    cell: Cell
    """With the cases of this log alone."""
    clients: Clients
    config: GenerateConfig
    """Of the model's requests."""
    part: Part | None
    """None of a log that is whole by itself."""
    epochs: range
    """As the log counts them."""
    spec: EvalSpec
    plan: EvalPlan
    ask: Ask
    read: Read
    scorer: str
    """Under whose name the log keeps the score."""

    @property
    def condition(self) -> Condition:
        """With the cases of this log alone."""
        return self.cell.planned.condition

    @property
    def size(self) -> int:
        """Judgements."""
        return self.condition.size * len(self.epochs)

    @property
    def file_name(self) -> str:
        """Of its log: the time, the task, and what no other log has."""
        created = self.spec.created.replace(":", "-").replace("+", "-")
        return f"{created}_{self.spec.task.split('/')[-1]}_{self.spec.eval_id}.eval"

    def samples(self) -> Iterator[tuple[Sample, int]]:
        """Each case with its epoch, made when it is asked for."""
        condition = self.condition
        for epoch in self.epochs:
            for case in condition.cases:
                yield to_sample(case, condition, self.cell.draw), epoch
            if condition.script is not None:
                yield script_sample(condition.script, condition.system), epoch


def cell_name(cell: Cell) -> str:
    """The name of a cell in the journal of answers: the same in every start."""
    set_besides = [json.dumps(cell.draw.settings, sort_keys=True)] if cell.draw.settings else []
    arguments = json.dumps(cell.arguments, sort_keys=True, default=str)
    return digest(cell.planned.version, arguments, *set_besides)


def open_clients(cell: Cell) -> Clients:
    """The clients of a cell's model, and of its grader.

    Raises:
        ModelError: One can't be used.
    """
    request = cell.request
    (model,) = open_models(
        [cell.model],
        base_url=request.model_base_url,
        model_args=request.model_args,
        prices=request.prices,
        # A batch is collected for one run, whose loop its collector would not outlive.
        memoize=not is_in_process(cell.model) and not request.batch,
        client=Client(request.client),
    )
    grader = None
    if cell.acts and request.grader is not None:
        (grader,) = open_models([request.grader], memoize=not request.batch)
        patience = _patience(cell, request.grader)
        grader.config = patience.merge(grader.config)
    return Clients(model, grader)


def make_work(
    cell: Cell,
    order: int,
    clients: Clients,
    part: Part | None = None,
    *,
    task_id: str | None = None,
    said: Mapping[str, Any] | None = None,
) -> Work:
    """Everything that one log needs.

    Args:
        cell: The model under a condition, with the cases of this log alone.
        order: The cell's place in the run, by which readers of its logs put them in order.
        clients: From ``open_clients``.
        part: Which part of the run it is; None of all of it.
        task_id: Of an earlier log of the same run that holds nothing; None is a new one.
        said: What the log says of the condition, where not all of its cases are at hand.
    """
    request, draw = cell.request, cell.draw
    epochs = range(1, 2) if part is not None else range(1, request.epochs + 1)
    config = draw.config.merge(_sending(cell, clients.model, part))
    said = dict(said or task_metadata(cell.planned.condition, cell.sampling, draw))
    said |= _made_with(clients.model, said) | {ORDER: order}
    if cell.acts:
        said |= {
            "grader": request.grader or "rules",
            "grader_version": GRADE_VERSION if request.grader else READER_VERSION,
        }
        ask: Ask = ask_chatbot
        read = read_chatbot(request.grader, clients.grader)
        scorer, options = "grade_reply", {"grader": request.grader}
        step = EvalPlanStep(solver="casewise/converse")
    else:
        words, logprobs = request.verdict_words, bool(draw.config.logprobs)
        ask = ask_judge(draw.samples, logprobs)
        read = read_judge(cell.planned.condition.protocol, words)
        scorer = "read_answers"
        options = {"protocol": str(cell.planned.condition.protocol)}
        options |= {"verdict_words": words} if words is not None else {}
        asked = {"samples": draw.samples, "logprobs": logprobs}
        step = EvalPlanStep(solver="casewise/ask", params=asked)
    if part is not None:
        said |= part.as_metadata()
    # By its full name, under which ``inspect score`` finds it again.
    recipe = {"name": f"casewise/{scorer}", "options": options}
    spec = _spec(cell, said, epochs, recipe, task_id)
    plan = EvalPlan(steps=[step], config=config)
    return Work(cell, clients, config, part, epochs, spec, plan, ask, read, scorer)


def _sending(cell: Cell, model: Model, part: Part | None) -> GenerateConfig:
    """How requests are sent: how many at once, how patiently, with what seed."""
    request = cell.request
    # Of several answers to one prompt, all but the first would come from the cache.
    cache: bool | CachePolicy | None = (request.cache and cell.draw.samples == 1) or None
    if cache and part is not None and part.epoch > 1:
        cache = CachePolicy(scopes={"epoch": str(part.epoch)})
    in_process = isinstance(model.api, InProcess)
    config = _patience(cell, cell.model).merge(
        GenerateConfig(
            max_connections=request.max_connections or (WINDOW if in_process else None),
            cache=cache,
            seed=cell.sent_seed,
        )
    )
    if in_process:
        # A request to a model of this process waits until those before it are answered.
        config.attempt_timeout = None
    # A person's own comes first.
    config.reasoning_summary = cell.draw.config.reasoning_summary or config.reasoning_summary
    return config


def _patience(cell: Cell, model: str) -> GenerateConfig:
    """How long an answer is waited for, and how often it is asked for."""
    request = cell.request
    if not request.batch:
        timeout = attempt_timeout(request.attempt_timeout)
        return GenerateConfig(attempt_timeout=timeout, max_retries=MAX_RETRIES)
    # Inspect asks OpenAI live whether it may have summaries, which nothing here reads.
    summary: Literal["none"] | None = "none" if model.startswith("openai/") else None
    return GenerateConfig(
        batch=batch_settings(), max_retries=MAX_RETRIES, reasoning_summary=summary
    )


def _made_with(model: Model, said: dict[str, Any]) -> dict[str, Any]:
    """What a model of this process runs on; its numbers depend on it."""
    made_with = dict(model.api.made_with) if isinstance(model.api, InProcess) else {}
    if not made_with:
        return {}
    return {"variant": f"{said['variant']};dtype={made_with['dtype']}", MADE_WITH: made_with}


def _spec(
    cell: Cell,
    said: dict[str, Any],
    epochs: Sequence[int],
    scorer: dict[str, Any],
    task_id: str | None,
) -> EvalSpec:
    request, condition = cell.request, cell.planned.condition
    task: Callable[..., Any] = respond if cell.acts else judge
    name = "casewise/respond" if cell.acts else "casewise/judge"
    ids = sample_ids(condition)
    return EvalSpec(
        eval_id=uuid4().hex,
        run_id=uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=name,
        task_id=task_id or uuid4().hex,
        task_version=cell.planned.version,
        task_display_name=name.split("/")[-1],
        task_registry_name=name,
        task_args=_defaults(task) | cell.arguments,
        task_args_passed=cell.arguments,
        dataset=EvalDataset(
            name=condition.data.name,
            samples=len(ids),
            sample_ids=list[str | int](ids),
            shuffled=False,
        ),
        model=cell.model,
        model_base_url=request.model_base_url,
        model_args=without_keys(request.model_args),
        model_roles={GRADER: ModelConfig(model=request.grader)}
        if cell.acts and request.grader
        else None,
        config=EvalConfig(
            epochs=len(epochs), fail_on_error=FAIL_ON_ERROR, retry_on_error=RETRY_ON_ERROR
        ),
        packages={"inspect_ai": version("inspect_ai"), "casewise": casewise.__version__},
        metadata=said,
        scorers=[scorer],
    )


def _defaults(task: Callable[..., Any]) -> dict[str, Any]:
    """A task's arguments at their defaults."""
    return {name: one.default for name, one in inspect.signature(task).parameters.items()}
