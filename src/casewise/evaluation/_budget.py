"""Stop a run before it costs more than a person allows.

A judgement is asked for only while what is spent, with what those in flight will probably cost, is
below the cap; those in flight are finished and kept. So a run ends above its cap by less than what
was in flight.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
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
        self._before = before
        self._settled = 0.0
        self._count = 0
        self._price_of = price_of
        self._live: dict[asyncio.Task[object], dict[str, ModelUsage]] = {}
        self._room = asyncio.Event()

    @property
    def spent(self) -> float:
        """Dollars, those of earlier starts included."""
        return self._before + self._settled + sum(map(self._cost, self._live.values()))

    @property
    def reason(self) -> str:
        """Why the run stopped."""
        return f"the cap of ${self.cap:.2f} is reached: ${self.spent:.2f} were spent"

    @property
    def _promised(self) -> float:
        """Dollars when what is in flight will be answered, by what answers cost so far."""
        usual = self._settled / self._count if self._count else 0.0
        in_flight = sum(max(usual, self._cost(one)) for one in self._live.values())
        return self._before + self._settled + in_flight

    async def admit(self) -> None:
        """Let the sample that calls this ask, or hold it, for ever if all is spent."""
        # A solver runs in a task within that of the whole sample, scoring and logging included.
        sample = _task(anyio.get_current_task().parent_id)
        # A second attempt at a sample is held like one that was not asked yet.
        self._end_attempts(sample)
        while self._promised >= self.cap:
            self._stop_if_spent(_root_task())
            await self._room.wait()
        # Inspect adds up a sample's usage here, its grader's too; a second attempt has its own.
        self._live[sample] = sample_model_usage()
        sample.add_done_callback(self._end_sample)

    def settle(self, used: Mapping[str, tuple[int, int]], judgements: int) -> None:
        """Count what a shard took, asked elsewhere: tokens in and out, by model."""
        self._settled += sum(cost_of(self._price_of(name), *one) for name, one in used.items())
        self._count += judgements

    def room(self, in_flight: int, estimate: float) -> int:
        """How many judgements may be asked beside those that are asked elsewhere now.

        Args:
            in_flight: Judgements that are asked.
            estimate: Dollars for one, as long as none has told what it took.
        """
        usual = self._settled / self._count if self._count and self._settled else estimate
        left = self.cap - self._before - self._settled - in_flight * usual
        return max(0, int(left / usual) if usual else int(left > 0) * sys.maxsize)

    def _end_attempts(self, sample: asyncio.Task[object]) -> None:
        self._settled += self._cost(self._live.pop(sample, {}))

    def _end_sample(self, sample: asyncio.Task[object]) -> None:
        """A sample is over, and in the log."""
        self._count += sample in self._live
        self._end_attempts(sample)
        # Those that wait look again whether there is room.
        self._room.set()
        self._room = asyncio.Event()

    def _stop_if_spent(self, root: asyncio.Task[object]) -> None:
        if not self._live and not self.stopped and self.spent >= self.cap:
            self.stopped = True
            # What Ctrl-C does: Inspect writes its logs and ends.
            root.cancel()

    def _cost(self, used: dict[str, ModelUsage]) -> float:
        return sum(
            cost_of(self._price_of(model), input_tokens(one), one.output_tokens)
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
