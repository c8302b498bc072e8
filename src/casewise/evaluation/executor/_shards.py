"""One log: a model under a condition whole, or a shard of it; its cases are asked, read and kept.

A shard's log names the run that it is a part of, and the place of each of its cases in the whole.
So whoever reads a folder puts the parts together again, whatever wrote them, in whatever order,
and however often.
"""

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from signal import SIGINT
from time import monotonic
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
)
from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    GenerateConfig,
    Model,
    ModelConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from inspect_ai.util import Store

import casewise
from casewise.cases import Case, digest
from casewise.choices import Client
from casewise.evaluation.executor._ending import Ending
from casewise.evaluation.models import open_model, patience
from casewise.evaluation.models._answer_journal import AnswerJournal, Underway, asking
from casewise.evaluation.models._faults import (
    FaultCounts,
    FaultObserver,
    logged_kind,
    make_body_redactor,
    redacted,
    valid,
)
from casewise.evaluation.models._in_process import WINDOW, InProcess, is_in_process
from casewise.evaluation.models._reachability import UnreachableError
from casewise.evaluation.plan._condition import Condition, unit_id
from casewise.evaluation.plan._costs import Budget, SpentError, Tokens, tokens_of
from casewise.evaluation.plan._plan import Cell
from casewise.evaluation.tasks._asking import Ask, ModelHealth, Read, ask_unit, read_unit
from casewise.evaluation.tasks._samples import (
    grader_metadata,
    mean,
    samples_of,
    script_id,
    task_metadata,
)
from casewise.evaluation.tasks._tasks import judge, respond
from casewise.logs import (
    ADDRESSES,
    GRADER,
    ORDER,
    Asked,
    LogStatus,
    LogWriter,
    Part,
    without_keys,
    without_texts,
)
from casewise.protocols import RunCondition, Status

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
    besides = (cell.draw.settings, without_keys(cell.request.model_arg))
    set_besides = [json.dumps(given, sort_keys=True, default=str) for given in besides if given]
    arguments = json.dumps(cell.arguments, sort_keys=True, default=str)
    return digest(cell.planned.version, arguments, *set_besides)


def open_clients(cells: Iterable[Cell]) -> list[Clients]:
    """The clients of each cell's model and grader: cells that ask alike share them.

    Raises:
        ModelError: One can't be used.
    """
    opened: dict[str, Model] = {}

    def open_once(name: str, *, is_shared: bool, **given: Any) -> Model:
        key = f"{name} {given!r}"
        if not is_shared or key not in opened:
            opened[key] = open_model(name, **given)
        return opened[key]

    def clients_of(cell: Cell) -> Clients:
        request = cell.request
        model = open_once(
            cell.model,
            # A client that has begun to collect batches asks nothing live.
            is_shared=not is_in_process(cell.model) and not request.batch,
            base_url=request.model_base_url,
            model_args=request.model_arg,
            prices=request.prices,
            client=Client(request.client),
        )
        grader = None
        if cell.acts and (name := request.grading_model) is not None:
            usual = _patience(cell)
            grader = open_once(name, is_shared=not request.batch, usual=usual)
        return Clients(model, grader)

    return [clients_of(cell) for cell in cells]


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
    said |= {ADDRESSES: list(cell.addresses)} if cell.addresses else {}
    condition, protocol = cell.planned.condition, cell.planned.condition.protocol
    ask = ask_unit(protocol, draw.samples, condition.tools)
    read = read_unit(protocol, request.grader, clients.grader)
    options: dict[str, Any] = {"protocol": protocol.name}
    if cell.acts:
        said |= grader_metadata(request.grader)
        scorer, solver = "grade_reply", "converse"
        options |= {"grader": request.grader}
        tools = [tool.model_dump() for tool in condition.tools]
        params: dict[str, Any] = {"protocol": protocol.name} | ({"tools": tools} if tools else {})
    else:
        scorer, solver = "read_answers", "ask"
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
    config = _patience(cell).merge(
        GenerateConfig(
            max_connections=request.max_connections or (WINDOW if in_process else None),
            cache=cache,
            seed=cell.sent_seed,
        )
    )
    if in_process:
        # A request to a model of this process waits until those before it are answered.
        config.attempt_timeout = None
    return config


def _patience(cell: Cell) -> GenerateConfig:
    """Timeout of an answer; or that it comes in a batch."""
    if not cell.request.batch:
        return patience(cell.request.attempt_timeout)
    return GenerateConfig(batch=True)


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
        model_args=without_keys(request.model_arg),
        model_roles={GRADER: ModelConfig(model=request.grading_model)}
        if cell.acts and request.grading_model
        else None,
        config=EvalConfig(epochs=len(epochs), fail_on_error=FAIL_ON_ERROR),
        packages={"inspect_ai": version("inspect_ai"), "casewise": casewise.__version__},
        metadata=said,
        scorers=[scorer],
    )


def _defaults(task: Callable[..., Any]) -> dict[str, Any]:
    """A task's arguments at their defaults."""
    return {
        name: parameter.default for name, parameter in inspect.signature(task).parameters.items()
    }


Observer = Callable[[Status], None]
"""Callback with the status of each judgement, and with ``error`` for each failed attempt at one."""

StopObserver = Callable[[Callable[[], object]], object]
"""Callback at the start with the function that stops the run, from any thread."""


def _ignore(_: Status) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Observers:
    """Callbacks of a run."""

    judgement: Observer = _ignore
    fault: FaultObserver | None = None
    """Called when a model meets a kind of fault for the first time."""
    outage: FaultObserver | None = None
    """Called when a server that had answered goes away, and when it answers again, and with what
    becomes of batches; not on a cluster."""
    stop: StopObserver | None = None
    """Called with the function that stops the run, which then raises CancelledError; not on a
    cluster."""
    ending: Callable[[Ending], object] | None = None
    """Called with the end of a start that leaves something to judge."""
    signal: Callable[[], int] = lambda: SIGINT
    """Number of the signal that interrupted the run."""


@dataclass(slots=True)
class RunContext:
    """State that all logs of one start share in one process."""

    observe: Observer = _ignore
    budget: Budget | None = None
    journal: AnswerJournal | None = None
    """Journal of answers that no log holds yet; None on a cluster, in a folder that is not on this
    machine, and where texts are withheld."""
    health: ModelHealth = field(default_factory=ModelHealth)
    writer: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="casewise-logs")
    )
    """The thread that writes the logs."""


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """Outcome of a log."""

    log: EvalLog
    """The log, without samples."""
    judged: int
    errors: FaultCounts
    """Cases that ended in an error."""
    given_up: str | None = None
    """Reason why its model can't be used at all; None if it can."""

    @property
    def tokens(self) -> Tokens:
        """Tokens by model, those of failed attempts included."""
        return tokens_of(self.log.stats.model_usage)


@dataclass(slots=True)
class _State:
    """Conversation state of one case; see ``CaseState``."""

    messages: list[ChatMessage]
    output: ModelOutput
    metadata: dict[str, Any]
    store: Store = field(default_factory=Store)


@dataclass(slots=True)
class _Sums:
    """Sums of all samples, for the header."""

    judged: int = 0
    failed: int = 0
    errors: FaultCounts = field(default_factory=Counter)
    values: dict[str, list[float]] = field(default_factory=dict)
    usage: dict[str, ModelUsage] = field(default_factory=dict)
    graders: dict[str, ModelUsage] = field(default_factory=dict)


class ShardRun:
    """Run that asks the cases of one log, and writes it.

    Args:
        work: The cases, and how they are asked.
        folder: Folder of the log, a path or an address.
        context: State that the logs of the run share.
    """

    def __init__(self, work: Work, folder: str, context: RunContext) -> None:
        self.work = work
        self.outcome: ShardOutcome | None = None
        """Outcome of the log; None until it is ended."""
        self._address = f"{folder}/{work.file_name}"
        self._context = context
        self._name = cell_name(work.cell)
        self._writer: LogWriter | None = None
        self._sums = _Sums()
        self._left = work.size
        self._error: EvalError | None = None
        self._given_up: str | None = None
        self._started = ""

    async def ask(self, sample: Sample, epoch: int) -> None:
        """Ask one case, and write its sample.

        Raises:
            SpentError: All that the run may cost is spent.
            OSError: The log can't be written.
        """
        if self._error is None and not self._is_left():
            kept = await self._judge(sample, epoch)
            waiting = None if kept is None else self._open().add(kept)
            if waiting is not None:
                await asyncio.shield(asyncio.wrap_future(waiting))
        self._left -= 1
        if not self._left:
            self.end("success" if self._error is None and self._given_up is None else "error")

    def end(self, status: LogStatus) -> None:
        """Write what is left, and the header; a second call does nothing."""
        if self.outcome is not None:
            return
        sums = self._sums
        log = self._open().finish(
            status,
            self._results(),
            EvalStats(
                started_at=self._started,
                completed_at=_now(),
                model_usage=sums.usage,
                role_usage=sums.graders,
            ),
            self._error if status == "error" else None,
        )
        self.outcome = ShardOutcome(log, sums.judged, sums.errors, self._given_up)

    def end_if_begun(self) -> None:
        """End a log that was begun, and left before its last case was asked."""
        if self._writer is not None:
            self.end("cancelled" if self._error is None else "error")

    def _open(self) -> LogWriter:
        """Writer of the log, which is begun when its first case is asked."""
        if self._writer is None:
            self._started = _now()
            self._writer = LogWriter(
                self._address,
                self.work.spec,
                self.work.plan,
                self._context.writer,
                make_body_redactor(),
            )
        return self._writer

    async def _judge(self, sample: Sample, epoch: int) -> EvalSample | None:
        """Ask a case; what is asked again, and how often, the table of faults says of each request.

        Returns:
            The sample; None of a case that was not asked, as its model was left.
        """
        self._open()
        begun, started = monotonic(), _now()
        of_run = epoch if self.work.part is None else self.work.part.epoch
        place = (self._name, str(sample.id), of_run)
        under = Underway(*place, self._context.journal, self.work.cell.usual)
        state = _State(_messages(sample), ModelOutput(), sample.metadata or {})
        outcome: Score | Exception
        try:
            outcome = await self._ask_and_read(sample, state, under)
        except SpentError:
            raise
        except Exception as error:
            if self._context.journal is not None and self._context.journal.failure is not None:
                raise self._context.journal.failure from None
            if isinstance(error, UnreachableError) and error.is_left and self._is_left():
                return None
            outcome = error
            self._context.observe(Status.ERROR)
            self._note_given_up(error)
        times = (started, monotonic() - begun, under)
        return self._keep(sample, epoch, state, outcome, times)

    async def _ask_and_read(self, sample: Sample, state: _State, under: Underway) -> Score:
        context, work = self._context, self.work
        context.health.check(work.clients.model, work.clients.grader)
        if context.budget is not None:
            await context.budget.admit(under)
        judged = False
        try:
            with asking(under):
                await work.ask(state, work.clients.model, work.config)
                context.health.answer(work.clients.model)
                under.grading = True
                score = await work.read(state, str(sample.target), work.clients.model)
            judged = True
        finally:
            if context.budget is not None:
                context.budget.end(under, judged=judged)
        context.observe(Status((score.metadata or {})["status"]))
        return score

    def _is_left(self) -> bool:
        """Tell whether the model or its grader was given up; the reason is kept."""
        clients = self.work.clients
        reason = self._context.health.reason(clients.model, clients.grader)
        self._given_up = self._given_up or reason
        return reason is not None

    def _note_given_up(self, error: Exception) -> None:
        """Keep the reason, where an error shows that the model can't be used."""
        clients = self.work.clients
        reason = self._context.health.fail(clients.model, clients.grader, error)
        self._given_up = self._given_up or reason

    def _keep(
        self,
        sample: Sample,
        epoch: int,
        state: _State,
        outcome: Score | Exception,
        times: tuple[str, float, Underway],
    ) -> EvalSample:
        """Count the outcome of a case, and make its sample for the log."""
        started, seconds, under = times
        usage, grader = under.usage, under.graders_usage
        withhold = self.work.cell.request.withhold
        error = None if isinstance(outcome, Score) else _error(outcome, withhold=withhold)
        self._count(outcome, usage, grader, error)
        kept = _BLANK.model_copy(
            update={
                "id": str(sample.id),
                "epoch": epoch,
                "input": sample.input,
                "target": sample.target,
                "messages": state.messages,
                "output": state.output,
                "scores": {self.work.scorer: outcome} if isinstance(outcome, Score) else None,
                "metadata": state.metadata,
                "store": dict(state.store.items()),
                "events": [valid(event) if event.error else event for event in under.events],
                "model_usage": usage,
                "role_usage": {GRADER: grader} if grader is not None else {},
                "started_at": started,
                "completed_at": _now(),
                "total_time": seconds,
                "working_time": under.seconds,
                "uuid": uuid4().hex,
                "error": error,
                "attachments": {},
            }
        )
        return without_texts(kept, self.work.cell.model) if withhold else kept

    def _count(
        self,
        outcome: Score | Exception,
        usage: Mapping[str, ModelUsage],
        grader: ModelUsage | None,
        error: EvalError | None,
    ) -> None:
        sums = self._sums
        for model, used in usage.items():
            sums.usage[model] = sums.usage[model] + used if model in sums.usage else used
        if grader is not None:
            before = sums.graders.get(GRADER)
            sums.graders[GRADER] = grader if before is None else before + grader
        if isinstance(outcome, Score):
            sums.judged += 1
            for name, value in _numbers(outcome).items():
                sums.values.setdefault(name, []).append(value)
            return
        assert error is not None
        sums.failed += 1
        sums.errors[self.work.cell.model, logged_kind(error.message)] += 1
        if sums.failed >= FAIL_ON_ERROR * self.work.size and self._error is None:
            self._error = error

    def _results(self) -> EvalResults:
        """Results that Inspect's viewer shows above the samples: means, a first look only."""
        sums, names = self._sums, _METRICS[self.work.scorer]
        metrics = {
            shown: EvalMetric(name=f"casewise/{shown}", value=mean(sums.values.get(name, [])))
            for shown, name in names.items()
        }
        score = EvalScore(
            name=self.work.scorer,
            scorer=self.work.scorer,
            scored_samples=sums.judged,
            unscored_samples=self.work.size - sums.judged,
            metrics=metrics,
        )
        return EvalResults(
            total_samples=self.work.size, completed_samples=sums.judged, scores=[score]
        )


_BLANK = EvalSample.model_construct(id="", epoch=1, input="", target="")
"""Sample that each case copies: half the time of a new one goes to fields that stay None."""

_METRICS = {
    "read_answers": {"coverage": "read", "says_safe": "says_safe", "as_intended": "as_intended"},
    "grade_reply": {"graded": "graded", "refuses": "refusal"},
}
"""Inspect's metrics by scorer, and the numbers that they are the means of."""


def _numbers(score: Score) -> dict[str, float]:
    values = score.value if isinstance(score.value, Mapping) else {}
    return {name: float(value) for name, value in values.items() if isinstance(value, float)}


def _messages(sample: Sample) -> list[ChatMessage]:
    assert not isinstance(sample.input, str)
    return list(sample.input)


def _error(error: Exception, *, withhold: bool) -> EvalError:
    """An error as the log keeps it: without its traceback, which would hold what was asked."""
    message = redacted(str(getattr(error, "message", None) or repr(error)))
    if withhold:
        message = logged_kind(message).words
    return EvalError(message=message, traceback="", traceback_ansi="")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
