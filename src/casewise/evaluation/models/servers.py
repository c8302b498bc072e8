"""Servers of models: their addresses, and why one can't be reached."""

import os
import re
import socket
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from inspect_ai.model import Model

from casewise.errors import ModelError
from casewise.evaluation.models.faults import causes_of
from casewise.logs import TARGETS

_PORTS = {"http": 80, "https": 443}


def url_of(model: Model) -> str:
    """Address of a model's server, in one spelling; empty where only the provider knows it."""
    return plain_url(base_of(model))


def base_of(model: Model) -> str:
    """Base of a model's API, as its client has it; empty where only the provider knows it."""
    client = getattr(model.api, "client", None)
    return str(getattr(client, "base_url", None) or model.api.base_url or "")


def plain_url(base: str) -> str:
    """An address without name, password and usual port; empty of what is none."""
    try:
        parts = urlsplit(base)
        port = None if parts.port == _PORTS.get(parts.scheme) else parts.port
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}" if host else ""


def host_of(url: str) -> str:
    """Host and port of an address, for messages; with the proxy on the way, if there is one."""
    parts = urlsplit(url)
    if not parts.hostname:
        return "the provider"
    host = f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, '')}"
    proxy = "" if proxy_bypass(parts.hostname) else getproxies().get(parts.scheme, "")
    return f"{host} through the proxy {proxy.rsplit('@', 1)[-1]}" if proxy else host


def setting_of(model: str) -> str:
    """Setting that a model's address comes from."""
    service, *rest = model.split("/")
    if service == TARGETS:
        return "the field url of the target"
    if service == "openai-api" and rest:
        service = rest[0]
    return f"{service.upper().replace('-', '_')}_BASE_URL or --model-base-url"


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


_BROKEN = (
    ("LineTooLong", "headers too large in the answer of {}"),
    ("BadStatusLine", "{} does not speak HTTP"),
    (
        "Disconnected|ContentLength|TransferEncoding|Payload|Protocol",
        "connection closed by {} before the answer was whole",
    ),
)
"""Answers that break off or are no HTTP, by names of clients' errors."""


def why_unconnected(error: BaseException, url: str) -> str:
    """Reason of a failed connection in the system's words, with the host; none of the server's."""
    place, chain = host_of(url), list(causes_of(error))
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            return f"no such host: {place}"
        if isinstance(cause, ssl.SSLCertVerificationError):
            # A client's own error of this class has none of its attributes.
            words = (getattr(one, "verify_message", "") for one in chain)
            why = next(filter(None, words), "certificate verify failed")
            return f"the certificate of {place} is not trusted ({why})"
        if isinstance(cause, ssl.SSLError):
            return f"{place} does not speak TLS as expected (is it http:// instead of https://?)"
    names = " ".join(type(cause).__name__ for cause in chain)
    for pattern, sentence in _BROKEN:
        if re.search(pattern, names):
            return sentence.format(place)
    numbers = [one.errno for one in chain if isinstance(one, OSError) and one.errno]
    why = os.strerror(numbers[-1]).lower() if numbers else type(chain[-1]).__name__
    return f"{why} at {place}"
