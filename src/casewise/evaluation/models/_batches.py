"""Send requests in batches: which providers take them, and what is out at each moment.

Inspect collects the requests that wait at the same time, sends them as a batch, and follows it.
Each request bears its key in the journal of answers, by which a later start, too, finds its answer
in a batch's results. The ledger says which batches are out.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from inspect_ai.model import BatchConfig, GenerateConfig, Model

from casewise.errors import CasewiseError, UsageError
from casewise.evaluation.models._answer_journal import AnswerJournal
from casewise.evaluation.models._fault_table import row_of
from casewise.evaluation.models._faults import count_in, holding
from casewise.evaluation.models._seam import MOVED, batcher, hooks_of
from casewise.files import write_atomically

PRICE = 0.5
"""Price of a token in a batch, as a share of its usual price."""

PROVIDERS = frozenset({"anthropic", "google", "grok", "openai", "together"})
"""Providers whose batch interface Inspect knows; any other would be asked live."""

AT_ONCE = 5_000
"""Most cases of a model that wait for batches at the same time; each takes about 70 kB."""

TICK = "CASEWISE_BATCH_TICK"
"""Environment variable: seconds until a batch is sent, and between two looks at it."""

TICK_S = 15.0

LEDGER = "batches.jsonl"

_DESK = "casewise_desk"

_HOSTS = frozenset({"azure", "bedrock", "vertex"})
"""Other companies that host the models, whose batches Inspect does not know."""
_ALWAYS = 1_000_000_000


def check_batches(*models: str | None) -> None:
    """Refuse models that would be asked live.

    Raises:
        UsageError: Inspect knows no batch interface for a model, or has changed it, or the
            environment's setting is wrong (``batch_settings``).
    """
    if "batch" in MOVED:
        raise UsageError(
            "--batch: this release of Inspect collects batches otherwise: leave --batch out, or "
            "install inspect-ai 0.3.285"
        )
    batch_settings()
    for model in filter(None, models):
        provider, _, name = model.partition("/")
        if provider not in PROVIDERS or name.split("/")[0] in _HOSTS:
            known = ", ".join(f"{provider}/..." for provider in sorted(PROVIDERS))
            raise UsageError(
                f"--batch: no batch interface is known for {model}: leave --batch out, or choose "
                f"a model of {known} (not one hosted by Azure, Bedrock or Vertex)"
            )


def batch_settings() -> BatchConfig:
    """Settings by which Inspect collects, sends and follows batches.

    Raises:
        UsageError: ``TICK`` in the environment is no number of seconds.
    """
    text = os.environ.get(TICK, "")
    try:
        tick = float(text) if text else TICK_S
    except ValueError:
        tick = 0.0
    if not 0 < tick < float("inf"):
        raise UsageError(f"{TICK} {text}: give seconds, above 0")
    return BatchConfig(
        size=AT_ONCE, send_delay=tick, tick=tick, max_consecutive_check_failures=_ALWAYS
    )


class NotSentError(Exception):
    """A batch that could not be sent; its cause says why."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Requests in batches, over one start."""

    submitted: int = 0
    done: int = 0
    failed: int = 0


BatchObserver = Callable[[BatchCounts], None]
"""Called with the counts at every look at the batches that are out."""


class BatchLedger:
    """Ledger of the batches that are out, and of their requests: a file of the log folder.

    Args:
        path: The file; None keeps nothing, and no later start collects anything.
        journal: Its ``failure`` is set where the file can't be written: the run can't go on then.
        resends_cancelled: Whether the requests of batches that were cancelled are sent again.
    """

    def __init__(
        self, path: Path | None, journal: AnswerJournal | None, *, resends_cancelled: bool = False
    ) -> None:
        self._path, self._journal = path, journal
        self.resends_cancelled = resends_cancelled
        self._out: dict[str, tuple[str, ...]] = {}
        """Latest batch of each request that is not known as answered; several where the provider
        could not say which one it is."""
        self._named: set[str] = set()
        """Batches that are known to be of other requests."""
        self._sending: dict[str, Mapping[str, Any]] = {}
        """Lines, by file, of batches that may have been sent or not."""
        self._lost: list[str] = []
        """Models whose batches an earlier edition noted as lost."""
        self._forgotten = False
        self.collected = 0
        """Answers from batches of earlier starts."""
        for line in _lines(path):
            self._read(line)
        self._earlier = set(self._out)
        """Requests of earlier starts that no batch of this one holds."""
        self._unnamed = set(self._sending)
        """Files of batches of which an earlier start never knew whether they were sent."""
        self._claiming = asyncio.Lock()

    def _read(self, line: Mapping[str, Any]) -> None:
        if "lost" in line:
            self._lost.append(line["lost"])
        elif "numbers" in line:
            self._sending[line["file"]] = line
        elif (sent := self._sending.pop(line["file"], None)) and line["batches"]:
            self._out |= dict.fromkeys(sent["numbers"], tuple(line["batches"]))
            self._named.update(line["batches"])

    @property
    def out(self) -> int:
        """Number of requests in batches that a later start collects."""
        return len(self._out) + sum(len(line["numbers"]) for line in self._sending.values())

    @property
    def words(self) -> tuple[str, ...]:
        """Messages on batches that earlier starts left."""
        requests = self.out
        collected = (
            f"{requests:,} requests went out in batches before: their answers are collected, and "
            "not sent again where there is one"
        )
        lost = (
            f"{model}: batches that were out when the run stopped can't be collected; their "
            "requests are sent again, and may be paid twice"
            for model in self._lost
        )
        return (*([collected] if requests else []), *lost)

    def sending(self, model: str, file: str, numbers: Sequence[str]) -> None:
        """Note a batch that is about to be sent; unless a line follows, it may have been."""
        self._add({"file": file, "numbers": list(numbers), "model": model})

    def sent(self, file: str, *batches: str) -> None:
        """Note the name of a batch that was sent; none of one that was not.

        Several are those among which it is, where the provider could not say more.
        """
        self._add({"file": file, "batches": list(batches)})

    def unknown(self, batches: Iterable[str]) -> tuple[str, ...]:
        """Those of some batches that are not known to be of other requests."""
        return tuple(batch for batch in batches if batch not in self._named)

    def answered(self, number: str) -> None:
        """Note a request that needs its batch no more."""
        self._out.pop(number, None)

    async def claim(self, model: str, find: Callable[[str], Awaitable[tuple[str, ...]]]) -> None:
        """Look up a model's batches that an interrupted start may have sent.

        Args:
            model: The model.
            find: Names of the batches that may be the one of a file.
        """
        # Conditions of one model ask at the same time, and one asks for all.
        async with self._claiming:
            for file in sorted(self._unnamed):
                line = self._sending[file]
                if line["model"] == model:
                    self.sent(file, *self.unknown(await find(file)))
                    self._earlier |= self._out.keys() & set(line["numbers"])
                    self._unnamed.discard(file)

    def take(self, numbers: Iterable[str]) -> dict[str, set[str]]:
        """Batches of earlier starts that hold requests; each request is taken once."""
        taken: dict[str, set[str]] = {}
        for number in self._earlier.intersection(numbers):
            self._earlier.discard(number)
            if number in self._out:
                for batch in self._out[number]:
                    taken.setdefault(batch, set()).add(number)
        return taken

    def give_back(self, numbers: Iterable[str]) -> None:
        """Have requests taken again that were not waited for."""
        self._earlier.update(numbers)

    def forget(self) -> None:
        """Remove the file when it is closed: all that was sent is answered, or not needed."""
        self._forgotten = True

    def close(self) -> None:
        """Leave in the file the batches that are still out, if any are."""
        if self._path is None or not self._path.exists():
            return
        lines: list[Mapping[str, Any]] = []
        if not self._forgotten:
            by_batch = sorted(self._out, key=self._out.__getitem__)
            for batches, held in groupby(by_batch, self._out.__getitem__):
                lines.append({"file": batches[0], "numbers": list(held), "model": ""})
                lines.append({"file": batches[0], "batches": list(batches)})
            lines += self._sending.values()
        if lines:
            text = "".join(f"{json.dumps(line)}\n" for line in lines)
            write_atomically(self._path, text.encode())
        else:
            self._path.unlink()

    def _add(self, line: Mapping[str, Any]) -> None:
        self._read(line)
        if self._path is None:
            return
        try:
            with self._path.open("ab") as file:
                file.write(f"{json.dumps(line)}\n".encode())
        except OSError as error:
            if self._journal is not None:
                self._journal.failure = error
            # An OSError would be taken for a failed connection, and the batch sent again.
            raise CasewiseError(str(error)) from error


_FORMS = ({"file", "numbers", "model"}, {"file", "batches"}, {"lost"})
"""Keys that a line of the ledger may hold; the last in ledgers of earlier editions alone."""


def _lines(path: Path | None) -> Iterator[dict[str, Any]]:
    """Lines of a ledger, those of earlier editions in the form of today.

    Raises:
        UsageError: A line is of a form that this edition doesn't know.
    """
    if path is None or not path.is_file():
        return
    text = path.read_text("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            # A kill cut it short.
            continue
        if entry.keys() == {"file", "batch"}:
            # Earlier editions knew one batch of a file, or none.
            entry = {"file": entry["file"], "batches": [entry["batch"]] if entry["batch"] else []}
        if entry.keys() not in _FORMS:
            raise UsageError(
                f"{path}, line {number}: a batch is noted with {', '.join(sorted(entry))}, a form "
                "that this edition of casewise doesn't know: go on with the edition that wrote "
                "it, or, to send its requests again and pay twice, delete the file"
            )
        yield entry


@dataclass(slots=True)
class Batches:
    """The batches of one start of a run."""

    ledger: BatchLedger
    observe: BatchObserver | None = None
    _out: dict[int, BatchCounts] = field(default_factory=dict)
    """Counts by Inspect's worker."""
    _done: int = 0
    _failed: int = 0
    _most: BatchCounts = field(default_factory=BatchCounts)
    """Highest counts so far."""
    _workers: set["asyncio.Task[None]"] = field(default_factory=set)

    def answered(self, number: str | None, error: Exception | None) -> None:
        """Count a request that is back from its batch, or whose batch was not sent."""
        self._done += error is None
        self._failed += error is not None
        # Another key may still fetch what this one may not; a cancelled batch is only told.
        is_out = isinstance(error, NotSentError) or (error is not None and row_of(error).is_final)
        if number is not None and not is_out:
            self.ledger.answered(number)

    def look(self, status: Any) -> None:
        """Take Inspect's counts of the batches that one of its workers has out."""
        done, failed = status.completed_requests, status.failed_requests
        submitted = status.pending_requests + done + failed
        self._out[_worker.get()] = BatchCounts(submitted, done, failed)
        self.tell()

    def tell(self) -> None:
        """Report the highest counts so far to the observer."""
        out, most = self._out.values(), self._most
        done = self._done + sum(batch.done for batch in out)
        failed = self._failed + sum(batch.failed for batch in out)
        submitted = self._done + self._failed + sum(batch.submitted for batch in out)
        # Between a batch's end and the reading of its answers, these are counted nowhere.
        self._most = BatchCounts(
            max(most.submitted, submitted), max(most.done, done), max(most.failed, failed)
        )
        if self.observe is not None and self._most.submitted:
            self.observe(self._most)

    def start(self, worker: Callable[[], Awaitable[None]], *_: object) -> None:
        """Start a worker of Inspect's, outside of the context of the case that needs it first."""
        context = Context()
        context.run(_worker.set, id(worker))
        count_in(context)
        task = asyncio.get_running_loop().create_task(_work(worker), context=context)
        self._workers.add(task)
        task.add_done_callback(self._workers.discard)


_worker: ContextVar[int] = ContextVar("casewise_batch_worker", default=0)


async def _work(worker: Callable[[], Awaitable[None]]) -> None:
    """Run a worker; it ends with a batch that can't be sent, and runs again for the others."""
    while True:
        try:
            return await worker()
        except Exception:
            # The requests of that batch have got the error.
            await asyncio.sleep(batch_settings().tick or TICK_S)


def as_batched(model: Model, config: GenerateConfig, number: str | None) -> GenerateConfig:
    """Settings of a request that goes in a batch, with its number.

    Args:
        model: The model that is asked.
        config: Settings of the request.
        number: Key of its answer in the journal; None where there is no journal.
    """
    _asked.set((model, number))
    hooks = hooks_of(model.api)
    if number is None or hooks is None:
        return config
    headers = dict(config.extra_headers or {}) | {hooks.REQUEST_ID_HEADER: number}
    return config.model_copy(update={"extra_headers": headers})


def count_answered(number: str | None, error: Exception | None) -> None:
    """Count a request that is back from a batch; see ``Batches.answered``."""
    run = _current.get()
    if run is not None:
        run.answered(number, error)


def cause_of(error: Exception) -> Exception:
    """Cause of a batch that could not be sent; any other error as it is."""
    cause = error.__cause__
    return cause if isinstance(error, NotSentError) and isinstance(cause, Exception) else error


_asked: ContextVar[tuple[Model, str | None] | None] = ContextVar("casewise_batched", default=None)
"""Model and number of the request of this context."""

_current: ContextVar[Batches | None] = ContextVar("casewise_batches", default=None)
"""Batches of the run that is under way."""


@contextmanager
def batches_kept(
    folder: Path | None,
    journal: AnswerJournal | None,
    observe: BatchObserver | None = None,
    *,
    resends_cancelled: bool = False,
) -> Iterator[BatchLedger]:
    """Follow the batches that are sent in the block, and keep in a folder which are out."""
    path = folder and folder / LEDGER
    ledger = BatchLedger(path, journal, resends_cancelled=resends_cancelled)
    batches = Batches(ledger, observe)
    # Inspect would print both, and end its worker with the first batch that can't be sent.
    ours = {
        "emit_batch_status": batches.look,
        "log_batch": lambda _: None,
        "run_in_background": batches.start,
    }
    before = {name: getattr(batcher, name) for name in ours}
    inspects_own: Any = batcher.Batcher
    generate = inspects_own.generate_for_request

    async def at_a_desk(inspects: Any, request: dict[str, Any]) -> Any:
        if (asked := _asked.get()) is not None:
            # Only here: it imports what no other run needs.
            from casewise.evaluation.models._batch_desk import BatchDesk

            desk = vars(inspects).get(_DESK)
            if desk is None:
                desk = vars(inspects)[_DESK] = BatchDesk(inspects, asked[0], ledger)
            desk.note(request, asked[1])
        try:
            return await generate(inspects, request)
        except Exception as error:
            # All requests of a batch meet one error: each would tell the ways of all before it.
            error.__traceback__ = None
            raise

    vars(batcher).update(ours)
    inspects_own.generate_for_request = at_a_desk
    try:
        with holding(_current, batches):
            yield batches.ledger
    finally:
        vars(batcher).update(before)
        inspects_own.generate_for_request = generate
        batches.tell()
        batches.ledger.close()
