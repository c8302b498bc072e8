"""Run models under conditions: in this process, or on a cluster, on the same folder of logs."""

from collections.abc import Sequence
from pathlib import Path

from casewise.cases import is_elsewhere
from casewise.evaluation._budget import Budget
from casewise.evaluation._cells import Cell, Plan
from casewise.evaluation._done import CellState, State, logs_of, read_done
from casewise.evaluation._faults import FaultObserver
from casewise.evaluation._kept import keeping
from casewise.evaluation._progress import Observer
from casewise.evaluation._reach import UNREACHABLE_S
from casewise.evaluation._run import RunResult, make_tasks, run_here
from casewise.evaluation._shard_run import ShardResult, base_of, run_shard
from casewise.evaluation._shards import LARGEST, SHARDS, cut, piece_of
from casewise.evaluation.cluster import Cluster


def run(
    plan: Plan,
    log_dir: Path,
    observer: Observer | None = None,
    budget: Budget | None = None,
    cluster: Cluster | None = None,
    tell: FaultObserver | None = None,
) -> RunResult:
    """Run a plan; a second run on the same folder asks only what is still open.

    Raises:
        ModelError: A model can't be used, or can't do what the protocol needs.
        UsageError: The cluster can't be reached, or has no room; another process runs in the
            folder.
        OSError: The folder can't be written.
        KeyboardInterrupt: The run was stopped; what was judged is in the folder.
    """
    return run_cells(plan.cells, log_dir, observer, budget, cluster, tell)


def run_cells(
    cells: Sequence[Cell],
    log_dir: Path,
    observer: Observer | None = None,
    budget: Budget | None = None,
    cluster: Cluster | None = None,
    tell: FaultObserver | None = None,
    unreachable_s: float = UNREACHABLE_S,
) -> RunResult:
    """Run models under conditions, as ``run`` does; no two of the cells may be the same.

    Args:
        cells: What to run.
        log_dir: Where the logs are.
        observer: Told of every judgement.
        budget: What it may cost.
        cluster: Where it runs; None is this process.
        tell: Told when a model meets a kind of fault for the first time.
        unreachable_s: Seconds of nothing but failed connections, from a model's first request on,
            after which it is given up; on a cluster always the usual.
    """
    if cluster is not None:
        # Only here: nothing else needs Ray.
        from casewise.evaluation.cluster._ray import run_on_ray

        return run_on_ray(cells, log_dir, cluster, observer, budget, tell)
    done = _done_in_shards(cells, log_dir)
    parts = [number for number, state in enumerate(done) if state is not None]
    whole = [number for number, state in enumerate(done) if state is None]
    chosen = [cells[number] for number in whole]
    tasks = make_tasks(chosen, whole, log_dir)
    with keeping(log_dir, tell, unreachable_s) as keeper:
        results = []
        if whole:
            results.append(run_here(chosen, log_dir, observer, budget, tasks=tasks))
        for number in parts:
            state = done[number]
            if state is not None and not any(one.capped for one in results):
                results.append(_go_on(cells[number], number, state, log_dir, observer, budget))
        logs = tuple(path for one in results for path in one.logs)
        complete = all(one.complete for one in results)
        return RunResult(
            logs,
            complete,
            tuple(reason for one in results for reason in one.failures),
            any(one.capped for one in results),
            keeper.end(logs, complete),
        )


def _done_in_shards(cells: Sequence[Cell], log_dir: Path) -> list[CellState | None]:
    """What a cluster has done of the cells; None of one of which it has nothing."""
    if not is_elsewhere(log_dir) and not (log_dir / SHARDS).is_dir():
        return [None] * len(cells)
    states = read_done(cells, log_dir).states
    return [state if state.in_shards else None for state in states]


def _go_on(
    cell: Cell,
    number: int,
    state: CellState,
    log_dir: Path,
    observer: Observer | None,
    budget: Budget | None,
) -> RunResult:
    """Ask here what a cluster left open, in shards of its run."""
    failures: list[str] = []
    capped = False
    if state.state is not State.DONE:
        base = base_of(cell, log_dir)
        assert state.run is not None
        for shard in cut(cell, number, state.run, state.settled, LARGEST):
            piece = piece_of(shard, cell.planned.condition)
            found = run_shard(base, piece, cell.request.max_connections, observer, budget)
            capped = budget is not None and budget.stopped
            if found.status == "stopped" and not capped:
                raise KeyboardInterrupt
            failures += [budget.reason] if capped and budget else _failures(cell, found)
            if failures:
                break
    return RunResult(logs_of([cell], log_dir), not failures, tuple(failures), capped)


def _failures(cell: Cell, found: ShardResult) -> list[str]:
    if found.given_up:
        return list(found.given_up)
    return [f"{cell.model}: {found.reason}"] if found.status == "error" else []
