"""Run on a Ray cluster: each piece is a task, which runs the plain loop into a folder of its own.

The only file that imports Ray. A piece whose node is lost stays open: the same command asks again
what no log holds of it.
"""

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from casewise.errors import CasewiseError, UsageError, first_line, install_hint
from casewise.files import address_of, is_elsewhere
from casewise.logs import SHARDS
from casewise.models.open import loads_weights
from casewise.models.patience import Watch
from casewise.options import StartOptions
from casewise.protocols import Status
from casewise.runs.cost import Budget
from casewise.runs.folder import Progress
from casewise.runs.loop import PieceResult, PieceRun, all_open_pieces, ask_all
from casewise.runs.plan import Cell
from casewise.runs.samples import LARGEST, Piece, open_clients

REACH_S = 5.0
"""Seconds that a cluster's head may take to answer."""

STOP_S = 20.0
"""Seconds that pieces may take to write what they have, when a person stops the run."""

Node = Mapping[str, float]
"""Processors of a node."""


def run_on_cluster(
    cells: Sequence[Cell],
    progress: Progress,
    folder: Path,
    observe: Callable[[Status], None],
    options: StartOptions,
) -> list[PieceResult]:
    """Run the open cases on a cluster.

    Args:
        cells: The plan.
        progress: Progress of earlier starts.
        folder: Folder of the run.
        observe: Callback for each judgement, once its piece has ended.
        options: Options of the cluster.

    Raises:
        UsageError: The cluster can't be reached, or has no room.
        KeyboardInterrupt: It was stopped, and the pieces had time to write what they have.
    """
    log_dir = address_of(folder if is_elsewhere(folder) else folder.resolve())
    n_open = sum(state.total - state.judged for state in progress.states)
    results = []
    with _connected(options.address) as ray:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        running, references = dict[Any, Piece](), dict[int, Any]()
        try:
            for piece in all_open_pieces(
                cells, progress, lambda cell: _size(cell, n_open, nodes, options)
            ):
                run = ray.remote(max_retries=0, **_needs(piece.cell, nodes, options))(_run_piece)
                # A node gets the cases of a condition once.
                if piece.order not in references:
                    references[piece.order] = ray.put(piece.cell)
                arguments = piece.order, piece.run, piece.places, piece.part
                running[run.remote(log_dir, references[piece.order], *arguments)] = piece
            while running:
                for task in ray.wait(list(running), num_returns=1)[0]:
                    results.append(_result(ray, task, running.pop(task)))
                    for status in results[-1].statuses:
                        observe(status)
        except KeyboardInterrupt:
            for task in running:
                ray.cancel(task)
            ray.wait(list(running), num_returns=len(running), timeout=STOP_S)
            raise
    return results


def _needs(cell: Cell, nodes: Sequence[Node], options: StartOptions) -> dict[str, float]:
    """Processors of a node that a piece of a cell takes."""
    gpus, cpus = options.shard_gpus or 0.0, options.shard_cpus
    if cpus is None and _loads_weights(cell) and not gpus:
        # A model on the processor uses all of it: several on a node would wait for each other.
        cpus = min((node["CPU"] for node in nodes if node.get("CPU", 0.0) >= 1), default=None)
    return {"num_cpus": 1.0 if cpus is None else cpus, "num_gpus": gpus}


def _size(cell: Cell, n_open: int, nodes: Sequence[Node], options: StartOptions) -> int:
    """Most judgements of a piece of a cell, where so many are left of the run.

    Each place of the cluster gets one piece; a model that a piece has to load is loaded once there.

    Raises:
        UsageError: There is room for none.
    """
    needs = _needs(cell, nodes, options)
    amounts = [("CPU", needs["num_cpus"]), ("GPU", needs["num_gpus"])]
    places = sum(
        min(int(node.get(name, 0.0) / amount) for name, amount in amounts if amount)
        for node in nodes
    )
    if not places:
        raise UsageError(
            f"no node of the cluster has the {needs['num_cpus']:g} CPUs and "
            f"{needs['num_gpus']:g} GPUs that a shard asks for (--shard-cpus, --shard-gpus)"
        )
    share = -(-n_open // places)
    return share if _loads_weights(cell) else min(LARGEST, share)


def _loads_weights(cell: Cell) -> bool:
    return loads_weights(cell.model, cell.request.model_base_url)


def _result(ray: Any, task: Any, piece: Piece) -> PieceResult:
    try:
        result: PieceResult = ray.get(task)
    except ray.exceptions.RayError as error:
        return PieceResult(f"{piece.cell.model}: a node or a process is lost ({first_line(error)})")
    return result


def _run_piece(log_dir: str, cell: Cell, *cases: Any) -> PieceResult:
    """Run a piece in a process of the cluster."""
    piece = Piece(cell, *cases)
    folder = f"{log_dir}/{SHARDS}/{piece.key}"
    statuses: list[Status] = []
    watch = Watch()
    try:
        if not is_elsewhere(folder):
            Path(folder).mkdir(parents=True, exist_ok=True)
        (clients,) = open_clients([cell], watch)
        run = PieceRun(piece, clients, folder, statuses.append, Budget())
        ask_all([run])
    except CasewiseError as error:
        return PieceResult(str(error), faults=watch.counts)
    except OSError as error:
        return PieceResult(f"{cell.model}: {error}", faults=watch.counts)
    return replace(run.result, statuses=tuple(statuses), faults=watch.counts)


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Connect to a cluster while the block runs; without an address, to one started here.

    Raises:
        UsageError: Ray is not installed, or the cluster can't be reached or started.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    settings: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        # Whoever reaches a cluster's ports and knows its token can run programs: it listens on
        # the loopback, as on Windows and macOS, and its token is random.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", token_hex(32))
        settings |= {"address": "local", "num_cpus": os.cpu_count(), "include_dashboard": False}
    else:
        _check_reachable(address)
        settings |= {"address": address}
    try:
        import ray
    except ImportError:
        raise UsageError(f"--engine ray needs Ray: {install_hint('cluster')}") from None
    on_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**settings)
    except Exception as error:
        where = address or "this machine"
        problem = f"no Ray cluster could be used at {where}: {first_line(error)}"
        raise UsageError(problem) from None
    # Ray sets its own, which would end the process without a word.
    signal.signal(signal.SIGTERM, on_sigterm)
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Check at once that something answers at an address; Ray itself would try for minutes.

    Raises:
        UsageError: The address is malformed, or nothing answers there.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"--address {address}: write HOST:PORT")
    try:
        socket.create_connection((host, int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--address {address}: no Ray cluster can be reached there ({error}); start one "
            "with ray start --head, or leave out --address for one on this machine"
        ) from None
