"""Run models under conditions: in this process, or on a cluster, on the same folder of logs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.errors import ModelError, UsageError
from casewise.evaluation.executor._cluster import ClusterOptions, ShardResult
from casewise.evaluation.executor._log_folder import (
    CellState,
    Stage,
    StartSummary,
    check_same_numbers,
    hold_log_folder,
    logs_of,
    read_done,
    read_held,
)
from casewise.evaluation.executor._shards import (
    LARGEST,
    Clients,
    Observer,
    Observers,
    Piece,
    RunContext,
    ShardOutcome,
    ShardRun,
    cell_of_shard,
    cut,
    make_work,
    new_run,
    open_clients,
    sample_ids,
    with_cases,
    without_cases,
)
from casewise.evaluation.executor._workers import ask_all
from casewise.evaluation.models import check_all
from casewise.evaluation.models._batches import batches_followed
from casewise.evaluation.models._faults import printable
from casewise.evaluation.models._reachability import UNREACHABLE_S
from casewise.evaluation.plan._costs import Budget
from casewise.evaluation.plan._plan import Cell
from casewise.evaluation.tasks._samples import task_metadata
from casewise.files import address_of, is_elsewhere
from casewise.logs import SHARDS, LogFolder


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run."""

    logs: tuple[Path, ...]
    """The logs of its models and conditions, those of earlier starts included."""
    complete: bool
    """True if every model and condition ended well (single cases may still be in error)."""
    failures: tuple[str, ...]
    """Failures, each with its model and reason; the cap, where the run stopped there."""
    capped: bool = False
    """True if it stopped because the money was spent."""
    summary: StartSummary = field(default_factory=StartSummary)
    """Faults and errors on the way, and the answers that earlier starts left."""


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
    log_dir: Path | LogFolder,
    *,
    budget: Budget | None = None,
    cluster: ClusterOptions | None = None,
    observers: Observers | None = None,
    unreachable_s: float = UNREACHABLE_S,
) -> RunResult:
    """Run models under conditions; a second run on the same folder asks only what is still open.

    Args:
        cells: Models under conditions; no two may be the same.
        log_dir: Folder of the logs; of a ``LogFolder`` only changed logs are read again.
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
    batched = any(cell.request.batch for cell in cells)
    if cluster is not None:
        if batched:
            raise UsageError(
                "--batch: the provider does the work, and a cluster has none to share: leave out "
                "--engine ray, or --batch"
            )
        # Only here: nothing else needs Ray.
        from casewise.evaluation.executor._ray import run_on_ray

        return run_on_ray(cells, log_dir, cluster, observers, budget)
    folder = LogFolder.at(log_dir)
    clients = open_clients(cells)
    check_same_numbers([client.model for client in clients], folder)
    with hold_log_folder(folder.path, observers, unreachable_s) as held:
        # The journal would hold the texts that are withheld.
        withheld = any(cell.request.withhold for cell in cells)
        journal = None if withheld else held.journal
        context = RunContext(held.observe, budget, journal)
        before = read_done(cells, folder)
        held.begin(cells, before, journaled=journal is not None)
        states = before.states
        shards = [
            shard
            for number, (cell, state) in enumerate(zip(cells, states, strict=True))
            for shard in _open_shards(cell, number, state, clients[number], folder.path, context)
        ]
        with batches_followed(observers.outage) if batched else nullcontext():
            ask_all(shards, observers.stop)
        outcomes = [shard.outcome for shard in shards if shard.outcome is not None]
        failures = _failures(outcomes, budget)
        given_up = [outcome.given_up for outcome in outcomes if outcome.given_up is not None]
        done = any(state.state is Stage.DONE for state in states)
        if given_up and not done and not any(outcome.judged for outcome in outcomes):
            raise ModelError("\n".join(dict.fromkeys(given_up)))
        for outcome in outcomes:
            folder.add(outcome.log)
        logs = logs_of(cells, folder)
        errors = sum((outcome.errors for outcome in outcomes), before.errors(cells))
        capped = budget is not None and budget.stopped
        summary = held.end(errors, not failures, capped=capped)
    return RunResult(logs, not failures, failures, capped, summary)


def _open_shards(
    cell: Cell, number: int, state: CellState, clients: Clients, log_dir: Path, context: RunContext
) -> Iterator[ShardRun]:
    """Open cases of a cell: in one log where it is small and none is judged, else in shards."""
    if state.state is Stage.DONE:
        return
    folder = address_of(log_dir)
    if not state.finished and not state.in_shards and cell.judgements <= LARGEST:
        work = make_work(cell, number, clients, task_id=state.run)
        yield ShardRun(work, folder, context)
        return
    for shard in cut(cell, number, state.run or new_run(), state.finished, LARGEST):
        work = make_work(cell_of_shard(cell, shard), number, clients, shard.part)
        yield ShardRun(work, folder, context)


def _failures(outcomes: Sequence[ShardOutcome], budget: Budget | None) -> tuple[str, ...]:
    if budget is not None and budget.stopped:
        return (budget.reason,)
    given_up = {outcome.given_up: None for outcome in outcomes if outcome.given_up is not None}
    failed = [
        outcome.log
        for outcome in outcomes
        if outcome.log.status != "success" and not outcome.given_up
    ]
    reasons = (
        f"{log.eval.model}: {printable(log.error.message) if log.error else log.status}"
        for log in failed
    )
    return tuple(given_up | dict.fromkeys(reasons))


@dataclass(frozen=True, slots=True)
class Base:
    """Data that all shards of a cell share: the cell without its cases, and its logs' metadata."""

    cell: Cell
    identity: str
    metadata: dict[str, Any]
    folder: str
    """Folder of the logs of the whole run."""


def base_of(cell: Cell, folder: Path) -> Base:
    """Make the data that all shards of a cell share."""
    condition = cell.planned.condition
    said = task_metadata(condition, cell.sampling, cell.draw)
    return Base(without_cases(cell), cell.identity, said, address_of(folder))


def run_shard(base: Base, piece: Piece, connections: int | None, observer: Observer) -> ShardResult:
    """Ask the open cases of a shard, and write them to a log of their own.

    Cases that an earlier attempt judged are not asked again.

    Raises:
        ModelError: The model's client can't be made.
    """
    folder = f"{base.folder}/{SHARDS}/{piece.shard.key(base.identity)}"
    before = [read_held(header, base.cell) for header in LogFolder(Path(folder)).headers()]
    part = piece.shard.part
    ids = sample_ids(with_cases(base.cell, piece, part.places).planned.condition)
    judged = set(ids) & {case for log in before for case, _ in log.attempts.judged}
    places = [
        place for place, sample_id in zip(part.places, ids, strict=True) if sample_id not in judged
    ]
    if not places:
        return ShardResult("done", "", len(judged), {}, kept=len(judged))
    if not is_elsewhere(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    cell = with_cases(base.cell, piece, places)
    cell = replace(cell, request=replace(cell.request, max_connections=connections))
    (clients,) = open_clients([cell])
    work = make_work(
        cell,
        piece.shard.cell,
        clients,
        replace(part, places=tuple(places)),
        said=base.metadata,
    )
    run = ShardRun(work, folder, RunContext(observer))
    with suppress(KeyboardInterrupt):
        ask_all([run])
    outcome = run.outcome
    if outcome is None:
        return ShardResult("stopped", "", len(judged), {}, kept=len(judged))
    log = outcome.log
    return ShardResult(
        status={"success": "done", "error": "error"}.get(log.status, "stopped"),  # type: ignore[arg-type]
        reason=printable(log.error.message) if log.error is not None else "",
        judged=len(judged) + outcome.judged,
        tokens=outcome.tokens,
        errors=outcome.errors,
        given_up=outcome.given_up,
        kept=len(judged),
    )
