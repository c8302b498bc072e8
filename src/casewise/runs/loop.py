"""One start of a run: workers ask the open cases of each model, and each log takes what ended."""

import asyncio
import contextvars
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalError,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalStats,
)
from inspect_ai.model import Model, ModelUsage

from casewise.errors import ModelError, UsageError
from casewise.files import address_of, is_elsewhere
from casewise.logs import CANCELLED, LogStatus, LogWriter
from casewise.models.embedded import WINDOW, InProcess
from casewise.models.faults import (
    FaultCounts,
    FaultObserver,
    first_within,
    printable,
)
from casewise.models.keys import make_redactor
from casewise.models.open import check_all, in_own_loop
from casewise.models.patience import (
    BATCHED_AT_ONCE,
    CONNECTIONS,
    Watch,
)
from casewise.options import StartOptions
from casewise.protocols import Status
from casewise.runs.asking import ask_case, now
from casewise.runs.cost import Budget, SpentError, tokens_of
from casewise.runs.folder import (
    Progress,
    check_same_numbers,
    hold_folder,
    logs_of,
    read_progress,
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


@dataclass(frozen=True, slots=True)
class PieceResult:
    """Result of a piece."""

    failure: str | None = None
    """Reason why not all of it was judged; None where it was."""
    lost: bool = False
    """True if its model can't be used at all."""
    statuses: tuple[Status, ...] = ()
    """Status of each case that was asked on another node."""
    faults: FaultCounts = field(default_factory=Counter)
    """Faults of its requests on another node, by model and kind."""


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
        budget: Budget,
    ) -> None:
        self.piece = piece
        self.clients = clients
        self.config = make_config(piece, clients.model)
        self.status: LogStatus | None = None
        """End of the log; None until it is ended."""
        self._folder = folder
        self._observe, self._budget = observe, budget
        self._writer: LogWriter | None = None
        self._left = piece.size
        self._judged = self._failed = 0
        self._error: EvalError | None = None
        self._stats = EvalStats()

    async def ask(self, sample: Sample, epoch: int) -> None:
        """Ask one case, and count what it took.

        Raises:
            SpentError: All that the run may cost is spent.
            OSError: The log can't be written.
        """
        if self._error is None:
            writer = self._open()
            await self._budget.admit()
            eval_sample = await ask_case(
                sample, epoch, self.piece, self.clients, self.config, writer
            )
            tokens = {} if eval_sample is None else tokens_of(eval_sample.model_usage)
            self._budget.end(tokens, judged=eval_sample is not None and eval_sample.error is None)
            if eval_sample is not None:
                self._count(eval_sample)
        self._left -= 1
        if not self._left:
            self.end("success" if self._error is None and self._lost is None else "error")

    def end(self, status: LogStatus) -> None:
        """End the log; a second call does nothing.

        Raises:
            OSError: It can't be written.
        """
        if self.status is None:
            writer = self._open()
            self._stats.completed_at = now()
            results = EvalResults(total_samples=self.piece.size, completed_samples=self._judged)
            writer.finish(status, results, self._stats, self._error)
            self.status = status

    def end_if_begun(self) -> None:
        """End a log that was begun, and left before its last case was asked."""
        if self._writer is not None:
            self.end("cancelled" if self._error is None else "error")

    def _open(self) -> LogWriter:
        """Writer of the log, which is begun when its first case is asked."""
        if self._writer is None:
            self._stats.started_at = now()
            spec = make_spec(self.piece, self.clients.model)
            self._writer = LogWriter(
                f"{self._folder}/{file_name(spec)}",
                spec,
                EvalPlan(config=self.config),
                make_redactor(),
            )
        return self._writer

    @property
    def _lost(self) -> str | None:
        """Reason why its model can't be used any more; None if it can."""
        return next(filter(None, (client.server.lost for client in self.clients.all)), None)

    @property
    def result(self) -> PieceResult:
        """Its result so far."""
        if self._lost is not None or self.status in (None, "success"):
            return PieceResult(self._lost, self._lost is not None)
        why = printable(self._error.message) if self._error else self.status
        return PieceResult(f"{self.piece.cell.model}: {why}")

    def _count(self, sample: EvalSample) -> None:
        """Count the outcome and the tokens of a case, for the header."""
        _add(self._stats.model_usage, sample.model_usage)
        _add(self._stats.role_usage, sample.role_usage)
        if sample.error is None:
            self._judged += 1
            (score,) = (sample.scores or {}).values()
            self._observe(Status((score.metadata or {})["status"]))
        elif sample.error.message != CANCELLED:
            self._failed += 1
            self._observe(Status.ERROR)
            if self._failed >= FAIL_ON_ERROR * self.piece.size and self._error is None:
                self._error = sample.error


def _add(sums: dict[str, ModelUsage], usage: Mapping[str, ModelUsage]) -> None:
    for model, used in usage.items():
        sums[model] = sums[model] + used if model in sums else used


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
    clients = {id(client): client for run in runs for client in run.clients.all}
    cause: BaseException | None = None
    try:
        async with _closing(clients.values()), asyncio.TaskGroup() as group:
            for own in lines.values():
                group.create_task(_ask_model(own))
    except BaseException as error:
        cause = first_within(error)
    for run in runs:
        try:
            run.end_if_begun()
        except OSError as error:
            # Only the first error is raised.
            cause = cause or error
    # Where the cap is reached, the budget says that the run was stopped.
    if cause is not None and not isinstance(cause, SpentError):
        raise cause from None


@asynccontextmanager
async def _closing(clients: Iterable[Model]) -> AsyncIterator[None]:
    """Close clients after the block; one that can't be closed hides no other error."""
    try:
        yield
    finally:
        for client in clients:
            with suppress(Exception):
                await client.api.aclose()


async def _ask_model(runs: Sequence[PieceRun]) -> None:
    """Ask a model all its cases, log by log."""
    jobs = ((run, *job) for run in runs for job in run.piece.samples())
    connections = max((run.piece.cell.request.max_connections or 0 for run in runs), default=0)
    is_batch = any(run.config.batch for run in runs)
    is_here = isinstance(runs[0].clients.model.api, InProcess)
    workers = AHEAD * (connections or CONNECTIONS)
    if is_batch or is_here:
        workers = connections or (BATCHED_AT_ONCE if is_batch else WINDOW)

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
class RunResult:
    """Result of a run."""

    logs: tuple[Path, ...]
    """The logs of its models and conditions, those of earlier starts included."""
    failures: tuple[str, ...]
    """Failures, each with its model and reason; the cap, where the run stopped there."""
    capped: bool
    """True if it stopped because the money was spent."""
    faults: FaultCounts
    """Faults of requests, by model and kind; most are followed by an answer."""
    errors: FaultCounts
    """Cases that ended in an error, by model and kind."""
    judged: int
    """Judgements that the folder holds of the plan."""
    planned: int
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
    if request.grading_model is not None:
        yield request.grading_model, None, {}


def run_cells(
    cells: Sequence[Cell],
    folder: Path,
    *,
    budget: Budget | None = None,
    cluster: StartOptions | None = None,
    observers: Observers | None = None,
) -> RunResult:
    """Run models under conditions; a second run on the same folder asks only what is still open.

    Args:
        cells: Models under conditions; no two may be the same.
        folder: Folder of the logs.
        budget: Cap on the cost; None is no cap.
        cluster: Options of the cluster to run on; None is this process.
        observers: Callbacks while it runs.

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
    budget = budget or Budget()
    # Before there is a folder: a model that can't be opened leaves none.
    watch = Watch(observers.fault)
    clients = open_clients(cells, watch) if cluster is None else []
    check_same_numbers([client.model for client in clients], folder)
    with hold_folder(folder):
        progress = read_progress(cells, folder)
        if cluster is None:
            results = _run_here(cells, clients, progress, folder, budget, observers)
        else:
            from casewise.runs.ray import run_on_cluster

            results = run_on_cluster(cells, progress, folder, observers.judgement, cluster)
        end = read_progress(cells, folder)
        if not end.judged and (
            lost := dict.fromkeys(result.failure for result in results if result.lost)
        ):
            raise ModelError("\n".join(map(str, lost)))
        failures = dict.fromkeys(result.failure for result in results if result.failure is not None)
        return RunResult(
            logs_of(cells, folder),
            (budget.reason,) if budget.stopped else tuple(failures),
            budget.stopped,
            sum((result.faults for result in results), watch.counts),
            end.errors(cells),
            end.judged,
            sum(cell.judgements for cell in cells),
        )


def all_open_pieces(
    cells: Sequence[Cell], progress: Progress, size: Callable[[Cell], int]
) -> list[Piece]:
    """Pieces of all cells that are still to ask, by the size of a cell's pieces."""
    return [
        piece
        for order, (cell, state) in enumerate(zip(cells, progress.states, strict=True))
        for piece in open_pieces(cell, order, state, size(cell))
    ]


def _run_here(
    cells: Sequence[Cell],
    clients: Sequence[Clients],
    progress: Progress,
    folder: Path,
    budget: Budget,
    observers: Observers,
) -> list[PieceResult]:
    """Run the open cases in this process."""
    size = LARGEST_FAR if is_elsewhere(folder) else LARGEST
    runs = [
        PieceRun(piece, clients[piece.order], address_of(folder), observers.judgement, budget)
        for piece in all_open_pieces(cells, progress, lambda _: size)
    ]
    ask_all(runs, observers.stop)
    return [run.result for run in runs if run.status is not None]
