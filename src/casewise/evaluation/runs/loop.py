"""Workers: as many for each model as keep its connections busy.

Conditions of one model are asked side by side where an engine keeps what it computed, as their
prompts of one case share most of their beginnings.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

from inspect_ai.dataset import Sample
from inspect_ai.model import Model

from casewise.evaluation.models._in_process import WINDOW, InProcess, is_in_process
from casewise.evaluation.models.batches import AT_ONCE
from casewise.evaluation.models.faults import first_within
from casewise.evaluation.models.open import in_own_loop
from casewise.evaluation.models.patient import CONNECTIONS
from casewise.evaluation.plan._costs import SpentError
from casewise.evaluation.runs.work import PieceRun, StopObserver

SIDE_BY_SIDE = 32
"""Conditions of one model that run together."""

SERVERS = frozenset({"sglang", "vllm"})
"""Providers whose servers keep the beginnings of prompts, for as long as there is room: the next
condition's prompts of a case must not come after all the others of this one's."""


def shares_beginnings(model: str) -> bool:
    """Tell whether a model, by its name, answers similar prompts faster close together."""
    return is_in_process(model) or model.partition("/")[0] in SERVERS


AHEAD = 2
"""Cases in flight per connection: some are read while others wait to be sent."""

FIRST = 40
"""Cases of a model that are asked before its first answer."""

FIRST_S = 0.05
"""Seconds that the other cases wait for the first answer where ``--max-connections`` is given: most
servers have refused a wrong key by then."""

APART_S = 0.003
"""Seconds between the first requests of a model's workers: about what one takes of the processor.
Sent at once, their answers come at once, and so do all that follow: each waits for all others."""

Job = tuple[PieceRun, Sample, int]


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
    try:
        async with _closing(_clients(runs)), asyncio.TaskGroup() as group:
            for model, own in lines.items():
                group.create_task(_ask_model(model, own))
    except BaseException as error:
        _end(runs, failed=True)
        cause = first_within(error)
        # Where the cap is reached, the budget says that the run was stopped.
        if not isinstance(cause, SpentError):
            raise cause from None
    else:
        _end(runs)


@asynccontextmanager
async def _closing(clients: Sequence[Model]) -> AsyncIterator[None]:
    """Close clients after the block; one that can't be closed hides no other error."""
    try:
        yield
    finally:
        for client in clients:
            with suppress(Exception):
                await client.api.aclose()


def _clients(runs: Iterable[PieceRun]) -> list[Model]:
    """Clients of all runs, each once."""
    return list({id(client): client for run in runs for client in run.clients.all}.values())


def _end(runs: Sequence[PieceRun], *, failed: bool = False) -> None:
    """End the logs that were left before their last case was asked."""
    for run in runs:
        try:
            run.end_if_begun()
        except OSError:
            # Only the first error is raised.
            if not failed:
                raise


async def _ask_model(model: str, runs: Sequence[PieceRun]) -> None:
    """Ask a model all its cases: log by log, or side by side where that is faster."""
    if not shares_beginnings(model):
        await _work_off(runs)
        return
    _expect(runs[:SIDE_BY_SIDE])
    room = asyncio.Semaphore(SIDE_BY_SIDE)

    async def ask(run: PieceRun) -> None:
        async with room:
            await _work_off([run])

    async with asyncio.TaskGroup() as group:
        for run in runs:
            group.create_task(ask(run))


def _expect(runs: Iterable[PieceRun]) -> None:
    """Tell a model of this process who will ask."""
    apis = [run.clients.model.api for run in runs]
    askers = {api.asker for api in apis if isinstance(api, InProcess)}
    for api in apis[:1]:
        if isinstance(api, InProcess):
            api.expect(askers)


def _workers(runs: Sequence[PieceRun]) -> int:
    given = max((run.piece.cell.request.max_connections or 0 for run in runs), default=0)
    if any(run.config.batch for run in runs):
        # A batch holds what waits at the same time.
        return min(given or AT_ONCE, sum(run.piece.size for run in runs))
    if isinstance(runs[0].clients.model.api, InProcess):
        return given or WINDOW
    return AHEAD * (given or CONNECTIONS)


def _jobs(runs: Sequence[PieceRun]) -> Iterator[Job]:
    for run in runs:
        for sample, epoch in run.piece.samples():
            yield run, sample, epoch


async def _work_off(runs: Sequence[PieceRun]) -> None:
    """Ask all cases: ``FIRST`` of them, and the others once the first of these has ended."""
    shown, jobs, is_over = asyncio.Event(), _jobs(runs), False
    is_batch = any(run.config.batch for run in runs)
    if is_batch:
        # Only what waits at the same time goes out in one batch.
        shown.set()
    elif any(run.piece.cell.request.max_connections is not None for run in runs):
        asyncio.get_running_loop().call_later(FIRST_S, shown.set)

    async def work(number: int) -> None:
        nonlocal is_over
        if number >= FIRST:
            await shown.wait()
        for run, sample, epoch in jobs:
            # In a context of its own, since Inspect keeps there what a sample says to models.
            await asyncio.create_task(run.ask(sample, epoch), context=contextvars.copy_context())
            shown.set()
        is_over = True
        shown.set()

    # A model of this process waits until all that is asked together has come.
    at_once = is_batch or isinstance(runs[0].clients.model.api, InProcess)
    async with asyncio.TaskGroup() as group:
        for number in range(_workers(runs)):
            group.create_task(work(number))
            if not at_once:
                await asyncio.sleep(APART_S)
            if is_over:
                break
