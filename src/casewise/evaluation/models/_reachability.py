"""Reachability of models' servers, and the time to give one up.

Only failures to connect count. A server that has accepted a connection may take its time, and one
that answers with an error (too many requests, overloaded) is alive.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model

from casewise.errors import ModelError
from casewise.evaluation.models._context import holding
from casewise.evaluation.models._faults import FaultObserver
from casewise.evaluation.models._model_address import Address, address_of_model

Answer = TypeVar("Answer")

UNREACHABLE_S = 30.0
"""Seconds of nothing but failed connections after which a model is given up."""

OUTAGE_S = 5.0
"""Seconds of nothing but failed connections after which a model that had answered is out."""


class UnreachableError(ModelError):
    """A model whose requests met nothing but failed connections, from the first one on."""

    def __init__(self, text: str, reason: str) -> None:
        # Inspect shows this attribute of an error, and else its repr.
        self.message = f"connection: {reason}"
        super().__init__(text)


@dataclass(slots=True)
class _Outage:
    """Failing connections to a server that had answered."""

    began: float
    clock: datetime
    is_told: bool = False


@dataclass(slots=True)
class Reach:
    """Connections to one model's server, in one start."""

    model: str
    address: Address
    patience: float
    """Seconds."""
    tell: FaultObserver
    """Told when an outage begins, and when it ends."""
    answered: bool = False
    """True once an answer has come, be it an error's status."""
    failing_since: float | None = None
    """Time of the first failed connection."""
    waiting: int = 0
    """Requests whose connection stands, and whose answer is awaited."""
    reason: str = ""
    """Reason of the last failed connection."""
    gave_up: str = ""
    """Message on a model that was given up; empty for any other."""
    _scopes: set[anyio.CancelScope] = field(default_factory=set)
    _deadline: float = float("inf")
    """Deadline of the scopes."""
    _connected: float = 0.0
    """Time of the last connection."""
    _outage: _Outage | None = None

    async def until_given_up(self, asking: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for an answer until the model is given up.

        Raises:
            UnreachableError: It is given up.
        """
        self.check()
        with anyio.CancelScope(deadline=self._deadline) as scope:
            self._scopes.add(scope)
            try:
                return await asking()
            finally:
                self._scopes.discard(scope)
        self.gave_up = self.gave_up or self._advice()
        raise UnreachableError(self.gave_up, self.reason)

    def check(self) -> None:
        """Raise ``UnreachableError`` for a model that was given up."""
        if self.gave_up:
            raise UnreachableError(self.gave_up, self.reason)

    def begins_to_wait(self) -> None:
        """Note a request whose connection stands."""
        self.waiting += 1
        self._connected = now()
        self._renew()

    def waits_no_more(self) -> None:
        """Note the end of a request whose connection stood."""
        self.waiting -= 1
        self._renew()

    def has_answered(self) -> None:
        """Note an answer: from now on, failures are waited out."""
        if not self.answered:
            self.answered = True
            self._renew()
        if (outage := self._outage) is not None:
            self._outage = None
            if outage.is_told:
                self.tell(
                    self.model,
                    f"answers again, after {now() - outage.began:,.0f} s without a connection "
                    f"(since {outage.clock:%H:%M:%S})",
                )

    def has_failed(self, began: float, reason: str) -> None:
        """Note a failed connection, begun at a time; tell once of an outage that lasts."""
        self.reason = reason
        if self.failing_since is None:
            self.failing_since = began
        self._renew()
        if not self.answered:
            return
        outage = self._outage = self._outage or _Outage(now(), datetime.now())
        may_answer = self.waiting > 0 and self._connected > outage.began
        if outage.is_told or may_answer or now() - outage.began < OUTAGE_S:
            return
        outage.is_told = True
        where = self.address.url or "the provider"
        self.tell(
            self.model,
            f"no connection to {where} since {outage.clock:%H:%M:%S} ({self.reason}); "
            "its requests wait, and are sent again until it answers",
        )

    def _renew(self) -> None:
        """Set the deadline of all that wait, by what is known now."""
        deadline = float("inf")
        if not (self.answered or self.waiting or self.failing_since is None):
            deadline = self.failing_since + self.patience
        if deadline != self._deadline:
            self._deadline = deadline
            for scope in self._scopes:
                scope.deadline = deadline

    def _advice(self) -> str:
        where = self.address
        address = f" ({where.url})" if where.url else ""
        proxies = (
            f"{where.proxy_variable}, which sends requests through {where.proxy}"
            if where.proxy
            else "proxy variables (none applies to this address)"
        )
        return (
            f"{self.model}: given up after {self.patience:.0f} s without any answer: "
            f"{self.reason}. Check: is the server up? Is the address right{address}: "
            f"{where.setting}? And {proxies}."
        )


@dataclass(frozen=True, slots=True)
class _Start:
    """Connections of one start of a run."""

    patience: float = UNREACHABLE_S
    tell: FaultObserver = lambda _model, _what: None
    reaches: dict[tuple[str, str], Reach] = field(default_factory=dict)
    of_models: WeakKeyDictionary[Model, Reach] = field(default_factory=WeakKeyDictionary)
    """Reach of each client: finding its address reads the environment, and every request asks."""


_start: ContextVar[_Start] = ContextVar("casewise_start", default=_Start())  # noqa: B039


def reached_anew(
    patience: float = UNREACHABLE_S, tell: FaultObserver | None = None
) -> AbstractContextManager[object]:
    """Forget in a block what was reached before: its own first requests decide.

    Args:
        patience: Seconds of nothing but failed connections after which a model is given up.
        tell: Told, once each, when a model that had answered can't be reached any more, and when
            it answers again.
    """
    return holding(_start, _Start(patience) if tell is None else _Start(patience, tell))


def reach_of(model: Model) -> Reach:
    """Connections to a model's server so far."""
    start = _start.get()
    known = start.of_models.get(model)
    if known is None:
        name, address = str(model), address_of_model(model)
        reach = Reach(name, address, start.patience, start.tell)
        known = start.of_models[model] = start.reaches.setdefault((name, address.url), reach)
    return known


def now() -> float:
    """Time of the running loop, by which deadlines are set."""
    return asyncio.get_running_loop().time()
