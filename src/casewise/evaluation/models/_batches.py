"""Send requests in batches: which providers take them, and what is out at each moment.

Inspect collects the requests that wait at the same time, sends them as a batch, and looks after it.
Each is numbered by its place in the journal of answers, so that what a provider says of a batch
tells whose answer it is, in a later start too. The ledger says which batches are out.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.model import BatchConfig, GenerateConfig, Model

from casewise.errors import UsageError
from casewise.evaluation.models._answer_journal import AnswerJournal
from casewise.evaluation.models._faults import count_in, status_of
from casewise.evaluation.models._seam import HOOKS, batcher
from casewise.files import write_atomically

PRICE = 0.5
"""Price of a token in a batch, as a share of its usual price."""

PROVIDERS = frozenset({"anthropic", "google", "grok", "openai", "together"})
"""Those whose batch interface Inspect knows; any other would be asked live."""

COLLECTED = "openai"
"""The provider whose batches a later start collects."""

AT_ONCE = 5_000
"""Cases of a model that wait for batches at the same time; each takes about 70 kB of memory."""

TICK = "CASEWISE_BATCH_TICK"
"""Environment variable: seconds until a batch is sent, and between two looks at it."""

TICK_S = 15.0

LEDGER = "batches.jsonl"

_HOSTS = frozenset({"azure", "bedrock", "vertex"})
"""Other houses' computers, whose batches Inspect does not know."""
_ALWAYS = 1_000_000_000


def check_batches(*models: str | None) -> None:
    """Refuse models that would be asked live.

    Raises:
        UsageError: Inspect knows no batch interface for one; or ``batch_settings`` raises it.
    """
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
        UsageError: The environment says how often to look, and it is no number of seconds.
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
    """A batch could not be sent; its cause says why."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """Requests in batches, over one start."""

    submitted: int = 0
    done: int = 0
    failed: int = 0


BatchObserver = Callable[[BatchCounts], None]
"""Told at every look at the batches that are out."""


class BatchLedger:
    """Ledger of the batches that are out, and of their requests: a file of the log folder.

    Args:
        path: The file; None keeps nothing, and no later start collects anything.
        journal: Told where the file can't be written: the run can't go on then.
    """

    def __init__(self, path: Path | None, journal: AnswerJournal | None) -> None:
        self._path, self._journal = path, journal
        self._out: dict[str, str] = {}
        """Latest batch of each request by number, of requests that are not known as answered."""
        self._sending: dict[str, list[str]] = {}
        """Request numbers, by file, of batches that no answer confirmed."""
        self._models: dict[str, str] = {}
        """Model of a batch, by file."""
        self._lost: dict[str, None] = {}
        self._forgotten = False
        self.collected = 0
        """Answers from batches of earlier starts."""
        for line in _lines(path):
            self._read(line)
        self._earlier = set(self._out)
        self._unnamed = {file: self._models[file] for file in self._sending}
        self._claiming = asyncio.Lock()

    def _read(self, line: Mapping[str, Any]) -> None:
        if "lost" in line:
            self._lost[line["lost"]] = None
        elif "numbers" in line:
            self._sending[line["file"]] = line["numbers"]
            self._models[line["file"]] = line["model"]
        else:
            numbers = self._sending.pop(line["file"], [])
            if line["batch"] is not None:
                self._out |= dict.fromkeys(numbers, line["batch"])

    @property
    def words(self) -> tuple[str, ...]:
        """Batches that earlier starts left there, and their fate, in words."""
        requests = len(self._out) + sum(map(len, self._sending.values()))
        lines = []
        if requests:
            lines.append(
                f"{requests:,} requests went out in batches before: their answers are collected, "
                "and not sent again where there is one"
            )
        lines += [
            f"{model}: batches that were out when the run stopped can't be collected; their "
            "requests are sent again, and may be paid twice"
            for model in self._lost
        ]
        return tuple(lines)

    def sending(self, model: str, file: str, numbers: Sequence[str]) -> None:
        """A batch is about to be sent; whether it was, is not known if nothing follows."""
        self._add({"file": file, "numbers": list(numbers), "model": model})

    def sent(self, file: str, batch: str | None) -> None:
        """A batch was sent under a name, or was not."""
        self._add({"file": file, "batch": batch})

    def answered(self, number: str) -> None:
        """A request needs its batch no more."""
        self._out.pop(number, None)

    def lost(self, model: str) -> None:
        """A model has batches out that no later start can collect."""
        if model not in self._lost:
            self._add({"lost": model})

    async def claim(self, model: str, find: Callable[[str], Awaitable[str | None]]) -> None:
        """Find out which of a model's batches were sent that an earlier start never knew of."""
        # Conditions of one model ask at the same time, and one asks for all.
        async with self._claiming:
            for file in [file for file, name in self._unnamed.items() if name == model]:
                numbers = self._sending[file]
                self.sent(file, await find(file))
                self._earlier |= self._out.keys() & set(numbers)
                del self._unnamed[file]

    def take(self, numbers: Iterable[str]) -> dict[str, set[str]]:
        """The batches of earlier starts that hold requests; each request once."""
        taken: dict[str, set[str]] = {}
        for number in self._earlier.intersection(numbers):
            self._earlier.discard(number)
            if number in self._out:
                taken.setdefault(self._out[number], set()).add(number)
        return taken

    def forget(self) -> None:
        """Remove the file in the end: all that was sent is answered, or not needed."""
        self._forgotten = True

    def close(self, *, stopped: bool) -> None:
        """Leave in the file what is still out, if anything is."""
        if self._path is None or not self._path.exists():
            return
        lines: list[dict[str, Any]] = []
        if not self._forgotten:
            held: dict[str, list[str]] = {}
            for number, batch in self._out.items():
                held.setdefault(batch, []).append(number)
            for batch, numbers in held.items():
                lines += [
                    {"file": batch, "numbers": numbers, "model": ""},
                    {"file": batch, "batch": batch},
                ]
            lines += [
                {"file": file, "numbers": own, "model": self._models[file]}
                for file, own in self._sending.items()
            ]
            lines += [{"lost": model} for model in self._lost if stopped]
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
            raise


_FORMS = ({"lost"}, {"file", "numbers", "model"}, {"file", "batch"})
"""Keys that a line of the ledger may hold."""


def _lines(path: Path | None) -> Iterator[dict[str, Any]]:
    if path is None or not path.is_file():
        return
    for line in path.read_text("utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            # What a kill tore off.
            continue
        if isinstance(entry, dict) and entry.keys() in _FORMS:
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
    _workers: set["asyncio.Task[None]"] = field(default_factory=set)

    def answered(self, number: str | None, error: Exception | None) -> None:
        """A request's batch is back, with an answer or an error, or was not sent."""
        self._done += error is None
        self._failed += error is not None
        # Another key may still fetch what this one may not.
        is_out = isinstance(error, NotSentError) or (
            error is not None and status_of(error) in (401, 403)
        )
        if number is not None and not is_out:
            self.ledger.answered(number)

    def look(self, status: Any) -> None:
        """Take what Inspect says of the batches that one of its workers has out."""
        pending, done, failed = (
            getattr(status, f"{name}_requests") for name in ("pending", "completed", "failed")
        )
        self._out[_worker.get()] = BatchCounts(pending + done + failed, done, failed)
        self.tell()

    def tell(self) -> None:
        """Tell the observer how far the batches are."""
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
        """Start a worker of Inspect's, outside of the case that happens to need it."""
        context = Context()
        context.run(_worker.set, id(worker))
        count_in(context)
        task = asyncio.get_running_loop().create_task(_work(worker), context=context)
        self._workers.add(task)
        task.add_done_callback(self._workers.discard)


_worker: ContextVar[int] = ContextVar("casewise_batch_worker", default=0)


async def _work(worker: Callable[[], Awaitable[None]]) -> None:
    """Run a worker; one batch that can't be sent ends it, and leaves the others waiting."""
    while True:
        try:
            await worker()
        except Exception:
            # The requests of that batch have been told.
            await asyncio.sleep(batch_settings().tick or TICK_S)
        else:
            return


def as_batched(model: Model, config: GenerateConfig, number: str | None) -> GenerateConfig:
    """A request's settings, made ready for a batch: it bears its number, and is looked after.

    Args:
        model: Whom it is for.
        config: Its settings.
        number: Its place in the journal of answers; None where there is no journal.
    """
    run = batches()
    collected = str(model).startswith(f"{COLLECTED}/")
    if collected and "casewise_batches" not in vars(model.api):
        # Only here: it imports what no other provider needs.
        from casewise.evaluation.models._batch_desk import BatchDesk

        ledger = run.ledger if run is not None else BatchLedger(None, None)
        vars(model.api)["casewise_batches"] = BatchDesk(model, ledger)
    elif not collected and run is not None:
        run.ledger.lost(str(model))
    hooks = getattr(model.api, HOOKS, None)
    if number is None or hooks is None:
        return config
    headers = dict(config.extra_headers or {}) | {hooks.REQUEST_ID_HEADER: number}
    return config.model_copy(update={"extra_headers": headers})


def count_answered(config: GenerateConfig, number: str | None, error: Exception | None) -> None:
    """Tell the batches of the run that a request is back, if it went in one; see ``answered``."""
    run = batches()
    if config.batch and run is not None:
        run.answered(number, error)


def cause_of(error: Exception) -> Exception:
    """Why a batch could not be sent; any other error as it is."""
    cause = error.__cause__
    return cause if isinstance(error, NotSentError) and isinstance(cause, Exception) else error


_current: ContextVar[Batches | None] = ContextVar("casewise_batches", default=None)


def batches() -> Batches | None:
    """Those of the run that is under way."""
    return _current.get()


@contextmanager
def batches_kept(
    folder: Path | None, journal: AnswerJournal | None, observe: BatchObserver | None = None
) -> Iterator[Batches]:
    """Follow the batches that are sent in the block, and keep in a folder which are out."""
    batches = Batches(BatchLedger(None if folder is None else folder / LEDGER, journal), observe)
    # Inspect would print both, and end its worker with the first batch that can't be sent.
    ours = {
        "emit_batch_status": batches.look,
        "log_batch": lambda _: None,
        "run_in_background": batches.start,
    }
    before = {name: getattr(batcher, name) for name in ours}
    token = _current.set(batches)
    vars(batcher).update(ours)
    stopped = True
    try:
        yield batches
        stopped = False
    finally:
        vars(batcher).update(before)
        _current.reset(token)
        batches.tell()
        batches.ledger.close(stopped=stopped)
