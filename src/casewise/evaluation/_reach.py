"""Whether models' servers can be reached: what is in the way, in plain words, and when to give up.

Only failures to connect count. A server that has accepted a connection may take its time, and one
that answers with an error (too many requests, overloaded) is alive.
"""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import proxy_bypass
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model

from casewise.errors import ModelError
from casewise.evaluation._faults import FaultObserver

Answer = TypeVar("Answer")

UNREACHABLE_S = 30.0
"""After so many seconds of nothing but failed connections, a model is given up."""

OUTAGE_S = 5.0
"""After so many seconds of nothing but failed connections, a model that had answered is out."""

PROXY_S = 3.0
"""How long a proxy may take to accept a connection, when nothing else is sent."""

_PORTS = {"http": 80, "https": 443}
_SOCKS = 1080


class UnreachableError(ModelError):
    """Nothing but failed connections came of a model's requests, from the first one on."""

    def __init__(self, text: str, reason: str) -> None:
        # Inspect shows this attribute of an error, and else its repr.
        self.message = f"connection: {reason}"
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model's requests go."""

    url: str
    """Base of the API, without name and password; empty where only the provider knows it."""
    host: str
    variable: str
    """The environment variable that sets it."""
    proxy: str
    """Host and port of the proxy on the way; empty where there is none."""
    proxy_variable: str

    @property
    def place(self) -> str:
        """What failed to connect, or to be connected to."""
        if self.proxy:
            return f"the proxy {self.proxy} ({self.proxy_variable})"
        return self.host or "the provider"


def address_of_model(model: Model) -> Address:
    """Where a model's requests go, by its client, its name and the environment."""
    api = model.api
    found = str(getattr(getattr(api, "client", None), "base_url", None) or api.base_url or "")
    variable = _variable_of(str(model))
    try:
        parts = urlsplit(found)
        port = parts.port
    except ValueError:
        return Address("", "", variable, "", "")
    host = parts.hostname or ""
    netloc = _host_and_port(host, port or _PORTS.get(parts.scheme))
    url = f"{parts.scheme}://{_host_and_port(host, port)}{parts.path.rstrip('/')}" if host else ""
    name, proxy = _proxy_of(parts.scheme, host)
    return Address(url, netloc if host else "", variable, proxy, name)


def _variable_of(model: str) -> str:
    """The environment variable that sets the address of a model's server."""
    service, *rest = model.split("/")
    if service == "openai-api" and rest:
        service = rest[0]
    return f"{service.upper().replace('-', '_')}_BASE_URL"


def _host_and_port(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"


def _proxy_of(scheme: str, host: str) -> tuple[str, str]:
    """The variable that names a proxy for a host, and the proxy's host and port."""
    if not host or proxy_bypass(host):
        return "", ""
    for name in (f"{scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            value = os.environ.get(variable, "")
            if not value:
                continue
            try:
                parts = urlsplit(value if "://" in value else f"http://{value}")
                return variable, _host_and_port(parts.hostname or value, parts.port)
            except ValueError:
                # The text may hold a password.
                return variable, "that it names"
    return "", ""


def why_unconnected(error: BaseException, address: Address) -> str:
    """Why a connection failed, in plain words, without a word of the server's."""
    place, chain = address.place, list(_causes(error))
    codes = {one.errno for one in chain if isinstance(one, OSError)}
    text = " ".join(str(one) for one in chain)
    names = " ".join(type(one).__name__ for one in chain)
    for one in chain:
        if isinstance(one, socket.gaierror):
            host = (address.proxy or address.host).rsplit(":", 1)[0]
            way = f", the proxy that {address.proxy_variable} names" if address.proxy else ""
            return f"no such host: {host}{way} ({one.strerror})"
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"the certificate of {place} is not trusted ({one.verify_message})"
        if isinstance(one, ssl.SSLError):
            return f"{place} does not speak TLS as expected (is it http:// instead of https://?)"
    if errno.ECONNREFUSED in codes or "Connect call failed" in text:
        verb = "by" if address.proxy else "at"
        return f"connection refused {verb} {place}"
    if codes & {errno.ENETUNREACH, errno.EHOSTUNREACH}:
        return f"no route to {place}"
    if "ProxyError" in names:
        return f"{place} did not let the request through"
    if "Timeout" in names:
        return f"no connection to {place} in time"
    if codes & {errno.ECONNRESET, errno.EPIPE} or "Disconnected" in names or "Protocol" in names:
        return f"connection closed by {place} before an answer"
    return f"no connection to {place}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and all that it was raised from."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        group = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        following = (one.__cause__, one.__context__, getattr(one, "os_error", None), *group)
        todo += [other for other in following if isinstance(other, BaseException)]


@dataclass(slots=True)
class _Outage:
    """Connections fail to a server that had answered."""

    began: float
    clock: datetime
    is_told: bool = False


@dataclass(slots=True)
class Reach:
    """What connecting to one model's server has come to, in one start."""

    model: str
    address: Address
    patience: float
    """Seconds."""
    tell: FaultObserver
    """Told when an outage begins, and when it ends."""
    answered: bool = False
    """Whether any answer has come, an error's status among them."""
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
    """When the last connection was made."""
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
            f"{where.variable} or --model-base-url? And {proxies}."
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
    """What connecting to a model's server has come to so far."""
    start = _start.get()
    known = start.of_models.get(model)
    if known is None:
        address = address_of_model(model)
        known = start.reaches.setdefault(
            (str(model), address.url), Reach(str(model), address, start.patience, start.tell)
        )
        start.of_models[model] = known
    return known


def with_address(model: Model, problem: object) -> str:
    """What is wrong with a model, and where its requests go."""
    url = address_of_model(model).url
    return f"{model}: {problem}" + (f"; its address is {url}" if url else "")


def now() -> float:
    """The time by which deadlines are set."""
    return asyncio.get_running_loop().time()


def check_address(model: str, given: str) -> None:
    """Refuse an address that no request can be sent to.

    Raises:
        ModelError: It is no address of a web server.
    """
    try:
        parts = urlsplit(given)
        fits = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        # What stands before an @ may be a password.
        raise ModelError(
            f"{model}: no request can be sent to the address {given.rsplit('@', 1)[-1]!r} "
            "(expected http://HOST:PORT/PATH or https://HOST/PATH): check "
            f"{_variable_of(model)} or --model-base-url"
        )


def check_proxy(model: Model) -> None:
    """Connect to the proxy on the way to a model's server, if there is one; nothing is sent.

    Raises:
        ModelError: It can't be connected to.
    """
    address = address_of_model(model)
    if not address.proxy:
        return
    value = os.environ.get(address.proxy_variable, "")
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        port = parts.port or _PORTS.get(parts.scheme, _SOCKS)
        socket.create_connection((parts.hostname or "", port), timeout=PROXY_S).close()
    except ValueError:
        reason = f"{address.proxy_variable} names no HOST:PORT of a proxy"
    except OSError as error:
        reason = why_unconnected(error, address)
    else:
        return
    raise ModelError(
        f"{model}: {reason}. Check {address.proxy_variable}: by it, requests to "
        f"{address.host} are sent through a proxy"
    )
