"""The guard around the application: rate limits, changes from other sites, headers, the log."""

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from fastapi import Request, Response
from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect

from casewise.errors import UsageError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

MOST_BYTES = 64 * 1024
"""Most bytes of a request's body."""

BODY_SECONDS = 20
"""Seconds within which a request's body must have come."""

_READING = ("GET", "HEAD")
_METHODS = (*_READING, "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

# No scripts or styles from elsewhere or inline, no framing.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the study's server."""

    origin: str
    """Address that people reach it by, such as ``https://study.example``; without a path."""
    behind_proxy: bool = False
    """True if the last address of all X-Forwarded-For lines is the person's."""
    rate: str | None = None
    """Requests that one address may make, in the notation of ``limits``; None is any number."""
    newcomers: str | None = None
    """People without a signed link who may begin from one address range, in the same notation."""
    log: Path | None = None
    """File of requests, without content; None writes none."""
    still_open: tuple[str, ...] | None = None
    """What the study lacks, for whoever tries it before people come; None where people come."""

    @property
    def secure(self) -> bool:
        """True if cookies are for https alone."""
        return self.origin.startswith("https:")


class Rates:
    """Rate limits by address. Addresses are kept in memory only, while they count."""

    def __init__(self, settings: Settings) -> None:
        """Start counting, by the rates of the settings."""
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._limits = {
            "page": _parsed("--rate", settings.rate),
            "secret": _parsed("", "10/minute"),
            "newcomer": _parsed("--newcomers", settings.newcomers),
        }
        self.turned_away = 0
        """Times that somebody could not begin, as many had begun from the same address range."""

    def admits(self, what: Literal["page", "secret"], request: Request) -> bool:
        """Tell whether an address may ask for a page now, or try a token or a personal code."""
        return self._hit(what, address_range(request.scope["casewise_address"], 32, 64))

    def _hit(self, what: str, place: str) -> bool:
        return all(self._limiter.hit(limit, what, place) for limit in self._limits[what])

    def admits_newcomer(self, request: Request) -> bool:
        """Tell whether one more person may begin from the range of an address.

        Who comes from this computer is not counted: a proxy here would stand for everybody.
        """
        place = address_range(request.scope["casewise_address"])
        if place in _OWN or self._hit("newcomer", place):
            return True
        self.turned_away += 1
        return False


def address_range(address: str, v4: int = 24, v6: int = 56) -> str:
    """The range that an address is in, of so many bits; the text itself of what is none.

    One computer has 2^64 addresses of IPv6, and may take another for each request.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return str(ip_network(f"{ip}/{v4 if ip.version == 4 else v6}", strict=False))


_OWN = (address_range("127.0.0.1"), address_range("::1"))


def _parsed(option: str, rate: str | None) -> list[RateLimitItem]:
    try:
        return parse_many(rate) if rate else []
    except ValueError:
        raise UsageError(f"{option}: {rate!r} is not a rate, such as 300/second") from None


class Guard:
    """Around the whole application: every request passes here first, and every answer last."""

    def __init__(
        self,
        app: App,
        settings: Settings,
        rates: Rates,
        broken: Response,
        log: Callable[[bytes], object],
    ) -> None:
        """Guard the study's application.

        Args:
            app: The application.
            settings: How it is run.
            rates: Of requests.
            broken: The answer to what should not happen.
            log: Takes a line for each request: time, method, path pattern, status, milliseconds.
        """
        self._app = app
        self._settings = settings
        self._rates = rates
        self._broken = broken
        self._log = log
        self._headers = dict(_HEADERS)
        if settings.secure:
            self._headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=[*message.get("headers", ())])
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                message["headers"] = headers.raw
            await send(message)

        try:
            request = Request(scope, receive)
            body = self._refusal(request) or await _body(request)
            if isinstance(body, Response):
                await body(scope, receive, guarded)
            else:
                await self._app(scope, _once(body, receive), guarded)
        except (Exception, asyncio.CancelledError) as error:
            # Its text may hold a query, and so may a traceback's.
            place = getattr(scope.get("route"), "path", "")
            print(f"casewise: {type(error).__name__} at {scope['method']} {place}", file=sys.stderr)
            if not status:
                await self._broken(scope, receive, guarded)
        finally:
            spent = (time.perf_counter() - began) * 1000
            pattern = getattr(scope.get("route"), "path", "-")
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            # A full disk must not take the study's pages with it.
            with contextlib.suppress(OSError):
                self._log(f"{now} {method} {pattern} {status} {spent:.1f}ms\n".encode())

    def _refusal(self, request: Request) -> Response | None:
        """Refuse an address above its rate, changes from other sites, bodies that are too long."""
        headers = request.headers
        request.scope["casewise_address"] = self._address(request)
        if not self._rates.admits("page", request):
            words = "Too many requests from this address. Wait a second and reload the page."
            return Response(words, 429, {"retry-after": "1"}, "text/plain")
        if request.method in _READING:
            return None
        site = headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or not self._is_own(request):
            return Response("This did not come from the page.", 403, media_type="text/plain")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            return Response("Too long.", 413, media_type="text/plain")
        return None

    def _is_own(self, request: Request) -> bool:
        """Tell whether the origin, where a browser names it, is the study's."""
        origin = request.headers.get("origin")
        if origin is None or origin == self._settings.origin:
            return True
        host = urlsplit(origin).netloc
        return bool(host) and not self._settings.secure and host == request.headers.get("host")

    def _address(self, request: Request) -> str:
        # Some proxies append a line, not an entry. What stands before was written by whoever asked.
        *_, forwarded = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
        if self._settings.behind_proxy and forwarded.strip():
            return forwarded.strip()
        return request.client.host if request.client else "-"


async def _body(request: Request) -> bytes | Response:
    """Read the whole body before the application starts, within limits of size and time."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    return Response("Too long.", 413, {"connection": "close"}, "text/plain")
    except (ClientDisconnect, TimeoutError):
        return Response("Too slow.", 408, {"connection": "close"}, "text/plain")
    return bytes(body)


def _once(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the application the body that was read."""
    whole = [{"type": "http.request", "body": body, "more_body": False}]

    async def call() -> Message:
        return whole.pop() if whole else await receive()

    return call
