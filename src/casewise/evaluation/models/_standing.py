"""State of requests while a run lasts: how often each was asked, and until when a model waits."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio

from casewise.evaluation.models._fault_table import LONGEST_S, FaultKind, Row, Then

SAID_S = 5.0
"""Seconds of waiting after which a line says why nothing comes."""

BELIEVED = 3
"""Attempts after which a wait that was told is too short: some servers always say 0."""

FIRST_S, MOST_S = 0.5, 60.0
"""Seconds before a request is asked again where the provider names none: at first, and at most."""


def seconds_before(attempt: int, told: float | None) -> float:
    """Seconds before the next attempt: those that were told, else twice as long each time.

    Args:
        attempt: Number of attempts so far.
        told: Seconds that the provider asks for; None where it names none. After ``BELIEVED``
            attempts they are the least.
    """
    if told is not None and attempt <= BELIEVED:
        return min(told, LONGEST_S)
    usual = min(FIRST_S * 2 ** min(attempt - 1, 20), MOST_S) * random.uniform(0.8, 1.2)
    return float(max(usual, min(told or 0.0, LONGEST_S)))


@dataclass(slots=True, eq=False)
class Asking:
    """One request, over all of its attempts."""

    scope: anyio.CancelScope
    is_out: bool = False
    """True while an attempt is under way: its answer is paid for, and awaited."""
    times: Counter[FaultKind] = field(default_factory=Counter)
    """Faults that its attempts met, by kind."""
    _waits_since: float | None = None

    def may_be_repeated(self, row: Row, now: float) -> bool:
        """Count one more fault, and tell whether the request is asked again."""
        if row.then is Then.WAIT:
            self._waits_since = now if self._waits_since is None else self._waits_since
            return now - self._waits_since < LONGEST_S
        self.times[row.kind] += 1
        return row.then is Then.AGAIN and self.times[row.kind] <= row.times


_asking: ContextVar[Asking | None] = ContextVar("casewise_asking", default=None)


def current_asking() -> Asking | None:
    """Request of the current task; None for one that isn't watched."""
    return _asking.get()


@contextmanager
def being_asked(asking: Asking) -> Iterator[None]:
    """Ask a request in the block."""
    token = _asking.set(asking)
    try:
        yield
    finally:
        _asking.reset(token)


@contextmanager
def out() -> Iterator[None]:
    """Have an attempt under way in the block."""
    asking = _asking.get()
    if asking is None:
        yield
        return
    asking.is_out = True
    try:
        yield
    finally:
        asking.is_out = False


@dataclass(slots=True)
class Rest:
    """Waiting of a model whose provider asked for it."""

    tell: Callable[[str], None]
    _since: datetime | None = None
    _until: datetime = datetime.min
    _told: datetime | None = None
    """End of the waiting as it was told last."""

    def begin(self, seconds: float) -> None:
        """Note a request that waits; a line tells it where nothing else comes."""
        now = datetime.now()
        self._until = max(self._until, now + timedelta(seconds=seconds))
        if self._since is None:
            self._since = now
            asyncio.get_running_loop().call_later(SAID_S, self._say, now)
        elif self._told is not None and now > self._told:
            self._say(self._since)

    def _say(self, since: datetime) -> None:
        if self._since is since and self._until > datetime.now():
            self._told = self._until
            self.tell(
                f"rate limited since {since:%H:%M:%S}; "
                f"its requests wait until {self._until:%H:%M:%S}"
            )

    @property
    def seconds(self) -> float:
        """Seconds since the waiting began; 0 after an answer."""
        return (datetime.now() - self._since).total_seconds() if self._since else 0.0

    def end(self) -> None:
        """Note an answer."""
        if self._told is not None and self._since is not None:
            waited = (datetime.now() - self._since).total_seconds()
            self.tell(f"answers again, after {waited:,.0f} s of waiting")
        self._since = self._told = None
