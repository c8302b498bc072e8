"""Servers of models: their addresses, why they can't be reached, and when one is given up.

Only failures to connect count. A server that has accepted a connection may take its time, and one
that answers with an error (too many requests, overloaded) is alive.
"""

import asyncio
import errno
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import proxy_bypass
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model

from casewise.errors import ModelError
from casewise.evaluation.models._faults import FaultObserver, holding
from casewise.evaluation.models._said import causes_of
from casewise.evaluation.models._standing import Asking, Rest, being_asked
from casewise.logs import TARGETS

PROXY_S = 3.0
"""Seconds that a proxy may take to accept a connection, when nothing else is sent."""

_PORTS = {"http": 80, "https": 443}
_SOCKS = 1080


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a model's requests."""

    url: str
    """Base of the API, without name and password; empty where only the provider knows it."""
    host: str
    setting: str
    """Source of the address: an environment variable or an option, or a target's file."""
    proxy: str
    """Host and port of the proxy on the way; empty where there is none."""
    proxy_variable: str

    @property
    def place(self) -> str:
        """Name of the server, or of the proxy on the way, for messages."""
        if self.proxy:
            return f"the proxy {self.proxy} ({self.proxy_variable})"
        return self.host or "the provider"


def address_of_model(model: Model) -> Address:
    """Address of a model's requests, by its client, its name and the environment."""
    return address_at(base_of(model), setting_of(str(model)))


def base_of(model: Model) -> str:
    """Base of a model's API, as its client has it; empty where only the provider knows it."""
    api = model.api
    return str(getattr(getattr(api, "client", None), "base_url", None) or api.base_url or "")


def address_at(base: str, setting: str) -> Address:
    """Address of requests to the base of an API, with the proxy on the way.

    Args:
        base: Its address; a name and password in it are left out.
        setting: Source of the address, for messages.
    """
    try:
        parts = urlsplit(base)
        port = parts.port
    except ValueError:
        return Address("", "", setting, "", "")
    host = parts.hostname or ""
    netloc = _host_and_port(host, port or _PORTS.get(parts.scheme))
    shown = _host_and_port(host, None if port == _PORTS.get(parts.scheme) else port)
    url = f"{parts.scheme}://{shown}{parts.path.rstrip('/')}" if host else ""
    name, proxy = _proxy_of(parts.scheme, host)
    return Address(url, netloc if host else "", setting, proxy, name)


def setting_of(model: str) -> str:
    """Source of the address of a model's server."""
    service, *rest = model.split("/")
    if service == TARGETS:
        return "the field url of the target"
    if service == "openai-api" and rest:
        service = rest[0]
    return f"{service.upper().replace('-', '_')}_BASE_URL or --model-base-url"


def _host_and_port(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"


def _proxy_of(scheme: str, host: str) -> tuple[str, str]:
    """Variable of the proxy on the way to a host, and the proxy's host and port."""
    if not host or proxy_bypass(host):
        return "", ""
    for name in (f"{scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            value = os.environ.get(variable, "")
            if not value:
                continue
            try:
                parts = _proxy_parts(value)
                return variable, _host_and_port(parts.hostname or value, parts.port)
            except ValueError:
                # The text may hold a password.
                return variable, "that it names"
    return "", ""


def _proxy_parts(value: str) -> SplitResult:
    return urlsplit(value if "://" in value else f"http://{value}")


def why_unconnected(error: BaseException, address: Address, *, is_begun: bool = False) -> str:
    """Reason of a failed connection, without a word of the server's.

    Args:
        error: The client's error.
        address: Address of the request.
        is_begun: Whether the head of an answer had come.
    """
    place, chain = address.place, list(causes_of(error))
    codes = {cause.errno for cause in chain if isinstance(cause, OSError)}
    text = " ".join(str(cause) for cause in chain)
    names = " ".join(type(cause).__name__ for cause in chain)
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            host = (address.proxy or address.host).rsplit(":", 1)[0]
            way = f", the proxy that {address.proxy_variable} names" if address.proxy else ""
            return f"no such host: {host}{way} ({cause.strerror})"
    if untrusted := [one for one in chain if isinstance(one, ssl.SSLCertVerificationError)]:
        # aiohttp's own error of this class has none of its attributes.
        found = next((one for one in untrusted if getattr(one, "verify_message", "")), None)
        return _untrusted(place, found)
    for cause in chain:
        if isinstance(cause, ssl.SSLError):
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
    if _LARGE_HEAD.search(text):
        return f"headers too large in the answer of {place}"
    if _NO_HTTP.search(text):
        return f"{place} does not speak HTTP"
    is_reset = errno.ECONNRESET in codes
    is_cut = is_reset or errno.EPIPE in codes or "Disconnected" in names or "Protocol" in names
    if is_begun or is_cut:
        end = "reset" if is_reset else "closed"
        moment = "in the middle of" if is_begun else "before"
        return f"connection {end} by {place} {moment} an answer"
    return f"no connection to {place}"


_LARGE_HEAD = re.compile(r"got more than \d+ bytes|receive buffer too long", re.IGNORECASE)
_NO_HTTP = re.compile(r"illegal status line|bad status line|expected http/", re.IGNORECASE)
"""Words of clients on an answer's head."""


def _untrusted(place: str, error: ssl.SSLCertVerificationError | None) -> str:
    """Reason of a certificate that was refused, and what to do about it."""
    if error is None:
        return f"the certificate of {place} is not trusted; {_AUTHORITY}"
    advice = _CERTIFICATE_ADVICE.get(error.verify_code, _AUTHORITY)
    return f"the certificate of {place} is not trusted ({error.verify_message}); {advice}"


_AUTHORITY = "if a company's own authority signed it, name that authority's file in SSL_CERT_FILE"

_CERTIFICATE_ADVICE = {
    9: "check this machine's clock",
    10: "have the server's certificate renewed, or check this machine's clock",
    62: "write the address with the name that the certificate is for",
    64: "write the address with the name that the certificate is for",
}
"""Advice by OpenSSL's number of the problem: not yet valid, expired, another name or address."""


def with_address(model: Model, problem: object, name: str = "") -> str:
    """Message on a problem of a model, with its address; named, on another model that is there."""
    url = address_of_model(model).url
    return f"{name or model}: {problem}" + (f"; its address is {url}" if url else "")


def is_web_address(text: str) -> bool:
    """Tell whether a request can be sent to an address, by its form."""
    try:
        parts = urlsplit(text)
        return parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_address(model: str, given: str) -> None:
    """Refuse an address that no request can be sent to.

    Raises:
        ModelError: It is no address of a web server.
    """
    if not is_web_address(given):
        # The part before an @ may be a password.
        raise ModelError(
            f"{model}: no request can be sent to the address {given.rsplit('@', 1)[-1]!r} "
            "(expected http://HOST:PORT/PATH or https://HOST/PATH): check "
            f"{setting_of(model)}"
        )


def check_proxy(model: Model) -> None:
    """Connect to the proxy on the way to a model's server, if there is one; nothing is sent.

    Raises:
        ModelError: The proxy can't be connected to.
    """
    address = address_of_model(model)
    if not address.proxy:
        return
    try:
        parts = _proxy_parts(os.environ.get(address.proxy_variable, ""))
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


Answer = TypeVar("Answer")

UNREACHABLE_S = 30.0
"""Seconds of nothing but failed connections after which a model is given up."""

OUTAGE_S = 5.0
"""Seconds of nothing but failed connections after which a model that had answered is out."""


class UnreachableError(ModelError):
    """A model that was given up: nothing but failed connections came, or a final answer."""

    def __init__(self, text: str, reason: str, is_left: bool) -> None:
        # Inspect shows this attribute of an error, and else its repr.
        self.message = reason
        self.is_left = is_left
        """True after a final answer to another request: this one was not sent."""
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
    unread: int | None = 0
    """Answers that could not be read; None once one was read."""
    rest: Rest = field(init=False)
    _gave_up_as: str = ""
    """The same for logs."""
    _is_left: bool = False
    _asked: set[Asking] = field(default_factory=set)
    _deadline: float = float("inf")
    """Deadline of what is asked."""
    _connected: float = 0.0
    """Time of the last connection."""
    _outage: _Outage | None = None

    def __post_init__(self) -> None:
        self.rest = Rest(partial(self.tell, self.model))

    async def until_given_up(self, asking: Callable[[], Awaitable[Answer]]) -> Answer:
        """Wait for an answer until the model is given up.

        Raises:
            UnreachableError: It is given up.
        """
        self.check()
        with anyio.CancelScope(deadline=self._deadline) as scope:
            asked = Asking(scope)
            self._asked.add(asked)
            try:
                with being_asked(asked):
                    return await asking()
            finally:
                self._asked.discard(asked)
        if not self.gave_up:
            self.gave_up, self._gave_up_as = self._advice(), f"connection: {self.reason}"
        raise UnreachableError(self.gave_up, self._gave_up_as, self._is_left)

    def check(self) -> None:
        """Raise ``UnreachableError`` for a model that was given up."""
        if self.gave_up:
            raise UnreachableError(self.gave_up, self._gave_up_as, self._is_left)

    def leave(self, kind: str, message: str) -> None:
        """Give the model up after a final answer; only attempts under way are still awaited.

        Args:
            kind: Kind of the fault, in words.
            message: Message on the model.
        """
        if self.gave_up:
            return
        self.gave_up, self._is_left = message, True
        self._gave_up_as = f"{kind}: not asked after such an answer to another request"
        for asked in self._asked:
            if not asked.is_out:
                asked.scope.cancel()

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
            for asked in self._asked:
                asked.scope.deadline = deadline

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
    accounts: dict[tuple[str, str | None], list[Reach]] = field(default_factory=dict)
    """Reaches by address and key."""
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
        if known is reach:
            start.accounts.setdefault((address.url, model.api.api_key), []).append(reach)
    return known


def reaches_beside(model: Model) -> Sequence[Reach]:
    """Connections of all models with the address and key of this one, itself included."""
    own = reach_of(model)
    return _start.get().accounts.get((own.address.url, model.api.api_key), [own])


def now() -> float:
    """Time of the running loop, by which deadlines are set."""
    return asyncio.get_running_loop().time()
