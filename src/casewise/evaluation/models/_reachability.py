"""True if models' servers can be reached, and when to give up.

Only failures to connect count. A server that has accepted a connection may take its time, and one
that answers with an error (too many requests, overloaded) is alive.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model

from casewise.errors import ModelError
from casewise.evaluation.models._faults import FaultObserver
from casewise.evaluation.models._model_address import Address, address_of_model

Answer = TypeVar("Answer")

UNREACHABLE_S = 30.0
"""After so many seconds of nothing but failed connections, a model is given up."""

OUTAGE_S = 5.0
"""After so many seconds of nothing but failed connections, a model that had answered is out."""


class UnreachableError(ModelError):
    """Nothing but failed connections came of a model's requests, from the first one on."""

    def __init__(self, text: str, reason: str) -> None:
        # Inspect shows this attribute of an error, and else its repr.
        self.message = f"connection: {reason}"
        super().__init__(text)


@dataclass(slots=True)
class _Outage:
    """Connections fail to a server that had answered."""

    began: float
    clock: datetime
    is_told: bool = False


@dataclass(slots=True)
class Reach:
    """Result of connecting to one model's server, in one start."""

    model: str
    address: Address
    patience: float
    """Seconds."""
    tell: FaultObserver
    """Told when an outage begins, and when it ends."""
    answered: bool = False
    """True if any answer has come, an error's status among them."""
    failing_since: float | None = None
    """Since when connections have failed."""
    waiting: int = 0
    """Requests whose connection stands, and whose answer is awaited."""
    reason: str = ""
    gave_up: UnreachableError | None = None
    _scopes: set[anyio.CancelScope] = field(default_factory=set)
    _set: float = float("inf")
    """The deadline that the scopes have."""
    _connected: float = 0.0
    """Time of the last connection."""
    _outage: _Outage | None = None

    async def until_given_up(self, asking: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for an answer, as long as there is hope of one.

        Raises:
            UnreachableError: There is none.
        """
        self.check()
        with anyio.CancelScope(deadline=self._set) as scope:
            self._scopes.add(scope)
            try:
                return await asking()
            finally:
                self._scopes.discard(scope)
        raise self._give_up()

    def check(self) -> None:
        """Raise ``UnreachableError`` for a model that was given up."""
        if self.gave_up is not None:
            raise UnreachableError(str(self.gave_up), self.reason)

    def begins_to_wait(self) -> None:
        """A connection stands."""
        self.waiting += 1
        self._connected = now()
        self._renew()

    def waits_no_more(self) -> None:
        """A request whose connection stood is over."""
        self.waiting -= 1
        self._renew()

    def has_answered(self) -> None:
        """An answer came: from now on, failures are waited out."""
        if not self.answered:
            self.answered = True
            self._renew()
        if self._outage is not None:
            self._end_outage(self._outage)

    def has_failed(self, began: float, reason: str) -> None:
        """A connection failed that was begun at a time."""
        self.reason = reason
        if self.failing_since is None:
            self.failing_since = began
        self._renew()
        if self.answered:
            self._note_outage()

    def _note_outage(self) -> None:
        """Say once that nothing but failed connections has come for a while."""
        if self._outage is None:
            self._outage = _Outage(now(), datetime.now())
        outage = self._outage
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

    def _end_outage(self, outage: _Outage) -> None:
        self._outage = None
        if outage.is_told:
            seconds = now() - outage.began
            self.tell(
                self.model,
                f"answers again, after {seconds:,.0f} s without a connection "
                f"(since {outage.clock:%H:%M:%S})",
            )

    @property
    def _deadline(self) -> float:
        if self.answered or self.waiting or self.failing_since is None:
            return float("inf")
        return self.failing_since + self.patience

    def _renew(self) -> None:
        deadline = self._deadline
        if deadline != self._set:
            self._set = deadline
            for scope in self._scopes:
                scope.deadline = deadline

    def _give_up(self) -> UnreachableError:
        if self.gave_up is None:
            self.gave_up = UnreachableError(self._text(), self.reason)
        return UnreachableError(str(self.gave_up), self.reason)

    def _text(self) -> str:
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


_Starts = dict[tuple[str, str], Reach]


@dataclass(frozen=True, slots=True)
class _Start:
    patience: float = UNREACHABLE_S
    tell: FaultObserver = lambda _model, _what: None
    reaches: _Starts = field(default_factory=dict)
    of_models: WeakKeyDictionary[Model, Reach] = field(default_factory=WeakKeyDictionary)
    """Clients whose address was made out: that reads the environment, and every request asks."""


_start: ContextVar[_Start] = ContextVar("casewise_start", default=_Start())  # noqa: B039


@contextmanager
def reached_anew(
    patience: float = UNREACHABLE_S, tell: FaultObserver | None = None
) -> Iterator[None]:
    """Forget what was reached before the block: its first requests decide.

    Args:
        patience: Seconds of nothing but failed connections after which a model is given up.
        tell: Told, once each, when a model that had answered can't be reached any more, and when
            it answers again.
    """
    token = _start.set(_Start(patience) if tell is None else _Start(patience, tell))
    try:
        yield
    finally:
        _start.reset(token)


def reach_of(model: Model) -> Reach:
    """Result of connecting to a model's server so far."""
    start = _start.get()
    known = start.of_models.get(model)
    if known is None:
        address = address_of_model(model)
        known = start.reaches.setdefault(
            (str(model), address.url), Reach(str(model), address, start.patience, start.tell)
        )
        start.of_models[model] = known
    return known


def now() -> float:
    """The time by which deadlines are set."""
    return asyncio.get_running_loop().time()
