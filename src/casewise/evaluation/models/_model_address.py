"""Addresses of models' requests, and causes of failure, in plain words."""

import errno
import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import proxy_bypass

from inspect_ai.model import Model

from casewise.errors import ModelError
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
    api = model.api
    base = str(getattr(getattr(api, "client", None), "base_url", None) or api.base_url or "")
    return address_at(base, _setting_of(str(model)))


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
    url = f"{parts.scheme}://{_host_and_port(host, port)}{parts.path.rstrip('/')}" if host else ""
    name, proxy = _proxy_of(parts.scheme, host)
    return Address(url, netloc if host else "", setting, proxy, name)


def _setting_of(model: str) -> str:
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


def why_unconnected(error: BaseException, address: Address) -> str:
    """Reason of a failed connection, without a word of the server's."""
    place, chain = address.place, list(_causes(error))
    codes = {cause.errno for cause in chain if isinstance(cause, OSError)}
    text = " ".join(str(cause) for cause in chain)
    names = " ".join(type(cause).__name__ for cause in chain)
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            host = (address.proxy or address.host).rsplit(":", 1)[0]
            way = f", the proxy that {address.proxy_variable} names" if address.proxy else ""
            return f"no such host: {host}{way} ({cause.strerror})"
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {place} is not trusted ({cause.verify_message})"
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
    if codes & {errno.ECONNRESET, errno.EPIPE} or "Disconnected" in names or "Protocol" in names:
        return f"connection closed by {place} before an answer"
    return f"no connection to {place}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and all errors that it was raised from."""
    seen: list[BaseException] = []
    todo: list[Any] = [error]
    while todo:
        cause = todo.pop(0)
        if isinstance(cause, BaseException) and not any(cause is one for one in seen):
            seen.append(cause)
            yield cause
            todo += (cause.__cause__, cause.__context__, getattr(cause, "os_error", None))
            todo += getattr(cause, "exceptions", ())


def with_address(model: Model, problem: object) -> str:
    """Message on a problem of a model, with its address."""
    url = address_of_model(model).url
    return f"{model}: {problem}" + (f"; its address is {url}" if url else "")


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
            f"{_setting_of(model)}"
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
