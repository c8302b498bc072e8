"""Stop a run before it costs more than a person allows.

A judgement is asked for only while less than the cap is spent; those in flight are finished and
kept. So a run ends above its cap by at most what was in flight.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
from inspect_ai.model import ModelUsage
from inspect_ai.model._model import sample_model_usage

from casewise.evaluation._plan import Prices

PriceOf = Callable[[str], Prices]
"""Dollars for a million tokens of a model."""


class Budget:
    """Counts what answers cost, and lets no more be asked once the cap is reached.

    Args:
        cap: Dollars, over all starts.
        before: Dollars that earlier starts spent.
        price_of: What a model's tokens cost; every model that answers has known prices.
    """

    def __init__(self, cap: float, before: float, price_of: PriceOf) -> None:
        self.cap = cap
        self.stopped = False
        """Whether judgements were left unasked."""
        self._settled = before
        self._price_of = price_of
        self._live: dict[asyncio.Task[object], list[dict[str, ModelUsage]]] = {}
        self._root: asyncio.Task[object] | None = None

    @property
    def spent(self) -> float:
        """Dollars, those of earlier starts included."""
        return self._settled + sum(map(self._cost, self._live.values()))

    @property
    def reason(self) -> str:
        """Why the run stopped."""
        return f"the cap of ${self.cap:.2f} is reached: ${self.spent:.2f} were spent"

    async def admit(self) -> None:
        """Let the sample that calls this ask, or hold it for ever, until the run is stopped."""
        # A solver runs in a task within that of the whole sample, scoring and logging included.
        sample = _task(anyio.get_current_task().parent_id)
        if self.spent >= self.cap:
            self._root = self._root or _root_task()
            # A second attempt at a sample is held like one that was not asked yet.
            self._settle(sample)
            await anyio.sleep_forever()
        if sample not in self._live:
            self._live[sample] = []
            sample.add_done_callback(self._settle)
        # Inspect adds up a sample's usage here, its grader's too; a second attempt has its own.
        self._live[sample].append(sample_model_usage())

    def _settle(self, sample: asyncio.Task[object]) -> None:
        """A sample is over, and in the log."""
        self._settled += self._cost(self._live.pop(sample, []))
        if self._root is not None and not self._live and not self.stopped:
            self.stopped = True
            # What Ctrl-C does: Inspect writes its logs and ends.
            self._root.cancel()

    def _cost(self, usages: list[dict[str, ModelUsage]]) -> float:
        return sum(
            cost_of(self._price_of(model), input_tokens(one), one.output_tokens)
            for used in usages
            for model, one in used.items()
        )


def cost_of(prices: Prices, asked: int, answered: int) -> float:
    """Dollars for tokens in and out; an unknown price counts as nothing."""
    return (asked * (prices.input or 0.0) + answered * (prices.output or 0.0)) / 1e6


def input_tokens(usage: ModelUsage) -> int:
    """Tokens that went in, those that the provider had in its cache included."""
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return usage.input_tokens + cached


def _task(number: int | None) -> asyncio.Task[object]:
    return next(one for one in asyncio.all_tasks() if id(one) == number)


def _root_task() -> asyncio.Task[object]:
    """The task in which Inspect's whole run is."""
    running = {one.id: one for one in anyio.get_running_tasks()}
    here = anyio.get_current_task()
    while here.parent_id in running:
        here = running[here.parent_id]
    return _task(here.id)


_budgets: list[Budget] = []


async def admitted() -> None:
    """Wait until the sample may ask."""
    for budget in _budgets:
        await budget.admit()


@contextmanager
def within(budget: Budget | None) -> Iterator[None]:
    """Hold samples to a budget while the block runs; None is no limit."""
    if budget is None:
        yield
        return
    _budgets.append(budget)
    try:
        yield
    finally:
        _budgets.remove(budget)
