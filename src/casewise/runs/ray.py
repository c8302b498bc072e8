"""Run on a Ray cluster: each piece is a task, which runs the plain loop into a folder of its own.

The only file that imports Ray. A piece whose node is lost stays open: the same command asks again
what no log holds of it.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from casewise.errors import CasewiseError, UsageError, first_line, install_hint
from casewise.files import address_of, is_elsewhere
from casewise.logs import SHARDS
from casewise.models.open import loads_weights
from casewise.models.patience import Watch
from casewise.protocols import Status
from casewise.runs.loop import ClusterOptions, PieceResult, PieceRun, ask_all
from casewise.runs.plan import Cell
from casewise.runs.samples import LARGEST, Piece, open_clients

REACH_S = 5.0
"""Seconds that a cluster's head may take to answer."""


class Cluster:
    """A connected cluster.

    Args:
        ray: The library.
        options: Options of the cluster.
    """

    def __init__(self, ray: Any, options: ClusterOptions) -> None:
        self._ray, self._options = ray, options
        self._nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]

    def needs(self, cell: Cell) -> dict[str, float]:
        """Processors of a node that a piece of a cell takes."""
        gpus, cpus = self._options.shard_gpus, self._options.shard_cpus
        if cpus is None and _loads_weights(cell):
            # A model on the processor uses all of it: several on a node would wait for each other.
            whole = [node.get("CPU", 0.0) for node in self._nodes if node.get("CPU", 0.0) >= 1]
            cpus = 1.0 if gpus else min(whole, default=1.0)
        return {"num_cpus": 1.0 if cpus is None else cpus, "num_gpus": gpus}

    def slots(self, cell: Cell) -> int:
        """Pieces of a cell that there is room for.

        Raises:
            UsageError: There is room for none.
        """
        needs = self.needs(cell)
        wanted = [("CPU", needs["num_cpus"]), ("GPU", needs["num_gpus"])]
        slots = sum(
            min(int(node.get(name, 0.0) / amount) for name, amount in wanted if amount)
            for node in self._nodes
        )
        if not slots:
            raise UsageError(
                f"no node of the cluster has the {needs['num_cpus']:g} CPUs and "
                f"{needs['num_gpus']:g} GPUs that a shard asks for (--shard-cpus, --shard-gpus)"
            )
        return slots

    def piece_size(self, cell: Cell, left: int) -> int:
        """Most judgements of a piece of a cell, where so many are left of the run.

        A small piece takes longer to start than to ask, and a large one is dear to lose; several
        for each that runs at once end at about the same time. A model that the piece has to load
        is loaded once in each place.
        """
        share = -(-left // self.slots(cell))
        usual = share if _loads_weights(cell) else min(LARGEST, max(50, -(-share // 4)))
        return self._options.shard_size or usual

    def run(self, pieces: Sequence[Piece], log_dir: Path) -> Generator[PieceResult]:
        """Run pieces, and yield the result of each as it ends.

        Args:
            pieces: Cases to ask.
            log_dir: Folder of the run.

        Raises:
            KeyboardInterrupt: It was stopped, and the pieces had time to write what they have.
        """
        waiting = list(pieces)
        running: dict[Any, Piece] = {}
        try:
            while waiting or running:
                for piece in list(waiting):
                    slots = self.slots(piece.cell)
                    most = piece.cell.request.max_connections or slots
                    model = piece.cell.model
                    busy = sum(other.cell.model == model for other in running.values())
                    if busy < min(slots, most):
                        waiting.remove(piece)
                        task = self._ray.remote(max_retries=0, **self.needs(piece.cell))(_run_piece)
                        connections = max(1, most // slots)
                        running[task.remote(piece, address_of(log_dir), connections)] = piece
                for task in self._ray.wait(list(running), num_returns=1)[0]:
                    yield self._result(task, running.pop(task))
        except (KeyboardInterrupt, GeneratorExit):
            for task in running:
                self._ray.cancel(task)
            if running:
                self._ray.wait(list(running), num_returns=len(running), timeout=STOP_S)
            raise

    def _result(self, task: Any, piece: Piece) -> PieceResult:
        try:
            result: PieceResult = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            failure = f"{piece.cell.model}: a node or a process is lost ({first_line(error)})"
            return PieceResult(failure=failure)
        return result


def _loads_weights(cell: Cell) -> bool:
    return loads_weights(cell.model, cell.request.model_base_url)


STOP_S = 20.0
"""Seconds that pieces may take to write what they have, when a person stops the run."""


def _run_piece(piece: Piece, log_dir: str, connections: int) -> PieceResult:
    """Run a piece in a process of the cluster."""
    request = piece.cell.request
    if request.max_connections is not None:
        request = replace(request, max_connections=connections)
    piece = replace(piece, cell=replace(piece.cell, request=request))
    folder = f"{log_dir}/{SHARDS}/{piece.key}"
    statuses: list[Status] = []
    watch = Watch()
    try:
        if not is_elsewhere(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
        (clients,) = open_clients([piece.cell], watch)
        run = PieceRun(piece, clients, folder, statuses.append)
        ask_all([run])
    except CasewiseError as error:
        return PieceResult(failure=str(error), faults=watch.counts)
    except OSError as error:
        return PieceResult(failure=f"{piece.cell.model}: {error}", faults=watch.counts)
    return replace(run.result, statuses=tuple(statuses), faults=watch.counts)


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Cluster]:
    """Connect to a cluster while the block runs; without an address, to one started here.

    Raises:
        UsageError: Ray is not installed, or the cluster can't be reached or started.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = options.address
    if address is None:
        # Whoever reaches a cluster's ports and knows its token can run programs: it listens on
        # the loopback, as on Windows and macOS, and its token is random.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))
    try:
        import ray
    except ImportError:
        raise UsageError(f"--engine ray needs Ray: {install_hint('cluster')}") from None
    given: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    # Ray's own logs; its last processes may still write to them.
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if address is not None:
            _check_reachable(ray, address)
            given |= {"address": address}
        else:
            given |= {"address": "local", "num_cpus": os.cpu_count(), "include_dashboard": False}
            # The folder holds sockets, whose paths may not be long.
            given |= {"_temp_dir": folder} if len(folder) < LONG_NAME else {}
        is_main = threading.current_thread() is threading.main_thread()
        on_sigterm = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(**given)
        except Exception as error:
            where = address or "this machine"
            problem = f"no Ray cluster could be used at {where}: {first_line(error)}"
            raise UsageError(problem) from None
        if is_main:
            # Ray sets its own, which would end the process without a word.
            signal.signal(signal.SIGTERM, on_sigterm)
        try:
            yield Cluster(ray, options)
        finally:
            ray.shutdown()


LONG_NAME = 30
"""Characters of a folder's path from which on the paths of sockets in it are too long."""


def _check_reachable(ray: Any, address: str) -> None:
    """Check at once that something answers at an address; Ray itself would try for minutes.

    Raises:
        UsageError: The address is malformed, or nothing answers there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise UsageError(f"--address {address}: write HOST:PORT, ray://HOST:PORT or auto")
    if host in ("localhost", "127.0.0.1") and not address.startswith("ray://"):
        # Ray makes this of it, and never finds a head that listens on the loopback alone.
        host = ray.util.get_node_ip_address()
    try:
        socket.create_connection((host, int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--address {address}: no Ray cluster can be reached at {host} ({error}); start one "
            "with ray start --head, or leave out --address for one on this machine"
        ) from None
