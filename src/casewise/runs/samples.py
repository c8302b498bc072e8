"""Samples and the logs that hold them: units as Inspect's samples, pieces of a run, headers.

A short run is one log. Of a longer one, and of what an earlier start left open, each log names the
run that it is a part of, and the place of each of its cases in the whole. So whoever reads a folder
puts the parts together again, whatever wrote them, in whatever order, and however often.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelConfig,
)
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from pydantic import PrivateAttr, ValidationError, model_serializer

import casewise
from casewise.cases import (
    Case,
    ToolDefinition,
    Turn,
    digest,
    wanted_reply,
)
from casewise.choices import RULES
from casewise.logs import (
    ADDRESS,
    COMMAND,
    GENERATE,
    GRADER,
    OF_RUN,
    ORDER,
    SHARD,
    Part,
    without_keys,
)
from casewise.models.embedded import InProcess
from casewise.models.open import ATTEMPT_TIMEOUT_S, open_model
from casewise.models.patience import BATCHED_AT_ONCE, PatientModel, Prices, Watch
from casewise.models.target import TargetModel
from casewise.options import RunOptions
from casewise.protocols import grader_version
from casewise.runs.condition import Condition, draws, unit_id
from casewise.runs.folder import MADE_WITH, CellState, command_line, is_command
from casewise.runs.plan import Cell
from casewise.runs.sampling import DrawSettings, setting_parts

_PROCESS, _number = uuid4().hex, count()


def to_message(turn: Turn) -> ChatMessage:
    """A turn as Inspect's message; its tool calls have ids."""
    # With ids of ours: Inspect would ask the system for random bytes for each message.
    fields: dict[str, Any] = {"id": f"{_PROCESS}.{next(_number)}", "content": turn.content}
    match turn.role:
        case "system":
            return ChatMessageSystem(**fields)
        case "user":
            return ChatMessageUser(**fields)
        case "assistant":
            calls = [
                ToolCall(id=call.id or "", function=call.name, arguments=dict(call.arguments))
                for call in turn.tool_calls
            ]
            return ChatMessageAssistant(**fields, tool_calls=calls or None)
        case "tool":
            return ChatMessageTool(**fields, tool_call_id=turn.tool_call_id, function=turn.name)


class _VerbatimSchema(ToolParams):
    """A JSON schema that is sent as it is: Inspect knows only some keywords of such schemas."""

    _definition: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_serializer(mode="plain")
    def _whole(self) -> dict[str, Any]:
        # A copy: providers remove the keywords that they take to be unknown to servers.
        return deepcopy(self._definition)


def to_tool(tool: ToolDefinition) -> ToolInfo:
    """A definition as Inspect's, of which name, description and parameters are sent as they are."""
    try:
        parameters = _VerbatimSchema.model_validate(tool.parameters)
    except ValidationError:
        parameters = _VerbatimSchema()
    parameters._definition = dict(tool.parameters)
    return ToolInfo(name=tool.name, description=tool.description, parameters=parameters)


TURNS = "later_turns"
"""Key in a sample of the user's turns after the first reply."""

OPENINGS = "openings"
"""Key in a sample of the prompts of further openings, each a conversation of its own."""

TWIN = "twin"
"""Key in a pair's sample of the columns of its second case."""

EXPECTATIONS = "expectations"
"""Key in a sample of the replies that the deployer wants, turn by turn."""

GRADE_ALL = "grade_all"
"""Key in a sample: true if every reply is graded against the query, and not the last one alone."""

QUERY = "query"
CONTEXT = "context"
HISTORY = "history"
LANGUAGE = "language"
"""Key in a sample of the language in which its answer is read, beside English."""


def to_sample(unit: Sequence[Case], condition: Condition, draw: DrawSettings) -> Sample:
    """A unit as Inspect's sample; its metadata is what the judgement table is made from."""
    case, protocol = unit[0], condition.protocol
    opening, *more = protocol.open(unit, condition.prompts)
    first, *later = opening.turns
    turns = [*opening.messages, Turn(role="user", content=first), *opening.tool_turns]
    if draw.system and not any(turn.role == "system" for turn in turns):
        turns.insert(0, Turn(role="system", content=draw.system))
    messages = [to_message(turn) for turn in turns]
    if_any = {
        LANGUAGE: condition.answered_in(case),
        HISTORY: [turn.model_dump(mode="json") for turn in case.history],
        "no_context": case.context is None,
        OPENINGS: [other.turns[0] for other in more],
        TWIN: _of_twin(unit[1]) if len(unit) > 1 else None,
        GRADE_ALL: condition.escalates,
    }
    return Sample(
        id=unit_id(unit),
        input=messages,
        target=case.intended or "",
        metadata={name: getattr(case, name) for name in ("query_id", "category", *_TRUTH)}
        | {QUERY: case.query, CONTEXT: case.context.root if case.context is not None else None}
        | ({TURNS: later, "expected": wanted_reply(case)} if protocol.acts else {})
        | {name: value for name, value in if_any.items() if value},
    )


_TRUTH = ("intended", "votes_safe", "votes_unsafe", "published_safe_rate")
"""Fields of a case that labels are made from."""


def _of_twin(case: Case) -> dict[str, Any]:
    return {f"twin_{name}": getattr(case, name) for name in ("id", *_TRUTH)}


def grader_metadata(grader: str | None) -> dict[str, str]:
    """Metadata of the grader of a log's replies."""
    return {"grader": grader or RULES, "grader_version": grader_version(grader)}


def task_metadata(
    condition: Condition, draw: DrawSettings, made_with: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Metadata of a run by which its judgements differ from others'.

    Args:
        condition: The condition.
        draw: The model's sampling.
        made_with: Settings that the numbers of a model of this process depend on.
    """
    made_with = dict(made_with or {})
    identity = replace(
        condition.identity,
        sampling=str(draw.sampling),
        settings=setting_parts(draw.settings),
        dtype=made_with.get("dtype"),
    )
    return {
        "casewise": casewise.__version__,
        **{name: identity[name] for name in OF_RUN},
        "samples": draw.samples,
        "variation_version": condition.variation_version,
        "dataset": condition.data.name,
        "dataset_size": len(condition.data.cases),
        **({GENERATE: dict(draw.settings)} if draw.settings else {}),
        **({MADE_WITH: made_with} if made_with else {}),
    }


def sample_at(condition: Condition, draw: DrawSettings, place: int) -> Sample:
    """The sample at a place of a condition: a unit, or after them the script."""
    if place < len(condition.units):
        return to_sample(condition.units[place], condition, draw)
    script, opening = condition.script, condition.script_opening
    assert script is not None
    assert opening is not None
    id = condition.sample_id(place)
    return Sample(
        id=id,
        input=[to_message(turn) for turn in opening.first_messages],
        # Each of its turns becomes a row of the judgement table.
        metadata={
            "query_id": id,
            "category": "script",
            TURNS: list(opening.turns[1:]),
            EXPECTATIONS: " ".join(turn.expect for turn in script.turns),
        },
    )


LARGEST = 1000
"""Most judgements of a log."""

LARGEST_FAR = 100
"""Most judgements of a log on another machine, where it is written when it ends: so many are asked
again after a kill."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Cases that one log holds."""

    cell: Cell
    """The model and its condition."""
    order: int
    """Place of the cell in the run, by which readers of its logs put them in order."""
    run: str
    """Id of the run, which all of its logs share."""
    places: Sequence[int]
    """Places of the cases in the condition."""
    part: Part | None = None
    """Part of the run; None of a log that is whole by itself."""

    @property
    def epochs(self) -> range:
        """Epochs as the log counts them, from 1."""
        return range(1, 2 if self.part is not None else self.cell.request.epochs + 1)

    @property
    def size(self) -> int:
        """Number of judgements."""
        return len(self.places) * len(self.epochs)

    @property
    def key(self) -> str:
        """Name of its folder where it is written apart: the same cases again have the same."""
        places = str(self.part and (self.part.epoch, self.part.places))
        return f"{self.order:03}-{digest(self.cell.identity, self.run, places)}"

    def samples(self) -> Iterator[tuple[Sample, int]]:
        """Each case with its epoch, made when it is asked for."""
        for epoch in self.epochs:
            for place in self.places:
                yield sample_at(self.cell.condition, self.cell.draw, place), epoch


def open_pieces(cell: Cell, order: int, state: CellState, size: int) -> Iterator[Piece]:
    """Cut the open cases of a cell into pieces, neighbours together.

    Args:
        cell: The model under a condition.
        order: Its place in the run.
        state: Progress of earlier starts.
        size: Most judgements of a piece.
    """
    if state.done:
        return
    ids = cell.condition.sample_ids
    if not state.finished and not state.in_shards and cell.judgements <= size:
        yield Piece(cell, order, state.run or uuid4().hex, range(len(ids)))
        return
    run = state.run or f"shards-{uuid4().hex[:16]}"
    for epoch in range(1, cell.request.epochs + 1):
        open_ = [place for place, id in enumerate(ids) if (id, epoch) not in state.finished]
        for start in range(0, len(open_), size):
            places = tuple(open_[start : start + size])
            yield Piece(cell, order, run, places, Part(run, epoch, places, cell.judgements))


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
    clients: dict[str, PatientModel] = {}

    def client(name: str, request: RunOptions, **settings: Any) -> PatientModel:
        # A batch holds what waits at the same time.
        at_once = request.max_connections or (BATCHED_AT_ONCE if request.batch else None)
        # A client that has begun to collect batches asks nothing live.
        key = repr((name, request.batch, at_once, settings))
        if key not in clients:
            clients[key] = open_model(name, watch=watch, connections=at_once, **settings)
        return clients[key]

    def clients_of(cell: Cell) -> Clients:
        request, grader = cell.request, cell.request.grading_model
        own = {"base_url": request.model_base_url, "model_args": request.model_arg}
        return Clients(
            client(cell.model, request, prices=Prices(request.price_in, request.price_out), **own),
            None if grader is None else client(grader, request, usual=_patience(cell)),
        )

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
    request, condition = cell.request, cell.condition
    made_with = model.api.made_with if isinstance(model.api, InProcess) else None
    metadata = task_metadata(condition, cell.draw, made_with)
    metadata |= {ORDER: piece.order}
    metadata |= {ADDRESS: cell.address} if cell.address else {}
    metadata |= {COMMAND: command_line()} if is_command() else {}
    metadata |= {SHARD: asdict(piece.part)} if piece.part is not None else {}
    options: dict[str, Any] = {"protocol": condition.protocol.name}
    roles = None
    if cell.acts:
        metadata |= grader_metadata(request.grader)
        options |= {"grader": request.grader}
        if request.grading_model is not None:
            roles = {GRADER: ModelConfig(model=request.grading_model)}
    ids = list(map(condition.sample_id, piece.places))
    return EvalSpec(
        eval_id=uuid4().hex,
        run_id=uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=cell.task,
        task_id=piece.run,
        task_version=condition.version,
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


def make_config(piece: Piece, model: Model) -> GenerateConfig:
    """Make the settings of a piece's requests: sampling, timeout and seed."""
    cell, request = piece.cell, piece.cell.request
    # Of several answers, a seed would make one.
    is_seeded = cell.draw.samples == request.epochs == 1 and draws(request)
    seed = GenerateConfig(seed=request.seed if is_seeded else None)
    config = cell.draw.config.merge(_patience(cell)).merge(seed)
    if isinstance(model.api, InProcess):
        # A request to a model of this process waits until those before it are answered.
        config.attempt_timeout = None
    unsent = model.api.target.unsent if isinstance(model.api, TargetModel) else {}
    return config.model_copy(update=unsent)


def _patience(cell: Cell) -> GenerateConfig:
    """Timeout of an answer; or that it comes in a batch."""
    if not cell.request.batch:
        return GenerateConfig(attempt_timeout=cell.request.attempt_timeout or ATTEMPT_TIMEOUT_S)
    return GenerateConfig(batch=True)
