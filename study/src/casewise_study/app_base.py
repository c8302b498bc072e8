"""The base of the web application: request guard, templates, static files, server."""

import asyncio
import contextlib
import errno
import secrets
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect

from casewise.errors import UsageError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Write = Callable[[str], object]
"""Takes a line of the log."""

READING = ("GET", "HEAD")
"""Methods that change nothing."""

BODY_SECONDS = 20
"""Seconds within which a request's body must have come."""

_METHODS = (*READING, "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_THREADS = 12
_BACKLOG = 512
"""Browsers that are kept waiting rather than turned away."""
_CONNECTIONS = 800
"""Connections at once, below the usual limit of 1,024 descriptors; others are answered 503."""
_STOP_SECONDS = 10
_ASK_SECONDS = 1
_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


def write_nothing(_: str) -> None:
    """Discard a line of the log."""


def constant_time_equal(given: str, kept: str) -> bool:
    """Compare two texts in constant time."""
    return secrets.compare_digest(given.encode(), kept.encode())


class Guard:
    """Around a whole application: every request passes here first, and every answer last.

    A subclass says who is let in (``check``), which origins are its own (``is_own``), and how a
    refusal is worded (``refuse``).
    """

    most_bytes: int
    """Most bytes of a request's body."""

    def __init__(
        self, app: App, headers: Mapping[str, str], broken: Response, log: Write = write_nothing
    ) -> None:
        """Guard an application.

        Args:
            app: The application.
            headers: Of every answer that does not set them itself.
            broken: The answer to what should not happen.
            log: Takes a line for each request: time, method, path pattern, status, milliseconds.
        """
        self._app = app
        self._headers = headers
        self._broken = broken
        self._log = log
        self.unanswered = 0
        """Requests that were still waiting when the server stopped."""

    def check(self, request: Request) -> Response | None:
        """Return the answer that replaces the application's, or None to let the request pass."""
        raise NotImplementedError

    def is_own(self, request: Request, origin: str | None) -> bool:
        """Tell whether a request that changes something comes from a page of the application."""
        raise NotImplementedError

    def refuse(self, status: int, reason: str) -> Response:
        """Return the answer to a refused request."""
        raise NotImplementedError

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
            answer = self.check(request) or self._check_change(request)
            body = answer or await self._body(request)
            if isinstance(body, Response):
                await body(scope, receive, guarded)
            else:
                await self._app(scope, _once(body, receive), guarded)
        except asyncio.CancelledError:
            # The server stops, and has waited for as long as it does.
            self.unanswered += 1
            if not status:
                await self._broken(scope, receive, guarded)
        except Exception as error:
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
            self._log(f"{now} {method} {pattern} {status} {spent:.1f}ms\n")

    def _check_change(self, request: Request) -> Response | None:
        """Refuse changes from other sites, and bodies that are too long."""
        if request.method in READING:
            return None
        headers = request.headers
        site = headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or not self.is_own(request, headers.get("origin")):
            return self.refuse(403, "This did not come from the page.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > self.most_bytes:
            return self.refuse(413, "Too long.")
        return None

    async def _body(self, request: Request) -> bytes | Response:
        """Read the whole body before the application starts, within limits of size and time."""
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > self.most_bytes:
                        return self._give_up(413, "Too long.")
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return self._give_up(408, "Too slow.")
        return bytes(body)

    def _give_up(self, status: int, reason: str) -> Response:
        """Refuse and close the connection, without waiting for the rest of the body."""
        answer = self.refuse(status, reason)
        answer.headers["connection"] = "close"
        return answer


def _once(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the application the body that was read."""
    whole = [{"type": "http.request", "body": body, "more_body": False}]

    async def call() -> Message:
        return whole.pop() if whole else await receive()

    return call


def security_headers(*, forms: str, referrer: str) -> dict[str, str]:
    """Security headers: no scripts or styles from elsewhere or inline, no framing.

    Args:
        forms: Where forms may go: ``'none'`` or ``'self'``.
        referrer: The policy. ``no-referrer`` also takes the origin from forms that are sent.
    """
    return {
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        f"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action {forms}; "
        "frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": referrer,
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
    }


@cache
def templates(package: str) -> Environment:
    """Load the templates of a package; values are always escaped."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def new_app(package: str, broken: Response, **static_headers: str) -> FastAPI:
    """Make an application that serves static files, shared ones too, and has no pages yet.

    Args:
        package: Package with a folder ``static`` of its own files.
        broken: The answer to what should not happen.
        static_headers: Of the static files, with ``_`` for ``-``.
    """
    app = FastAPI(
        lifespan=_few_threads,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.add_exception_handler(Exception, lambda *_: broken)
    known = {
        file.name: file.read_bytes()
        for folder in (files("casewise_study"), files(package))
        for file in (folder / "static").iterdir()
        if PurePath(file.name).suffix in _TYPES
    }
    headers = {name.replace("_", "-"): value for name, value in static_headers.items()}

    @app.get("/static/{asset}")
    async def static(asset: str) -> Response:
        """Serve the style sheet, scripts and icon."""
        if asset not in known:
            return Response(status_code=404)
        return Response(known[asset], media_type=_TYPES[PurePath(asset).suffix], headers=headers)

    return app


@contextlib.asynccontextmanager
async def _few_threads(_: FastAPI) -> AsyncIterator[None]:
    """Limit the worker threads: queued requests finish sooner than many threads at once."""
    current_default_thread_limiter().total_tokens = _THREADS
    yield


def listen(host: str, port: int) -> socket.socket:
    """Bind a port; 0 is any that is free.

    Raises:
        UsageError: It is taken, or there is no such host.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UsageError(f"--host {host}: {error.strerror}") from None
    # With the protocol named, asyncio switches off the delay of small packets: 40 ms a page.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL):
            raise UsageError(f"--port {port}: {error.strerror}; give another") from None
        raise
    return made


def make_server(app: App) -> uvicorn.Server:
    """Make the server of an application, without running it."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        backlog=_BACKLOG,
        limit_concurrency=_CONNECTIONS,
        access_log=False,
        log_config=None,
        # The guard prints one line for an error; a traceback may hold a query.
        log_level="critical",
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    return uvicorn.Server(config)


def serve(app: App, listening: socket.socket, done: Callable[[], bool] | None = None) -> None:
    """Serve an application until Ctrl-C or until it is done; requests that have begun are finished.

    Args:
        app: The application.
        listening: From ``listen``.
        done: Asked every ``_ASK_SECONDS``, in a thread of its own.
    """
    server, stopped = make_server(app), threading.Event()

    def watch() -> None:
        while done is not None and not stopped.wait(_ASK_SECONDS):
            if done():
                server.should_exit = True

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        stopped.set()
        watching.join()
