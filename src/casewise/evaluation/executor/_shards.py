"""Contents of one log: a model under a condition whole, or a shard of it, with its clients.

A shard's log names the run that it is a part of, and the place of each of its cases in the whole.
So whoever reads a folder puts the parts together again, whatever wrote them, in whatever order,
and however often.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalConfig, EvalDataset, EvalPlan, EvalPlanStep, EvalSpec
from inspect_ai.model import CachePolicy, GenerateConfig, Model, ModelConfig

import casewise
from casewise.cases import Case, digest
from casewise.choices import Client
from casewise.evaluation.models import MAX_RETRIES, open_model, patience
from casewise.evaluation.models._batches import batch_settings
from casewise.evaluation.models._in_process import WINDOW, InProcess, is_in_process
from casewise.evaluation.plan import Cell
from casewise.evaluation.plan._condition import Condition, unit_id
from casewise.evaluation.tasks._asking import Ask, Read, ask_unit, read_unit
from casewise.evaluation.tasks._samples import (
    grader_metadata,
    samples_of,
    script_id,
    task_metadata,
)
from casewise.evaluation.tasks._tasks import judge, respond
from casewise.logs import GRADER, ORDER, Asked, Part, without_keys
from casewise.protocols import RunCondition

SMALLEST, LARGEST = 50, 1000
"""Least and most judgements of a shard: a smaller one takes longer to start than to ask, and a
larger one is dear to lose."""

PER_SLOT = 4
"""Shards for each that runs at once, so that the last ones end at about the same time."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Some cases of one cell, asked once each."""

    cell: int
    """The place of its cell in the run."""
    part: Part

    @property
    def size(self) -> int:
        """Number of judgements."""
        return len(self.part.places)

    def key(self, identity: str) -> str:
        """The name of its folder: the same cases again are the same shard."""
        made_of = (identity, self.part.run, str(self.part.epoch), str(self.part.places))
        return f"{self.cell:03}-{self.part.epoch}-{self.part.places[0]:07}-{digest(*made_of)}"


def sample_ids(condition: Condition) -> list[str]:
    """The ids of a condition's samples, in their order."""
    ids = [unit_id(unit) for unit in condition.units]
    return [*ids, script_id(condition.script.name)] if condition.script is not None else ids


def new_run() -> str:
    """A name for a run that is begun in shards."""
    return f"shards-{uuid4().hex[:16]}"


def shard_size(judgements: int, slots: int) -> int:
    """Most judgements of a shard by default, from ``SMALLEST`` to ``LARGEST``."""
    wanted = -(-judgements // (PER_SLOT * max(1, slots)))
    return min(LARGEST, max(SMALLEST, wanted))


def cut(cell: Cell, number: int, run: str, finished: Set[Asked], size: int) -> Iterator[Shard]:
    """Cut the open cases of a cell into shards, neighbours together.

    Args:
        cell: The model under a condition.
        number: Its place in the run.
        run: The run that the shards are parts of.
        finished: Samples with their epochs that aren't asked again.
        size: The most judgements of a shard.
    """
    ids = sample_ids(cell.planned.condition)
    for epoch in range(1, cell.request.epochs + 1):
        places = [
            place for place, sample_id in enumerate(ids) if (sample_id, epoch) not in finished
        ]
        for start in range(0, len(places), size):
            part = Part(run, epoch, tuple(places[start : start + size]), cell.judgements)
            yield Shard(number, part)


@dataclass(frozen=True, slots=True)
class Piece:
    """A shard and its cases, as they are sent to the node that runs it."""

    shard: Shard
    units: tuple[tuple[Case, ...], ...]
    scripted: bool
    """True if the conversation of a deployment's script is in it, after the units."""


def piece_of(shard: Shard, condition: Condition) -> Piece:
    """Join a shard to its cases."""
    units = [condition.units[place] for place in shard.part.places if place < len(condition.units)]
    return Piece(shard, tuple(units), len(units) < shard.size)


def without_cases(cell: Cell) -> Cell:
    """Copy of a cell without its cases, which travel with their shards: it is light to send."""
    condition = cell.planned.condition
    # The hash is that of all cases, and can't be made without them.
    data = replace(condition.data, cases=())
    data.__dict__["hash"] = condition.data.hash
    ablation = condition.ablation and replace(condition.ablation, cases=())
    light = replace(condition, units=(), data=data, ablation=ablation)
    return replace(cell, planned=replace(cell.planned, condition=light))


def with_cases(cell: Cell, piece: Piece, places: Sequence[int]) -> Cell:
    """A light cell with the cases of a piece that stand at given places of the condition."""
    condition = cell.planned.condition
    wanted = set(places)
    own = zip(piece.shard.part.places, piece.units, strict=False)
    units = tuple(unit for place, unit in own if place in wanted)
    scripted = piece.scripted and piece.shard.part.places[-1] in wanted
    asked = replace(condition, units=units, script=condition.script if scripted else None)
    return replace(cell, planned=replace(cell.planned, condition=asked))


def cell_of_shard(cell: Cell, shard: Shard) -> Cell:
    """A whole cell with the cases of a shard alone."""
    return with_cases(cell, piece_of(shard, cell.planned.condition), shard.part.places)


MADE_WITH = "made_with"
"""Key in a log's metadata of the settings that a model's numbers depend on: see
``InProcess.made_with``."""

RETRY_ON_ERROR = 3
"""Most times that a case is asked again that ended in an error."""

FAIL_ON_ERROR = 0.05
"""Share of a log's cases in error at which it is given up."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of a cell's model and of the grader."""

    model: Model
    grader: Model | None


@dataclass(frozen=True, slots=True)
class Work:
    """The cases of one log, and how they are asked, read and written."""

    cell: Cell
    """Cell with the cases of this log alone."""
    clients: Clients
    config: GenerateConfig
    """Configuration of the model's requests."""
    part: Part | None
    """Part of the run that the log holds; None for a log that is whole by itself."""
    epochs: range
    """Epochs as the log counts them, from 1."""
    spec: EvalSpec
    plan: EvalPlan
    ask: Ask
    read: Read
    scorer: str
    """Name under which the log keeps the scores."""

    @property
    def condition(self) -> Condition:
        """Condition with the cases of this log alone."""
        return self.cell.planned.condition

    @property
    def size(self) -> int:
        """Number of judgements."""
        return self.condition.size * len(self.epochs)

    @property
    def file_name(self) -> str:
        """Name of its log: the time, the task, and a part that no other log has."""
        created = self.spec.created.replace(":", "-").replace("+", "-")
        return f"{created}_{self.spec.task.split('/')[-1]}_{self.spec.eval_id}.eval"

    def samples(self) -> Iterator[tuple[Sample, int]]:
        """Each case with its epoch, made when it is asked for."""
        for epoch in self.epochs:
            for sample in samples_of(self.condition, self.cell.draw):
                yield sample, epoch


def cell_name(cell: Cell) -> str:
    """The name of a cell in the journal of answers: the same in every start."""
    besides = (cell.draw.settings, without_keys(cell.request.model_args))
    set_besides = [json.dumps(given, sort_keys=True, default=str) for given in besides if given]
    arguments = json.dumps(cell.arguments, sort_keys=True, default=str)
    return digest(cell.planned.version, arguments, *set_besides)


def open_clients(cell: Cell) -> Clients:
    """The clients of a cell's model, and of its grader.

    Raises:
        ModelError: One can't be used.
    """
    request = cell.request
    model = open_model(
        cell.model,
        base_url=request.model_base_url,
        model_args=request.model_args,
        prices=request.prices,
        # A batch is collected for one run, whose loop its collector would not outlive.
        memoize=not is_in_process(cell.model) and not request.batch,
        client=Client(request.client),
    )
    grader = None
    if cell.acts and request.grader is not None:
        usual = _patience(cell, request.grader)
        grader = open_model(request.grader, memoize=not request.batch, usual=usual)
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
    """Make the work of one log.

    Args:
        cell: The model under a condition, with the cases of this log alone.
        order: The cell's place in the run, by which readers of its logs put them in order.
        clients: From ``open_clients``.
        part: Part of the run that the log holds; None for all of it.
        task_id: Task's id of an earlier log of the same run that judged nothing; None is a new one.
        said: Metadata of the condition, where not all of its cases are at hand to make them.
    """
    request, draw = cell.request, cell.draw
    epochs = range(1, 2) if part is not None else range(1, request.epochs + 1)
    config = draw.config.merge(_sending(cell, clients.model, part))
    said = dict(said or task_metadata(cell.planned.condition, cell.sampling, draw))
    said |= _made_with(clients.model, said) | {ORDER: order}
    condition, protocol = cell.planned.condition, cell.planned.condition.protocol
    ask = ask_unit(protocol, draw.samples, condition.tools)
    read = read_unit(protocol, request.verdict_words, request.grader, clients.grader)
    options: dict[str, Any] = {"protocol": protocol.name}
    if cell.acts:
        said |= grader_metadata(request.grader)
        scorer, solver = "grade_reply", "converse"
        options |= {"grader": request.grader}
        tools = [tool.model_dump() for tool in condition.tools]
        params: dict[str, Any] = {"protocol": protocol.name} | ({"tools": tools} if tools else {})
    else:
        scorer, solver = "read_answers", "ask"
        options |= {"verdict_words": words} if (words := request.verdict_words) else {}
        params = {"protocol": protocol.name, "samples": draw.samples}
    step = EvalPlanStep(solver=f"casewise/{solver}", params=params)
    if part is not None:
        said |= part.as_metadata()
    # By its full name, under which ``inspect score`` finds it again.
    recipe = {"name": f"casewise/{scorer}", "options": options}
    spec = _spec(cell, said, epochs, recipe, task_id)
    plan = EvalPlan(steps=[step], config=config)
    return Work(cell, clients, config, part, epochs, spec, plan, ask, read, scorer)


def _sending(cell: Cell, model: Model, part: Part | None) -> GenerateConfig:
    """Settings of requests: connections, timeouts, attempts, cache and seed."""
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
    # A person's own setting comes first.
    config.reasoning_summary = cell.draw.config.reasoning_summary or config.reasoning_summary
    return config


def _patience(cell: Cell, model: str) -> GenerateConfig:
    """Timeout of an answer, and attempts at it; or the settings of batches."""
    request = cell.request
    if not request.batch:
        return patience(request.attempt_timeout)
    # Inspect asks OpenAI live whether it may have summaries, which nothing here reads.
    summary: Literal["none"] | None = "none" if model.startswith("openai/") else None
    return GenerateConfig(
        batch=batch_settings(), max_retries=MAX_RETRIES, reasoning_summary=summary
    )


def _made_with(model: Model, said: dict[str, Any]) -> dict[str, Any]:
    """Metadata on the device and number type of a model of this process; empty for others."""
    made_with = dict(model.api.made_with) if isinstance(model.api, InProcess) else {}
    if not made_with:
        return {}
    parts = (said["variant"], *RunCondition(dtype=made_with["dtype"]).parts("dtype"))
    return {"variant": ";".join(parts), MADE_WITH: made_with}


def _spec(
    cell: Cell,
    said: dict[str, Any],
    epochs: Sequence[int],
    scorer: dict[str, Any],
    task_id: str | None,
) -> EvalSpec:
    request, condition = cell.request, cell.planned.condition
    task: Callable[..., Any] = respond if cell.acts else judge
    ids = sample_ids(condition)
    return EvalSpec(
        eval_id=uuid4().hex,
        run_id=uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=cell.task,
        task_id=task_id or uuid4().hex,
        task_version=cell.planned.version,
        task_display_name=cell.task.split("/")[-1],
        task_registry_name=cell.task,
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
    return {
        name: parameter.default for name, parameter in inspect.signature(task).parameters.items()
    }
