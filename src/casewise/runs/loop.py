"""One start of a run: workers ask the open cases of each model, and each log takes what ended."""

import asyncio
import contextvars
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalError,
    EvalLog,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalStats,
)
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage
from inspect_ai.scorer import Score
from inspect_ai.util import Store

from casewise.errors import ModelError, UsageError
from casewise.files import address_of, is_elsewhere
from casewise.logs import CANCELLED, GRADER, LogStatus, LogWriter, without_texts
from casewise.models.embedded import WINDOW, InProcess
from casewise.models.faults import (
    FaultCounts,
    FaultObserver,
    failed,
    first_within,
    logged_kind,
    printable,
)
from casewise.models.keys import make_redactor, redacted
from casewise.models.open import check_all, in_own_loop
from casewise.models.patience import (
    BATCHED_AT_ONCE,
    CONNECTIONS,
    UNREACHABLE_S,
    ModelLostError,
    SampleAttempt,
    Watch,
)
from casewise.protocols import Status
from casewise.runs.asking import ask_unit, read_unit
from casewise.runs.cost import Budget, SpentError, tokens_of
from casewise.runs.folder import (
    Done,
    check_same_numbers,
    hold_folder,
    logs_of,
    read_done,
)
from casewise.runs.plan import Cell
from casewise.runs.samples import (
    FAIL_ON_ERROR,
    LARGEST,
    LARGEST_FAR,
    Clients,
    Piece,
    file_name,
    make_config,
    make_spec,
    open_clients,
    open_pieces,
    scorer_of,
)

Observer = Callable[[Status], None]
"""Callback with the status of each judgement, and with ``error`` for each failed attempt at one."""

StopObserver = Callable[[Callable[[], object]], object]
"""Callback at the start with the function that stops the run, from any thread."""


@dataclass(frozen=True, slots=True)
class Observers:
    """Callbacks of a run."""

    judgement: Observer = lambda _: None
    fault: FaultObserver = lambda _model, _sentence: None
    """Called when a model meets a kind of fault for the first time."""
    stop: StopObserver | None = None
    """Called with the function that stops the run, which then raises CancelledError; not on a
    cluster."""


@dataclass(slots=True)
class _State:
    """Conversation state of one case; see ``CaseState``."""

    messages: list[ChatMessage]
    metadata: dict[str, Any]
    output: ModelOutput = field(default_factory=ModelOutput)
    store: Store = field(default_factory=Store)


@dataclass(frozen=True, slots=True)
class PieceResult:
    """Result of a piece."""

    statuses: tuple[Status, ...] = ()
    """Status of each case that was asked on another node."""
    errors: FaultCounts = field(default_factory=Counter)
    """Cases that ended in an error, by model and kind."""
    faults: FaultCounts = field(default_factory=Counter)
    """Faults of its requests on another node, by model and kind."""
    failure: str | None = None
    """Reason why not all of it was judged; None where it was."""
    given_up: str | None = None
    """Reason why its model can't be used at all; None if it can."""


class PieceRun:
    """Run of a piece: its cases are asked in any order, and stand in one log.

    Args:
        piece: The cases.
        clients: Clients of their model and grader.
        folder: Folder of the log, a path or an address.
        observe: Callback for each judgement.
        budget: Cap on the cost that all logs of the start share.
    """

    def __init__(
        self,
        piece: Piece,
        clients: Clients,
        folder: str,
        observe: Observer,
        budget: Budget | None = None,
    ) -> None:
        cell = piece.cell
        condition = cell.condition
        self.piece = piece
        self.clients = clients
        self.config = make_config(piece, clients.model)
        self.log: EvalLog | None = None
        """The log without samples; None until it is ended."""
        self._judged = 0
        self.errors: FaultCounts = Counter()
        """Cases that ended in an error, by model and kind."""
        self._folder = folder
        self._observe, self._budget = observe, budget
        tells, samples = condition.tells_context, cell.draw.samples
        self._ask = ask_unit(condition.protocol, samples, condition.tools, tells)
        self._writer: LogWriter | None = None
        self._left = piece.size
        self._error: EvalError | None = None
        self._stats = EvalStats()

    async def ask(self, sample: Sample, epoch: int) -> None:
        """Ask one case, and write its sample.

        Raises:
            SpentError: All that the run may cost is spent.
            OSError: The log can't be written.
        """
        if self._error is None:
            kept = await self._judge(sample, epoch)
            if kept is not None:
                self._open().add(kept)
        self._left -= 1
        if not self._left:
            self.end("success" if self._error is None and self.given_up is None else "error")

    def end(self, status: LogStatus) -> None:
        """End the log; a second call does nothing.

        Raises:
            OSError: It can't be written.
        """
        if self.log is None:
            writer = self._open()
            self._stats.completed_at = _now()
            error = self._error if status == "error" else None
            results = EvalResults(total_samples=self.piece.size, completed_samples=self._judged)
            self.log = writer.finish(status, results, self._stats, error)

    def end_if_begun(self) -> None:
        """End a log that was begun, and left before its last case was asked."""
        if self._writer is not None:
            self.end("cancelled" if self._error is None else "error")

    def _open(self) -> LogWriter:
        """Writer of the log, which is begun when its first case is asked."""
        if self._writer is None:
            self._stats.started_at = _now()
            spec = make_spec(self.piece, self.clients.model)
            self._writer = LogWriter(
                f"{self._folder}/{file_name(spec)}",
                spec,
                EvalPlan(config=self.config),
                make_redactor(),
            )
        return self._writer

    @property
    def given_up(self) -> str | None:
        """Reason why its model can't be used any more; None if it can."""
        lost = (client.server.lost for client in self.clients.all)
        return next(filter(None, lost), None)

    @property
    def failure(self) -> str | None:
        """Reason why not all of it was judged; None where it was."""
        if self.given_up is not None or self.log is None or self.log.status == "success":
            return self.given_up
        why = printable(self.log.error.message) if self.log.error else self.log.status
        return f"{self.piece.cell.model}: {why}"

    @property
    def result(self) -> PieceResult:
        """Its result so far, without what the observers of its process see of it."""
        return PieceResult(errors=self.errors, failure=self.failure, given_up=self.given_up)

    async def _judge(self, sample: Sample, epoch: int) -> EvalSample | None:
        """Ask a case; how often a request is repeated, the table of faults says.

        Returns:
            The sample; None where no answer came before its model was left.
        """
        self._open()
        begun, started = monotonic(), _now()
        under = SampleAttempt()
        assert not isinstance(sample.input, str)
        state = _State(list(sample.input), sample.metadata or {})
        outcome: Score | EvalError
        try:
            outcome = await self._ask_and_read(sample, state, under)
        except SpentError:
            raise
        except ModelLostError:
            if not under.answers:
                return None
            # What they took is counted; its case is asked again.
            outcome = EvalError(message=CANCELLED, traceback="", traceback_ansi="")
        except Exception as error:
            outcome = _error(error, withhold=self.piece.cell.request.withhold)
            self._observe(Status.ERROR)
            server = self.clients.model.server
            if isinstance(error, ModelError) and not server.is_proven:
                # It can't do what the protocol needs: what follows would fail alike.
                server.lose(str(error))
        self._count(outcome, under)
        is_judged = isinstance(outcome, Score)
        sampled = EvalSample(
            id=str(sample.id),
            epoch=epoch,
            input=sample.input,
            target=sample.target,
            messages=state.messages,
            output=state.output,
            scores={scorer_of(self.piece.cell): outcome} if isinstance(outcome, Score) else None,
            metadata=state.metadata,
            store=dict(state.store.items()),
            model_usage=under.usage,
            role_usage={GRADER: used} if (used := under.graders_usage) is not None else {},
            started_at=started,
            completed_at=_now(),
            total_time=monotonic() - begun,
            working_time=under.seconds,
            uuid=uuid4().hex,
            error=None if is_judged else outcome,
        )
        if self.piece.cell.request.withhold:
            return without_texts(sampled, self.piece.cell.model)
        return sampled

    async def _ask_and_read(self, sample: Sample, state: _State, under: SampleAttempt) -> Score:
        clients, cell = self.clients, self.piece.cell
        for client in clients.all:
            client.server.check()
        if self._budget is not None:
            await self._budget.admit()
        judged = False
        try:
            model = under.noted(clients.model)
            grader = under.noted(clients.grader, is_grader=True) if clients.grader else None
            await self._ask(state, model, self.config)
            clients.model.server.is_proven = True
            read = read_unit(cell.condition.protocol, cell.request.grader, grader)
            score = await read(state, str(sample.target), model)
            judged = True
        finally:
            if self._budget is not None:
                self._budget.end(tokens_of(under.usage), judged=judged)
        self._observe(Status((score.metadata or {})["status"]))
        return score

    def _count(self, outcome: Score | EvalError, under: SampleAttempt) -> None:
        """Count the outcome and the tokens of a case, for the header."""
        _add(self._stats.model_usage, under.usage)
        if (used := under.graders_usage) is not None:
            _add(self._stats.role_usage, {GRADER: used})
        if isinstance(outcome, Score):
            self._judged += 1
            return
        if outcome.message == CANCELLED:
            return
        self.errors[self.piece.cell.model, logged_kind(outcome.message)] += 1
        if self.errors.total() >= FAIL_ON_ERROR * self.piece.size and self._error is None:
            self._error = outcome


def _add(sums: dict[str, ModelUsage], usage: Mapping[str, ModelUsage]) -> None:
    for model, used in usage.items():
        sums[model] = sums[model] + used if model in sums else used


def _error(error: Exception, *, withhold: bool) -> EvalError:
    """An error as the log keeps it: without its traceback, which would hold what was asked."""
    message = str(error) if isinstance(error, ModelError) else failed(error).message
    message = redacted(message)
    if withhold:
        message = logged_kind(message).words
    return EvalError(message=message, traceback="", traceback_ansi="")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


AHEAD = 2
"""Cases in flight per connection: some are read while others wait to be sent."""

APART_S = 0.003
"""Seconds between the first requests of a model's workers: about what one takes of the processor.
Sent at once, their answers come at once, and so do all that follow: each waits for all others."""


def ask_all(runs: Sequence[PieceRun], tell_stop: StopObserver | None = None) -> None:
    """Ask all cases of all logs, and end every log.

    Args:
        runs: Logs to ask and write.
        tell_stop: Called with the function that stops them: Ctrl-C reaches the main thread only.

    Raises:
        OSError: A log can't be written.
        KeyboardInterrupt: A person stopped it; what was judged is in the logs.
        CancelledError: Another thread stopped it; what was judged is in the logs.
    """
    in_own_loop(_ask_all(runs, tell_stop))


async def _ask_all(runs: Sequence[PieceRun], tell_stop: StopObserver | None) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if tell_stop is not None and task is not None:
        tell_stop(lambda: loop.call_soon_threadsafe(task.cancel))
    lines: dict[str, list[PieceRun]] = {}
    for run in runs:
        lines.setdefault(run.piece.cell.model, []).append(run)
    try:
        async with _closing(_clients(runs)), asyncio.TaskGroup() as group:
            for own in lines.values():
                group.create_task(_ask_model(own))
    except BaseException as error:
        _end(runs, failed=True)
        cause = first_within(error)
        # Where the cap is reached, the budget says that the run was stopped.
        if not isinstance(cause, SpentError):
            raise cause from None
    else:
        _end(runs)


@asynccontextmanager
async def _closing(clients: Sequence[Model]) -> AsyncIterator[None]:
    """Close clients after the block; one that can't be closed hides no other error."""
    try:
        yield
    finally:
        for client in clients:
            with suppress(Exception):
                await client.api.aclose()


def _clients(runs: Iterable[PieceRun]) -> list[Model]:
    """Clients of all runs, each once."""
    return list({id(client): client for run in runs for client in run.clients.all}.values())


def _end(runs: Sequence[PieceRun], *, failed: bool = False) -> None:
    """End the logs that were left before their last case was asked."""
    for run in runs:
        try:
            run.end_if_begun()
        except OSError:
            # Only the first error is raised.
            if not failed:
                raise


async def _ask_model(runs: Sequence[PieceRun]) -> None:
    """Ask a model all its cases, log by log."""
    jobs = ((run, *job) for run in runs for job in run.piece.samples())
    given = max((run.piece.cell.request.max_connections or 0 for run in runs), default=0)
    is_batch = any(run.config.batch for run in runs)
    is_here = isinstance(runs[0].clients.model.api, InProcess)
    workers = AHEAD * (given or CONNECTIONS)
    if is_batch or is_here:
        workers = given or (BATCHED_AT_ONCE if is_batch else WINDOW)

    async def work() -> None:
        for run, sample, epoch in jobs:
            # In a context of its own, since Inspect keeps there what a sample says to models.
            await asyncio.create_task(run.ask(sample, epoch), context=contextvars.copy_context())

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workers, sum(run.piece.size for run in runs))):
            group.create_task(work())
            # A batch holds what waits at the same time, and so does a model of this process.
            if not (is_batch or is_here):
                await asyncio.sleep(APART_S)


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """A Ray cluster, and the processors that each piece takes of it."""

    address: str | None = None
    """Address of its head; None starts a cluster on this machine, for the length of the run."""
    shard_size: int | None = None
    """Most judgements of a piece; None goes by the size of the run and of the cluster."""
    shard_cpus: float | None = None
    """CPUs of a piece; None is 1, or all of a node's for a model loaded there without a GPU."""
    shard_gpus: float = 0.0


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run."""

    logs: tuple[Path, ...]
    """The logs of its models and conditions, those of earlier starts included."""
    failures: tuple[str, ...] = ()
    """Failures, each with its model and reason; the cap, where the run stopped there."""
    capped: bool = False
    """True if it stopped because the money was spent."""
    faults: FaultCounts = field(default_factory=Counter)
    """Faults of requests, by model and kind; most are followed by an answer."""
    errors: FaultCounts = field(default_factory=Counter)
    """Cases that ended in an error, by model and kind."""
    judged: int = 0
    """Judgements that the folder holds of the plan."""
    planned: int = 0
    """Judgements of the plan."""

    @property
    def complete(self) -> bool:
        """Tell whether every model and condition ended well; single cases may be in error."""
        return not self.failures


def check_models(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Check the models of cells, graders among them, without sending a request.

    Returns:
        Messages on what their providers lack (a key, a package): a plan does without, a run does
        not.

    Raises:
        ModelError: No such provider, no address of a web server, or a proxy that can't be connected
            to; a line for each model.
    """
    return check_all(model for cell in cells for model in _models_of(cell))


def _models_of(cell: Cell) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    request = cell.request
    yield cell.model, request.model_base_url, request.model_arg
    if cell.acts and request.grading_model is not None:
        yield request.grading_model, None, {}


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    *,
    budget: Budget | None = None,
    cluster: ClusterOptions | None = None,
    observers: Observers | None = None,
    unreachable_s: float = UNREACHABLE_S,
) -> RunResult:
    """Run models under conditions; a second run on the same folder asks only what is still open.

    Args:
        cells: Models under conditions; no two may be the same.
        folder: Folder of the logs.
        budget: Cap on the cost; None is no cap.
        cluster: Cluster to run on; None is this process.
        observers: Callbacks while it runs.
        unreachable_s: Seconds of nothing but failed connections, from a model's first request on,
            after which it is given up; on a cluster always the usual.

    Raises:
        ModelError: A model can't be used, or can't do what the protocol needs.
        UsageError: The cluster can't be reached, or has no room; another process runs in the
            folder.
        OSError: The folder can't be written.
        KeyboardInterrupt: The run was stopped; what was judged is in the folder.
    """
    observers = observers or Observers()
    if cluster is not None and (budget is not None or any(cell.request.batch for cell in cells)):
        raise UsageError("--engine ray takes no --max-cost and no --batch: leave one of them out")
    # Before there is a folder: a model that can't be opened leaves none.
    watch = Watch(observers.fault, unreachable_s)
    clients = open_clients(cells, watch) if cluster is None else []
    check_same_numbers([one.model for one in clients], folder)
    with hold_folder(folder):
        done = read_done(cells, folder)
        if cluster is None:
            results = _run_here(cells, clients, done, folder, budget, observers)
        else:
            results = _run_on_cluster(cells, done, folder, observers, cluster)
        failures = dict.fromkeys(one.failure for one in results if one.failure is not None)
        given_up = dict.fromkeys(one.given_up for one in results if one.given_up is not None)
        capped = budget is not None and budget.stopped
        if budget is not None and capped:
            failures = {budget.reason: None}
        now = read_done(cells, folder)
        if given_up and not now.judged:
            raise ModelError("\n".join(given_up))
        faults = sum((result.faults for result in results), watch.counts)
        errors = sum((result.errors for result in results), done.errors(cells))
        return RunResult(
            logs_of(cells, folder),
            tuple(failures),
            capped,
            faults,
            errors,
            now.judged,
            sum(cell.judgements for cell in cells),
        )


def _open_pieces(cells: Sequence[Cell], done: Done, size: Callable[[Cell], int]) -> list[Piece]:
    """Pieces of all cells that are still to ask, by the size of a cell's pieces."""
    return [
        piece
        for order, (cell, state) in enumerate(zip(cells, done.states, strict=True))
        for piece in open_pieces(cell, order, state, size(cell))
    ]


def _run_here(
    cells: Sequence[Cell],
    clients: Sequence[Clients],
    done: Done,
    folder: Path,
    budget: Budget | None,
    observers: Observers,
) -> list[PieceResult]:
    """Run the open cases in this process."""
    size = LARGEST_FAR if is_elsewhere(folder) else LARGEST
    runs = [
        PieceRun(piece, clients[piece.order], address_of(folder), observers.judgement, budget)
        for piece in _open_pieces(cells, done, lambda _: size)
    ]
    ask_all(runs, observers.stop)
    return [run.result for run in runs if run.log is not None]


def _run_on_cluster(
    cells: Sequence[Cell],
    done: Done,
    folder: Path,
    observers: Observers,
    options: ClusterOptions,
) -> list[PieceResult]:
    """Run the open cases on a cluster."""
    left = sum(state.total - state.judged for state in done.states)
    results = []
    from casewise.runs.ray import connected

    with connected(options) as cluster:
        pieces = _open_pieces(cells, done, lambda cell: cluster.piece_size(cell, left))
        log_dir = folder if is_elsewhere(folder) else folder.resolve()
        # Closed while there is a cluster: what runs there is stopped.
        with closing(cluster.run(pieces, log_dir)) as ended:
            for result in ended:
                results.append(result)
                for status in result.statuses:
                    observers.judgement(status)
    return results
