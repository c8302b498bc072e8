"""Shards on a Ray cluster: the only file that imports Ray."""

import os
import socket
import threading
import time
from _thread import interrupt_main
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from casewise.errors import CasewiseError, ModelError, UsageError, first_line, install_hint
from casewise.evaluation.executor import Base, RunResult, base_of, run_shard
from casewise.evaluation.executor._cluster import (
    IN_FLIGHT,
    REACH_S,
    ClusterOptions,
    Counts,
    LostError,
    ShardQueue,
    ShardResult,
    connected,
)
from casewise.evaluation.executor._ending import LostHeadError
from casewise.evaluation.executor._log_folder import (
    CellState,
    Stage,
    hold_log_folder,
    logs_of,
    read_done,
)
from casewise.evaluation.executor._shards import Observers, Piece, Shard, cut, new_run, shard_size
from casewise.evaluation.models import loads_weights
from casewise.evaluation.models._faults import counted
from casewise.evaluation.models._provider_calls import Traffic, traffic_counted
from casewise.evaluation.plan._costs import Budget
from casewise.evaluation.plan._plan import Cell
from casewise.files import is_elsewhere
from casewise.logs import LogFolder

NO_RETRIES = 0
"""Times that Ray itself restarts what was lost: the queue does, and tells it."""

HEAD_S = 20.0
"""Seconds without an answer after which the cluster's head is gone; Ray waits for a minute, and
then ends the process."""

TELL_S = 1.0
"""Seconds between a shard's reports of progress, at which it hears whether to stop."""

NODES_S = 2.0
"""Seconds for which the list of nodes is kept."""


def run_on_ray(
    cells: Sequence[Cell],
    log_dir: Path | LogFolder,
    cluster: ClusterOptions,
    observers: Observers,
    budget: Budget | None = None,
) -> RunResult:
    """Run models under conditions on a cluster; see ``run_cells``.

    Raises:
        ModelError: A model can't be used, and nothing is judged.
        UsageError: Ray is not installed, the cluster can't be reached, or has no room; another
            process runs in the folder.
        KeyboardInterrupt: The run was stopped; what was judged is in the folder.
    """
    ray = _import(alone=cluster.address is None)
    logs = LogFolder.at(log_dir)
    folder = logs.path if is_elsewhere(logs.path) else logs.path.resolve()
    before = read_done(cells, logs)
    states = before.states
    if all(state.state is Stage.DONE for state in states):
        return RunResult(logs_of(cells, logs), True, ())
    with connected(ray, cluster), hold_log_folder(logs.path, observers) as held:
        held.begin(cells, before, journaled=False)
        pool = _RayPool(ray, cells, cluster, folder)
        shards = list(_cut(cells, states, cluster, pool))
        queue = ShardQueue(cells, shards, pool, held.observe, budget, observers.outage)
        try:
            queue.run()
        finally:
            held.lost = queue.lost
            pool.close()
        judged = queue.judged + sum(state.judged for state in states)
        if queue.given_up and not judged:
            raise ModelError("\n".join(queue.given_up))
        capped = budget is not None and budget.stopped
        reasons = [budget.reason] if capped and budget is not None else []
        failures = (*reasons, *queue.given_up, *queue.failures)
        paths = logs_of(cells, logs)
        summary = held.end(queue.errors + before.errors(cells), not failures, capped=capped)
    return RunResult(paths, not failures, failures, capped, summary)


def _import(*, alone: bool) -> Any:
    """Import Ray, without its reports of usage.

    Args:
        alone: True for a cluster of this run's own. Whoever reaches its ports and knows its token
            can run programs: it listens on the loopback, and its token is random.

    Raises:
        UsageError: It is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if alone:
        # As on Windows and macOS, where Ray forms no clusters and takes the loopback.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))
    try:
        import ray
    except ImportError:
        raise UsageError(f"--engine ray needs Ray: {install_hint('cluster')}") from None
    return ray


def _cut(
    cells: Sequence[Cell], states: Sequence[CellState], cluster: ClusterOptions, pool: "_RayPool"
) -> Iterator[Shard]:
    """Shards of the open cases of all cells."""
    left = sum(state.total - state.judged for state in states if state.state is not Stage.DONE)
    for number, (cell, state) in enumerate(zip(cells, states, strict=True)):
        if state.state is not Stage.DONE:
            size = cluster.shard_size or shard_size(left, pool.room(number))
            yield from cut(cell, number, state.run or new_run(), state.finished, size)


def _loads_weights(cell: Cell) -> bool:
    return loads_weights(cell.model, cell.request.model_base_url)


class _RayPool:
    """A ``Pool`` of Ray's tasks, or of actors for a model that the asking process loads."""

    def __init__(
        self, ray: Any, cells: Sequence[Cell], cluster: ClusterOptions, folder: Path
    ) -> None:
        self._ray = ray
        self._cells = cells
        self._cluster = cluster
        self._folder = folder
        self._bases: dict[int, Any] = {}
        self._idle: dict[str, list[Any]] = {}
        self._actors: dict[Any, tuple[str, Any]] = {}
        self._nodes: list[dict[str, float]] = []
        self._looked = 0.0
        self._head = _head_of(ray, cluster)
        self._asked = self._answered = time.monotonic()
        self._answers = True
        self._is_lost = False
        self._needs = [self._need(cell) for cell in cells]
        self._board = ray.remote(num_cpus=0, max_restarts=-1)(_Board).options(
            scheduling_strategy=_here(ray)
        )
        self._board = self._board.remote()

    def _need(self, cell: Cell) -> dict[str, float]:
        """Resources of a node that a shard of a cell takes."""
        gpus, cpus = self._cluster.shard_gpus, self._cluster.shard_cpus
        if cpus is None:
            most = [node.get("CPU", 0.0) for node in self._alive()]
            # A model on the processor uses all of it: several on a node would wait for each other.
            whole = _loads_weights(cell) and not gpus
            cpus = min((cpus for cpus in most if cpus >= 1), default=1.0) if whole else 1.0
        return {"num_cpus": cpus, "num_gpus": gpus}

    def _alive(self) -> list[dict[str, float]]:
        if time.monotonic() - self._looked > NODES_S and self._head_answers():
            self._nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            self._looked = time.monotonic()
        return self._nodes

    def _head_answers(self) -> bool:
        """Tell whether the cluster's head answers; every question to Ray waits for it.

        Raises:
            LostHeadError: It has not answered for ``HEAD_S``.
        """
        if self._head is None or time.monotonic() - self._asked < NODES_S:
            return self._answers
        self._asked = time.monotonic()
        try:
            socket.create_connection(self._head, timeout=REACH_S).close()
        except OSError as error:
            self._answers = False
            if self._asked - self._answered > HEAD_S:
                self._is_lost = True
                host, port = self._head
                raise LostHeadError(f"{host}:{port}: {error.strerror or error}") from None
        else:
            self._answers, self._answered = True, self._asked
        return self._answers

    def slots(self, cell: int) -> int:
        need = self._needs[cell]
        wanted = (("CPU", need["num_cpus"]), ("GPU", need["num_gpus"]))
        return sum(
            min(int(node.get(name, 0.0) / amount) for name, amount in wanted if amount)
            for node in self._alive()
        )

    def room(self, cell: int) -> int:
        """Slots of a cell at the start of a run, of which there must be one.

        Raises:
            UsageError: No node has what a shard needs.
        """
        slots = self.slots(cell)
        if not slots:
            need = self._needs[cell]
            raise UsageError(
                f"no node of the cluster has the {need['num_cpus']:g} CPUs and "
                f"{need['num_gpus']:g} GPUs that a shard asks for (--shard-cpus, --shard-gpus)"
            )
        return slots

    def submit(self, number: int, piece: Piece, connections: int | None) -> Any:
        cell = piece.shard.cell
        if cell not in self._bases:
            self._bases[cell] = self._ray.put(base_of(self._cells[cell], self._folder))
        # In a list, or Ray would unpack it again for every shard.
        given = ([self._bases[cell]], piece, connections, number, self._board)
        if not _loads_weights(self._cells[cell]):
            task = self._ray.remote(**self._needs[cell], max_retries=NO_RETRIES)(_work)
            return task.remote(*given)
        model = self._cells[cell].model
        idle = self._idle.setdefault(model, [])
        actor = idle.pop() if idle else self._new_actor(cell)
        work = actor.work.remote(*given)
        self._actors[work] = (model, actor)
        return work

    def _new_actor(self, cell: int) -> Any:
        options = self._needs[cell] | {"max_restarts": NO_RETRIES, "max_task_retries": NO_RETRIES}
        return self._ray.remote(**options)(_Worker).remote()

    def wait(self, running: Sequence[Any], seconds: float) -> Sequence[Any]:
        ended, _ = self._ray.wait(list(running), num_returns=1, timeout=seconds)
        return list(ended)

    def result(self, work: Any) -> ShardResult:
        model, actor = self._actors.pop(work, ("", None))
        try:
            result: ShardResult = self._ray.get(work)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause if error.cause is not None else error
            return ShardResult("error", f"{type(cause).__name__}: {cause}", 0, {})
        except self._ray.exceptions.RayError as error:
            raise LostError(first_line(error)) from None
        if actor is not None:
            self._idle[model].append(actor)
        return result

    def keep(self, models: Set[str]) -> None:
        for model in self._idle.keys() - models:
            for actor in self._idle.pop(model):
                self._ray.kill(actor)

    def close(self) -> None:
        """End every actor: a loaded model may keep its process alive for ever."""
        if self._is_lost:
            return
        for actor in [actor for _, actor in self._actors.values()]:
            self._ray.kill(actor)
        self.keep(set())

    def counts(self) -> Counts:
        if not self._head_answers():
            return {}
        try:
            counts: Counts = self._ray.get(self._board.read.remote(), timeout=REACH_S)
        except self._ray.exceptions.RayError:
            return {}
        return counts

    def stop(self) -> None:
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(self._board.stop.remote(), timeout=REACH_S)


def _head_of(ray: Any, cluster: ClusterOptions) -> tuple[str, int] | None:
    """Host and port of a cluster's head; None where a client's server stands between."""
    if (cluster.address or "").startswith("ray://"):
        return None
    host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
    return host, int(port)


def _here(ray: Any) -> Any:
    """Scheduling on the node of this process: an actor there lives as long as the run."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)


class _Board:
    """Progress of running shards, kept by an actor that they report to."""

    def __init__(self) -> None:
        self._counts: dict[int, dict[str, int]] = {}
        self._stopped = False

    def tell(self, number: int, counts: dict[str, int]) -> bool:
        """Keep a shard's counts; tell whether it should stop."""
        self._counts[number] = counts
        return self._stopped

    def read(self) -> dict[int, dict[str, int]]:
        """Counts that shards have reported since the last reading."""
        told, self._counts = self._counts, {}
        return told

    def stop(self) -> None:
        """Have every shard stop at its next report."""
        self._stopped = True


class _Worker:
    """A process that keeps the model it has loaded."""

    def work(self, base: list[Any], piece: Piece, *given: Any) -> ShardResult:
        """Run a shard."""
        return _work(base, piece, *given)


_bases: dict[Any, Base] = {}


def _work(
    base: list[Any], piece: Piece, connections: int | None, number: int, board: Any
) -> ShardResult:
    """Run a shard in a process of the cluster."""
    import ray

    (reference,) = base
    if reference not in _bases:
        _bases[reference] = ray.get(reference)
    counts: Counter[str] = Counter()
    with traffic_counted() as traffic, _telling(ray, board, number, counts, traffic):
        try:
            with counted() as met:
                result = run_shard(
                    _bases[reference],
                    piece,
                    connections,
                    lambda status: counts.update([str(status)]),
                )
            return replace(result, faults=met, answers=traffic.answers, in_flight=traffic.in_flight)
        except CasewiseError as error:
            return ShardResult("error", str(error), 0, {}, str(error))


@contextmanager
def _telling(
    ray: Any, board: Any, number: int, counts: Counter[str], traffic: Traffic
) -> Iterator[None]:
    """Report a shard's counts to the board; on its word, interrupt the shard as Ctrl-C would."""
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(TELL_S):
            try:
                stopped = ray.get(
                    board.tell.remote(number, counts | {IN_FLIGHT: traffic.waiting}), timeout=TELL_S
                )
            except Exception:
                # Nobody reads: the shard is worth finishing all the same.
                continue
            if stopped and not ended.is_set():
                interrupt_main()
                return

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
