"""The study's settings, and the guard: every request passes it first, every answer last."""

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from casewise.annotation._web import (
    App,
    Message,
    Receive,
    Send,
    answer,
    read_headers,
    security_headers,
    with_headers,
)
from casewise.errors import UsageError

DEFAULT_RATE = "300/second"

MOST_BYTES = 64 * 1024
"""Of a request's body."""

BODY_SECONDS = 20
"""Within which a request's body has come."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the study's server is run."""

    origin: str
    """What people reach it by, such as ``https://study.example``; without a path."""
    behind_proxy: bool = False
    """Whether the last address of X-Forwarded-For is the person's."""
    rate: str | None = DEFAULT_RATE
    """Requests that one address may make, in the notation of ``limits``; None is any number."""
    log: Path | None = None
    """Where requests are written, without content; None writes none."""

    @property
    def secure(self) -> bool:
        """Whether cookies are for https alone."""
        return self.origin.startswith("https:")


Write = Callable[[str], object]
"""Takes a line of the log."""


def write_nothing(_: str) -> None:
    """No log."""


_TRIES = "10/minute"
_PLAIN = {"content-type": "text/plain; charset=utf-8"}


class Rates:
    """How often each address asks. Addresses stay in memory, and only as long as they count."""

    def __init__(self, rate: str | None) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._all = _parsed(rate) if rate else []
        self._tries = _parsed(_TRIES)

    def admits(self, address: str) -> bool:
        """Whether an address may ask for something now."""
        return all(self._limiter.hit(one, "page", address) for one in self._all)

    def admits_try(self, address: str) -> bool:
        """Whether an address may try an administrator's token now."""
        return all(self._limiter.hit(one, "admin", address) for one in self._tries)

    def admits_code(self, address: str) -> bool:
        """Whether an address may try a personal code now."""
        return all(self._limiter.hit(one, "code", address) for one in self._tries)


def _parsed(rate: str) -> list[RateLimitItem]:
    try:
        return parse_many(rate)
    except ValueError:
        raise UsageError(f"--rate: {rate!r} is not a rate, such as 300/second") from None


class StudyGuard:
    """Every request passes here first, and every answer last."""

    def __init__(
        self, app: App, settings: Settings, rates: Rates, broken: bytes, log: Write
    ) -> None:
        """``broken`` is the page for what should not happen."""
        self._app = app
        self._settings = settings
        self._rates = rates
        self._broken = broken
        self._log = log
        self._headers = security_headers(forms="'self'", referrer="same-origin")
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
                with_headers(message, self._headers)
            await send(message)

        headers = read_headers(scope)
        scope["casewise_address"] = self._address(scope, headers)
        try:
            refusal = self._refusal(scope, headers)
            if refusal is None:
                body = await _body(receive)
                refusal = body if isinstance(body, tuple) else None
            if refusal is not None:
                code, text, more = refusal
                await answer(guarded, code, text, _PLAIN | more)
            else:
                assert isinstance(body, bytes)
                await self._app(scope, _once(body, receive), guarded)
        except Exception as error:
            # Its text may hold a query, and so may a traceback's.
            place = getattr(scope.get("route"), "path", "")
            print(f"casewise: {type(error).__name__} at {scope['method']} {place}", file=sys.stderr)
            if not status:
                html = {"content-type": "text/html; charset=utf-8"}
                await answer(guarded, 500, self._broken, html)
        finally:
            spent = (time.perf_counter() - began) * 1000
            pattern = getattr(scope.get("route"), "path", "-")
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._log(f"{now} {method} {pattern} {status} {spent:.1f}ms\n")

    def _address(self, scope: Message, headers: dict[str, str]) -> str:
        if self._settings.behind_proxy and (forwarded := headers.get("x-forwarded-for")):
            # What stands before the last was written by whoever asked.
            return forwarded.rsplit(",", 1)[-1].strip()
        client = scope.get("client")
        return str(client[0]) if client else "-"

    def _refusal(
        self, scope: Message, headers: dict[str, str]
    ) -> tuple[int, bytes, dict[str, str]] | None:
        if not self._rates.admits(scope["casewise_address"]):
            text = b"Too many requests from this address. Wait a second and reload the page."
            return 429, text, {"retry-after": "1"}
        if scope["method"] in ("GET", "HEAD"):
            return None
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, b"This did not come from the study's page.", {}
        origin = headers.get("origin")
        if origin is not None and origin != self._settings.origin:
            host = urlsplit(origin).netloc
            if not host or self._settings.secure or host != headers.get("host"):
                return 403, b"This did not come from the study's page.", {}
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            return 413, b"Too long.", {}
        return None


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


async def _body(receive: Receive) -> bytes | tuple[int, bytes, dict[str, str]]:
    """The whole body, before the app begins: it is short."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 400, b"", {}
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MOST_BYTES:
                    return 413, b"Too long.", {"connection": "close"}
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return 408, b"Too slow.", {"connection": "close"}


def _once(body: bytes, receive: Receive) -> Receive:
    """Give the app the body that was read."""
    given = False

    async def call() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return call
