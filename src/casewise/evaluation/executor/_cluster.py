"""A cluster: its options, the connection to it, and the queue that hands out its shards."""

import atexit
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any, Generic, Literal, Protocol, TypeVar

from casewise.errors import UsageError, first_line
from casewise.evaluation.executor._ending import (
    ROW_OF,
    LostHeadError,
    LostWork,
    Reason,
)
from casewise.evaluation.executor._shards import SMALLEST, Observer, Piece, Shard, piece_of
from casewise.evaluation.models._faults import FaultCounts, FaultObserver, count_faults
from casewise.evaluation.models._provider_calls import add_traffic
from casewise.evaluation.plan._costs import Budget, Tokens
from casewise.evaluation.plan._plan import Cell
from casewise.protocols import Status


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """A Ray cluster, and the processors that each shard takes of it."""

    address: str | None = None
    """Address of its head; None starts a cluster on this machine, for the length of the run."""
    shard_size: int | None = None
    """The most judgements of a shard; None goes by the size of the run and of the cluster."""
    shard_cpus: float | None = None
    """CPUs of a shard; None is 1, or all of a node's for a model loaded there without a GPU."""
    shard_gpus: float = 0.0


REACH_S = 5.0
"""Seconds that a cluster's head may take to answer."""

LONG_NAME = 30
"""Characters of a folder's path from which on the paths of sockets in it are too long."""

STORE_BYTES = 256 * 2**20
"""Bytes of the object store of a cluster on this machine: only cases and results pass through it,
and they are small."""


@contextmanager
def connected(ray: Any, cluster: ClusterOptions) -> Iterator[None]:
    """Connect to a cluster while the block runs; without an address, to one started here.

    Args:
        ray: The library.
        cluster: Options of the cluster.

    Raises:
        UsageError: It can't be reached or started.
    """
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    # Ray's own logs; its last processes may still write to them.
    with TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if cluster.address is None:
            options |= {
                "address": "local",
                "num_cpus": os.cpu_count(),
                "include_dashboard": False,
                "object_store_memory": STORE_BYTES,
            }
            # The folder holds sockets, whose paths may not be long.
            options |= {"_temp_dir": folder} if len(folder) < LONG_NAME else {}
        else:
            _check_reachable(ray, cluster.address)
            options["address"] = cluster.address
        is_main = threading.current_thread() is threading.main_thread()
        on_sigterm = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(**options)
        except Exception as error:
            where = cluster.address or "this machine"
            problem = f"no Ray cluster could be used at {where}: {first_line(error)}"
            raise UsageError(problem) from None
        if is_main:
            # Ray sets its own, which would end the process without a word.
            signal.signal(signal.SIGTERM, on_sigterm)
        try:
            yield
        except LostHeadError:
            # Ray would wait for its head, and crash the interpreter as it ends.
            atexit.unregister(ray.shutdown)
            atexit.register(_leave)
            raise
        except BaseException:
            ray.shutdown()
            raise
        ray.shutdown()


def _leave() -> None:
    """End the process at once."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(ROW_OF[Reason.LOST_HEAD].status)


def _check_reachable(ray: Any, address: str) -> None:
    """Check at once that a cluster answers; Ray itself would try for minutes.

    Raises:
        UsageError: The address is malformed, or no Ray cluster answers there.
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
        with socket.create_connection((host, int(port)), timeout=REACH_S) as connection:
            connection.sendall(_HELLO)
            if connection.recv(4)[3:] != _SETTINGS:
                raise OSError("something else answers there")
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--address {address}: no Ray cluster can be reached at {host} ({error}); start one "
            "with ray start --head, or leave out --address for one on this machine"
        ) from None


_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""First bytes of a gRPC connection, as Ray uses: HTTP/2's preface and an empty SETTINGS frame."""

_SETTINGS = b"\x04"
"""Type byte of the frame that a server answers with: SETTINGS."""


@dataclass(frozen=True, slots=True)
class ShardResult:
    """Result of a shard."""

    status: Literal["done", "error", "stopped"]
    reason: str
    """Message of the error that ended it; empty without one."""
    judged: int
    """Judgements in its logs, those of earlier attempts included."""
    tokens: Tokens
    """Tokens of this attempt."""
    given_up: str | None = None
    """Reason why its model can't be used at all; None if it can."""
    faults: FaultCounts = field(default_factory=Counter)
    """Faults of requests, counted by the process of the cluster that sent them."""
    errors: FaultCounts = field(default_factory=Counter)
    """Cases that ended in an error in this attempt."""
    kept: int = 0
    """Judgements that the logs of earlier attempts hold."""
    answers: int = 0
    """Answers of this attempt."""
    in_flight: int = 0
    """Requests of this attempt that were sent, and whose answers are not kept."""


LOST = 5
"""Most times that a lost or interrupted shard is run again."""

IN_FLIGHT = "in flight"
"""Key of the requests whose answers a shard awaits, among the counts that it reports."""

POLL_S = 0.3
STOP_S = 20.0
"""Seconds that shards may take to write what they have, when a person stops the run."""

NO_ROOM_S = 60.0
"""Seconds that a run waits while no node is left that could run a shard."""

Work = TypeVar("Work", bound=Hashable)

Counts = Mapping[int, Mapping[str, int]]
"""Judgements and failed attempts by status, and ``IN_FLIGHT``, by the running shard's number."""


class LostError(Exception):
    """A shard whose process or node is gone."""


class Pool(Protocol[Work]):
    """Pool that runs shards."""

    def slots(self, cell: int) -> int:
        """Number of a cell's shards that there is room for, if nothing else runs."""

    def submit(self, number: int, piece: Piece, connections: int | None) -> Work:
        """Begin a shard."""

    def wait(self, running: Sequence[Work], seconds: float) -> Sequence[Work]:
        """Shards that have ended, as soon as one has; none if none does in time."""

    def result(self, work: Work) -> ShardResult:
        """Result of a shard that has ended.

        Raises:
            LostError: Its process or node is gone.
        """

    def keep(self, models: Set[str]) -> None:
        """Release what is kept for other models than these: none of their shards is left."""

    def counts(self) -> Counts:
        """New counts of the running shards."""

    def stop(self) -> None:
        """Have all running shards write what they have, and end."""


@dataclass(slots=True)
class _Running:
    number: int
    shard: Shard


class ShardQueue(Generic[Work]):
    """Queue that runs shards on a pool.

    Args:
        cells: The cells of the run.
        shards: Their open shards, in the order in which they are begun.
        pool: Pool that runs them.
        observer: Called with the status of every judgement.
        budget: Cap on the cost, checked before each shard, which is cut to fit; None is no cap.
        tell: Told of each shard that is lost, and run again.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        shards: Sequence[Shard],
        pool: Pool[Work],
        observer: Observer,
        budget: Budget | None,
        tell: FaultObserver | None = None,
    ) -> None:
        self.failures: dict[str, None] = {}
        """Reasons why shards failed or were not run."""
        self.given_up: dict[str, None] = {}
        """Reasons why models can't be used at all."""
        self.judged = 0
        self.errors: FaultCounts = Counter()
        """Cases that ended in an error."""
        self.lost = LostWork()
        """Work of shards that were lost."""
        self._tell = tell
        self._cells = cells
        self._pool = pool
        self._observer = observer
        self._budget = budget
        self._waiting: dict[str, deque[tuple[int, Shard]]] = defaultdict(deque)
        """Waiting shards by model: they take turns, so that all providers are kept busy."""
        for number, shard in enumerate(shards):
            self._waiting[cells[shard.cell].model].append((number, shard))
        self._next_number = len(shards)
        self._running: dict[Work, _Running] = {}
        self._lost: Counter[int] = Counter()
        self._shown: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._reported: dict[int, Mapping[str, int]] = {}
        """Latest counts of the current attempt at each shard."""
        self._came: Counter[int] = Counter()
        """Judgements of attempts that were lost, by shard."""
        self._dropped: set[int] = set()
        self._stopping = False
        self._width = self._widths(shards)
        self._room_at = time.monotonic()

    def run(self) -> None:
        """Run all shards.

        Raises:
            KeyboardInterrupt: A person stopped it; what was judged is written.
            LostHeadError: The cluster's head is gone.
        """
        try:
            while self._begin():
                self._gather(POLL_S)
        except KeyboardInterrupt:
            self._stopping = True
            self._pool.stop()
            end = time.monotonic() + STOP_S
            self._waiting.clear()
            while self._running and time.monotonic() < end:
                self._gather(POLL_S)
            raise
        except LostHeadError:
            shards = [self._reported.get(one.number, {}) for one in self._running.values()]
            add_traffic(0, sum(reported.get(IN_FLIGHT, 0) for reported in shards))
            raise

    def _widths(self, shards: Sequence[Shard]) -> dict[int, int]:
        """Most shards of a cell's model that run at once, by the cell's number."""
        of_model = Counter(self._cells[shard.cell].model for shard in shards)
        widths = {}
        for number, cell in enumerate(self._cells):
            most = cell.request.max_connections or len(shards)
            slots = max(1, self._pool.slots(number))
            widths[number] = max(1, min(slots, most, of_model[cell.model]))
        return widths

    def _begin(self) -> bool:
        """Begin the shards that there is room for; tell whether there is anything to wait for."""
        begun = True
        while begun:
            begun = False
            for waiting in self._waiting.values():
                begun |= self._begin_next(waiting)
        left = [queue[0][1].cell for queue in self._waiting.values() if queue]
        models = {self._cells[cell].model for cell in left}
        models |= {self._cells[running.shard.cell].model for running in self._running.values()}
        self._pool.keep(models)
        return bool(self._running) or (bool(left) and self._may_wait(left))

    def _begin_next(self, waiting: deque[tuple[int, Shard]]) -> bool:
        """Begin a model's next shard, if there is room for it; tell whether it was begun."""
        while waiting and waiting[0][1].cell in self._dropped:
            waiting.popleft()
        if not waiting:
            return False
        number, shard = waiting[0]
        model = self._cells[shard.cell].model
        busy = sum(
            self._cells[running.shard.cell].model == model for running in self._running.values()
        )
        full = len(self._running) >= self._pool.slots(shard.cell)
        if full or busy >= self._width[shard.cell]:
            return False
        fitting = self._fitting(shard)
        if fitting is None:
            return False
        waiting.popleft()
        if fitting.size < shard.size:
            rest = replace(shard.part, places=shard.part.places[fitting.size :])
            waiting.appendleft((self._next_number, replace(shard, part=rest)))
            self._next_number += 1
        self._submit(number, fitting)
        return True

    def _fitting(self, shard: Shard) -> Shard | None:
        """Part of a shard that the budget has room for; None where it has none for now."""
        if self._budget is None:
            return shard
        cell = self._cells[shard.cell]
        asked = sum(running.shard.size for running in self._running.values())
        estimate = (cell.cost_usd or 0.0) / max(1, cell.judgements)
        room = self._budget.room(asked, estimate)
        if room >= shard.size:
            return shard
        if room < (SMALLEST if self._running else 1):
            return None
        return replace(shard, part=replace(shard.part, places=shard.part.places[:room]))

    def _submit(self, number: int, shard: Shard) -> None:
        cell = self._cells[shard.cell]
        whole = cell.request.max_connections
        connections = max(1, whole // self._width[shard.cell]) if whole else None
        piece = piece_of(shard, cell.planned.condition)
        work = self._pool.submit(number, piece, connections)
        self._running[work] = _Running(number, shard)
        self._room_at = time.monotonic()

    def _may_wait(self, left: Sequence[int]) -> bool:
        """Tell whether it makes sense to wait, where nothing runs and nothing could be begun."""
        if self._budget is not None and any(self._pool.slots(cell) for cell in left):
            self._budget.stopped = True
            return False
        if time.monotonic() - self._room_at < NO_ROOM_S:
            time.sleep(POLL_S)
            return True
        self.failures["no node is left that has what a shard needs"] = None
        return False

    def _gather(self, seconds: float) -> None:
        """Settle the shards that have ended, and report the progress of those that run."""
        ended = self._pool.wait(list(self._running), seconds) if self._running else ()
        for number, counts in self._pool.counts().items():
            self._reported[number] = counts
            self._show(number, counts)
        for work in ended:
            running = self._running.pop(work)
            try:
                result = self._pool.result(work)
            except LostError as error:
                self._lose(running)
                self._again(running, str(error))
                continue
            if result.status == "stopped" and not self._stopping:
                self._again(running, "it was interrupted")
            else:
                self._settle(running, result)

    def _lose(self, running: _Running) -> None:
        """Count what a lost shard had asked for, as far as it had told."""
        reported = self._reported.pop(running.number, {})
        self._came[running.number] += _judged_in(reported)
        in_flight = reported.get(IN_FLIGHT, 0)
        add_traffic(0, in_flight)
        self.lost = replace(
            self.lost, shards=self.lost.shards + 1, in_flight=self.lost.in_flight + in_flight
        )
        if self._tell is not None:
            model = self._cells[running.shard.cell].model
            self._tell(model, "a node or a process of the cluster is lost; its shard is run again")

    def _again(self, running: _Running, reason: str) -> None:
        """Queue a lost shard again, up to ``LOST`` times; the cases that it judged stay judged."""
        number, model = running.number, self._cells[running.shard.cell].model
        self._lost[number] += 1
        if self._lost[number] <= LOST:
            self._waiting[model].appendleft((number, running.shard))
        else:
            self.failures[f"{model}: a shard was lost {LOST + 1} times ({reason})"] = None

    def _settle(self, running: _Running, result: ShardResult) -> None:
        cell = self._cells[running.shard.cell]
        shown = self._shown[running.number]
        known = _judged_in(shown)
        self._show(running.number, {Status.OK: shown[Status.OK] + max(0, result.judged - known)})
        self.judged += result.judged
        twice = max(0, self._came.pop(running.number, 0) - result.kept)
        self.lost = replace(self.lost, paid_twice=self.lost.paid_twice + twice)
        self._reported.pop(running.number, None)
        add_traffic(result.answers, result.in_flight)
        count_faults(result.faults)
        self.errors.update(result.errors)
        if self._budget is not None:
            self._budget.settle(result.tokens, result.judged)
        if result.given_up is not None:
            self.given_up[result.given_up] = None
            same = [n for n, one in enumerate(self._cells) if one.model == cell.model]
            self._dropped |= set(same)
        elif result.status == "error":
            self.failures[f"{cell.model}: {result.reason}"] = None
            self._dropped.add(running.shard.cell)

    def _show(self, number: int, counts: Mapping[str, int]) -> None:
        """Report a shard's new judgements; those of a second attempt are not reported twice."""
        shown = self._shown[number]
        for status, count in counts.items():
            if status == IN_FLIGHT:
                continue
            for _ in range(count - shown[status]):
                self._observer(Status(status))
            shown[status] = max(shown[status], count)


def _judged_in(counts: Mapping[str, int]) -> int:
    """Number of judgements among a shard's counts."""
    return sum(n for status, n in counts.items() if status not in (Status.ERROR, IN_FLIGHT))
