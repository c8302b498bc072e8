"""Header of a piece's log: its task, model, cases and settings, as Inspect writes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from inspect_ai.log import EvalConfig, EvalDataset, EvalPlan, EvalPlanStep, EvalSpec
from inspect_ai.model import GenerateConfig, Model, ModelConfig

import casewise
from casewise.evaluation.models._in_process import InProcess, is_in_process
from casewise.evaluation.models.batches import AT_ONCE
from casewise.evaluation.models.open import attempt_timeout, open_model
from casewise.evaluation.models.patient import PatientModel, Watch
from casewise.evaluation.plan._plan import Cell
from casewise.evaluation.runs.folder import MADE_WITH, command_line, is_command
from casewise.evaluation.runs.pieces import Piece
from casewise.evaluation.tasks._samples import grader_metadata
from casewise.logs import ADDRESSES, COMMAND, GRADER, ORDER, without_keys
from casewise.protocols import RunCondition

FAIL_ON_ERROR = 0.05
"""Share of a log's cases in error at which it is given up."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients of a cell's model and of the grader."""

    model: PatientModel
    grader: PatientModel | None

    @property
    def all(self) -> tuple[PatientModel, ...]:
        """Those that there are."""
        return (self.model,) if self.grader is None else (self.model, self.grader)


def open_clients(cells: Iterable[Cell], watch: Watch) -> list[Clients]:
    """Open the clients of each cell's model and grader: cells that ask alike share them.

    Args:
        cells: The cells.
        watch: What all clients share.

    Raises:
        ModelError: One can't be used.
    """
    opened: dict[str, PatientModel] = {}

    def open_once(name: str, *, is_shared: bool, **given: Any) -> PatientModel:
        key = f"{name} {given!r}"
        if not is_shared or key not in opened:
            opened[key] = open_model(name, watch=watch, **given)
        return opened[key]

    def clients_of(cell: Cell) -> Clients:
        request = cell.request
        # A batch holds what waits at the same time.
        at_once = request.max_connections or (AT_ONCE if request.batch else None)
        model = open_once(
            cell.model,
            # A client that has begun to collect batches asks nothing live.
            is_shared=not is_in_process(cell.model) and not request.batch,
            base_url=request.model_base_url,
            model_args=request.model_arg,
            prices=cell.own_prices,
            connections=at_once,
        )
        grader = None
        if cell.acts and (name := request.grading_model) is not None:
            grader = open_once(
                name,
                is_shared=not request.batch,
                connections=at_once,
                usual=_patience(cell),
            )
        return Clients(model, grader)

    return [clients_of(cell) for cell in cells]


def scorer_of(cell: Cell) -> str:
    """Name under which a log keeps the scores."""
    return "grade_reply" if cell.acts else "read_answers"


def file_name(spec: EvalSpec) -> str:
    """Name of a log: the time, the task, and a part that no other log has."""
    created = spec.created.replace(":", "-").replace("+", "-")
    return f"{created}_{spec.task.split('/')[-1]}_{spec.eval_id}.eval"


def make_spec(piece: Piece, model: Model) -> EvalSpec:
    """Make the specification of a piece's log."""
    cell = piece.cell
    request, condition = cell.request, cell.planned.condition
    metadata = piece.metadata | _made_with(model, piece.metadata) | {ORDER: piece.order}
    metadata |= {ADDRESSES: list(cell.addresses)} if cell.addresses else {}
    metadata |= {COMMAND: command_line()} if is_command() else {}
    metadata |= piece.part.as_metadata() if piece.part is not None else {}
    options: dict[str, Any] = {"protocol": condition.protocol.name}
    roles = None
    if cell.acts:
        metadata |= grader_metadata(request.grader)
        options |= {"grader": request.grader}
        if request.grading_model is not None:
            roles = {GRADER: ModelConfig(model=request.grading_model)}
    ids = condition.sample_ids
    return EvalSpec(
        eval_id=uuid4().hex,
        run_id=uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=cell.task,
        task_id=piece.run,
        task_version=cell.planned.version,
        task_display_name=cell.task.split("/")[-1],
        task_registry_name=cell.task,
        task_args=cell.arguments,
        task_args_passed=cell.arguments,
        dataset=EvalDataset(
            name=condition.data.name,
            samples=len(ids),
            sample_ids=list[str | int](ids),
            shuffled=False,
        ),
        model=cell.model,
        model_base_url=request.model_base_url,
        model_args=without_keys(request.model_arg),
        model_roles=roles,
        config=EvalConfig(epochs=len(piece.epochs), fail_on_error=FAIL_ON_ERROR),
        packages={"inspect_ai": version("inspect_ai"), "casewise": casewise.__version__},
        metadata=metadata,
        # By its full name, under which ``inspect score`` finds it again.
        scorers=[{"name": f"casewise/{scorer_of(cell)}", "options": options}],
    )


def make_steps(cell: Cell, config: GenerateConfig) -> EvalPlan:
    """Make the steps of a log: how cases are asked."""
    protocol, tools = cell.planned.condition.protocol, cell.planned.condition.tools
    params: dict[str, Any] = {"protocol": protocol.name}
    if not cell.acts:
        params |= {"samples": cell.draw.samples}
    elif tools:
        params |= {"tools": [tool.model_dump() for tool in tools]}
    solver = "converse" if cell.acts else "ask"
    return EvalPlan(steps=[EvalPlanStep(solver=f"casewise/{solver}", params=params)], config=config)


def make_config(piece: Piece, model: Model) -> GenerateConfig:
    """Make the settings of a piece's requests: sampling, timeout and seed."""
    cell = piece.cell
    in_process = isinstance(model.api, InProcess)
    seed = GenerateConfig(seed=cell.sent_seed)
    config = cell.draw.config.merge(_patience(cell)).merge(seed)
    if in_process:
        # A request to a model of this process waits until those before it are answered.
        config.attempt_timeout = None
    return config


def _patience(cell: Cell) -> GenerateConfig:
    """Timeout of an answer; or that it comes in a batch."""
    if not cell.request.batch:
        return GenerateConfig(attempt_timeout=attempt_timeout(cell.request.attempt_timeout))
    return GenerateConfig(batch=True)


def _made_with(model: Model, metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata on the device and number type of a model of this process; empty for others."""
    made_with = dict(model.api.made_with) if isinstance(model.api, InProcess) else {}
    if not made_with:
        return {}
    parts = (metadata["variant"], *RunCondition(dtype=made_with["dtype"]).parts("dtype"))
    return {"variant": ";".join(parts), MADE_WITH: made_with}
