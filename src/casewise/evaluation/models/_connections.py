"""Clients of one event loop, and limits of connections."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from casewise.evaluation.models.faults import FaultKind, UnreadAnswerError

Value = TypeVar("Value")

CONNECT_TIMEOUT_S = 60.0
"""As Inspect's: a busy process notices late that a connection stands."""

KEEPALIVE_S = 5.0
"""As Inspect's: an idle connection is closed before most servers close it."""

MOST_BYTES = 64_000_000
"""Most bytes of an answer: above what any model writes, log-probabilities included."""

USUAL_BYTES, LARGE_AT_ONCE = 4_000_000, 2
"""Bytes of an answer that is read at once, and how many larger ones are: the others wait."""

_LARGE = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]()


def check_size(size: int) -> None:
    """Refuse an answer by its number of bytes.

    Raises:
        UnreadAnswerError: It has more than any model writes.
    """
    if size > MOST_BYTES:
        raise UnreadAnswerError(FaultKind.TOO_LONG, f"the answer has {size:,} bytes or more")


async def limited(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Parts of an unpacked body: a few packed megabytes can hold gigabytes.

    Raises:
        UnreadAnswerError: They are longer than any model writes; the rest is not read.
    """
    large = _LARGE.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(LARGE_AT_ONCE))
    size = 0
    async with AsyncExitStack() as place:
        async for part in parts:
            if size <= USUAL_BYTES < size + len(part):
                await place.enter_async_context(large)
            size += len(part)
            check_size(size)
            yield part


def limit_body(response: Any) -> None:
    """Have the body of a response of httpx read to a limit.

    Raises:
        UnreadAnswerError: It says itself that it is longer.
    """
    said = response.headers.get("content-length", "")
    check_size(int(said) if said.isdecimal() else 0)
    parts = response.aiter_bytes
    vars(response)["aiter_bytes"] = lambda *given: limited(parts(*given))


class PerLoop(Generic[Value]):
    """A client opened once for each event loop: connections of another loop are of no use.

    Args:
        opening: Yields an open client, and closes it when its loop ends, as loops end the
            generators that they have begun.
    """

    def __init__(self, opening: Callable[[], AsyncGenerator[Value]]) -> None:
        self._opening = opening
        self._loop: asyncio.AbstractEventLoop | None = None

    async def get(self) -> Value:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._opened = self._opening()
            self._current, self._loop = await anext(self._opened), loop
        return self._current
