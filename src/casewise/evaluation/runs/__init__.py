"""Run models under conditions: in this process, or on a cluster, on the same folder of logs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.errors import CasewiseError, InputError, ModelError, UsageError
from casewise.evaluation.models.faults import Faults, by_model
from casewise.evaluation.models.open import check_all
from casewise.evaluation.models.patient import UNREACHABLE_S, Watch
from casewise.evaluation.plan._costs import Budget
from casewise.evaluation.plan._plan import Cell
from casewise.evaluation.runs.ending import NOT_ALL, Ending, reason_of
from casewise.evaluation.runs.folder import (
    check_same_numbers,
    hold_folder,
    logs_of,
    resume_command,
)
from casewise.evaluation.runs.loop import ask_all
from casewise.evaluation.runs.pieces import LARGEST, LARGEST_FAR, Piece, open_pieces
from casewise.evaluation.runs.progress import Done, read_done
from casewise.evaluation.runs.ray import ClusterOptions, connected
from casewise.evaluation.runs.spec import Clients, open_clients
from casewise.evaluation.runs.work import Observers, PieceResult, PieceRun, RunContext
from casewise.files import address_of, is_elsewhere
from casewise.logs import LogFolder


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run."""

    logs: tuple[Path, ...]
    """The logs of its models and conditions, those of earlier starts included."""
    failures: tuple[str, ...] = ()
    """Failures, each with its model and reason; the cap, where the run stopped there."""
    capped: bool = False
    """True if it stopped because the money was spent."""
    faults: Faults = field(default_factory=dict)
    """Faults of requests, by model and kind; most are followed by an answer."""
    errors: Faults = field(default_factory=dict)
    """Cases that ended in an error, by model and kind."""
    notes: tuple[str, ...] = ()
    """Notes for a person."""
    ending: Ending | None = None
    """End of a start that left something to judge; None where all is done."""

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
    if cluster is not None and batched:
        raise UsageError(
            "--batch: the provider does the work, and a cluster has none to share: leave out "
            "--engine ray, or --batch"
        )
    folder = LogFolder.at(log_dir)
    # Before there is a folder: a model that can't be opened leaves none.
    watch = Watch(observers.fault, observers.outage, unreachable_s)
    clients = open_clients(cells, watch) if cluster is None else []
    check_same_numbers([one.model for one in clients], folder)
    with hold_folder(folder.path) as notes:
        done = read_done(cells, folder)
        with _ending_reported(cells, folder, observers):
            if cluster is None:
                results = _run_here(cells, clients, done, folder, budget, observers)
            else:
                results = _run_on_cluster(cells, done, folder, budget, observers, cluster)
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
            by_model(faults),
            by_model(errors),
            notes,
            _ending(NOT_ALL, 1, cells, now, folder.path, capped=capped) if failures else None,
        )


def _ending(
    why: str, status: int, cells: Sequence[Cell], now: Done, log_dir: Path, *, capped: bool = False
) -> Ending:
    planned = sum(cell.judgements for cell in cells)
    kept = f"{now.judged:,} of {planned:,} judgements"
    return Ending(why, status, kept, resume_command(log_dir, capped=capped))


@contextmanager
def _ending_reported(
    cells: Sequence[Cell], folder: LogFolder, observers: Observers
) -> Iterator[None]:
    """Report the end of a start that an error stopped; a model's error speaks for itself."""
    try:
        yield
    except (UsageError, InputError, ModelError):
        raise
    except BaseException as error:
        if observers.ending is not None:
            why, status = reason_of(error, observers.signal())
            try:
                now = read_done(cells, folder)
            except (CasewiseError, OSError):
                now = Done((), ())
            observers.ending(_ending(why, status, cells, now, folder.path))
        raise


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
    folder: LogFolder,
    budget: Budget | None,
    observers: Observers,
) -> list[PieceResult]:
    """Run the open cases in this process."""
    context = RunContext(observers.judgement, budget)
    size = LARGEST_FAR if is_elsewhere(folder.path) else LARGEST
    runs = [
        PieceRun(piece, clients[piece.order], address_of(folder.path), context)
        for piece in _open_pieces(cells, done, lambda _: size)
    ]
    ask_all(runs, observers.stop)
    results = []
    for run in runs:
        if run.log is not None:
            folder.add(run.log)
            results.append(run.result)
    return results


def _run_on_cluster(
    cells: Sequence[Cell],
    done: Done,
    folder: LogFolder,
    budget: Budget | None,
    observers: Observers,
    options: ClusterOptions,
) -> list[PieceResult]:
    """Run the open cases on a cluster."""
    left = sum(state.total - state.judged for state in done.states)
    results = []
    with connected(options) as cluster:
        pieces = _open_pieces(cells, done, lambda cell: cluster.piece_size(cell, left))
        log_dir = folder.path if is_elsewhere(folder.path) else folder.path.resolve()
        cap = None if budget is None else budget.cap - budget.spent
        # Closed while there is a cluster: what runs there is stopped.
        with closing(cluster.run(pieces, log_dir, cap)) as ended:
            for result in ended:
                results.append(result)
                for status in result.statuses:
                    observers.judgement(status)
                if budget is not None:
                    budget.settle(result.tokens, len(result.statuses))
                    budget.stopped = budget.stopped or result.capped
    return results
