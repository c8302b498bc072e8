"""The application of a study, and its server."""

import contextlib
import math
import os
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import PurePath

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from casewise.errors import UsageError
from casewise_study.app_study.admin import add_admin_routes
from casewise_study.app_study.guard import Guard, Settings
from casewise_study.app_study.person_routes import add_person_routes
from casewise_study.app_study.site import ElsewhereError, Site
from casewise_study.store.database import StoreUnavailableError
from casewise_study.store.study_store import Store

_TELL_AGAIN_SECONDS = 60
"""Seconds before the terminal is told again that the database does not answer."""

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_BACKLOG = 512
"""Browsers that are kept waiting rather than turned away."""
_CONNECTIONS = 800
"""Connections at once, below the usual limit of 1,024 descriptors; others are answered 503."""


def make_app(store: Store, settings: Settings, log: Callable[[bytes], object]) -> Guard:
    """Make the application of a study with its guard.

    Args:
        store: The study's database.
        settings: How it is run.
        log: Takes a line for each request.
    """
    site = Site(store, settings)
    broken = site.show("broken.html", status=500)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_exception_handler(Exception, lambda *_: broken)
    static = files(__package__ or "") / "static"
    known = {file.name: file.read_bytes() for file in static.iterdir()}

    @app.get("/static/{asset}")
    async def asset(asset: str) -> Response:
        """Serve the style sheet, script and icon."""
        if asset not in known:
            return Response(status_code=404)
        headers = {"cache-control": "public, max-age=86400"}
        return Response(known[asset], 200, headers, _TYPES.get(PurePath(asset).suffix))

    @app.get("/health")
    async def health() -> Response:
        """Answer a load balancer's health check."""
        return Response("ok", media_type="text/plain")

    last_told = -math.inf

    @app.exception_handler(StoreUnavailableError)
    def unavailable(_: Request, error: Exception) -> Response:
        nonlocal last_told
        if time.monotonic() - last_told > _TELL_AGAIN_SECONDS:
            last_told = time.monotonic()
            print(f"casewise: {error}", file=sys.stderr)
        response = site.show("unavailable.html", status=503)
        response.headers["retry-after"] = "10"
        return response

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, __: Exception) -> Response:
        return site.show("malformed.html", status=422)

    @app.exception_handler(HTTPException)
    def missing(_: Request, error: HTTPException) -> Response:
        return site.show("missing.html", status=error.status_code)

    @app.exception_handler(ElsewhereError)
    def elsewhere(_: Request, error: ElsewhereError) -> Response:
        return error.response

    add_person_routes(app, site)
    add_admin_routes(app, site)
    return Guard(app, settings, site.rates, broken, log)


def listen(host: str, port: int) -> socket.socket:
    """Bind a port; 0 is any that is free.

    Raises:
        UsageError: It is taken, or there is no such host.
    """
    try:
        # With the protocol named, asyncio switches off the delay of small packets: 40 ms a page.
        options = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = options[0]
        with contextlib.ExitStack() as unbound:
            server = unbound.enter_context(socket.socket(family, kind, protocol))
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
            server.listen(_BACKLOG)
            unbound.pop_all()
    except OSError as error:
        raise UsageError(f"--host {host} --port {port}: {error.strerror}; give another") from None
    return server


def serve(
    store: Store, settings: Settings, listening: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve a study until Ctrl-C; requests that have begun are finished.

    Args:
        store: The study's database.
        settings: How it is run.
        listening: From ``listen``.
        ready: Called once people can come.
    """
    opener = partial(os.open, mode=0o600)
    with open(settings.log or os.devnull, "ab", 0, opener=opener) as log, listening:
        app = make_app(store, settings, log.write)
        config = uvicorn.Config(
            app,
            http="h11",
            backlog=_BACKLOG,
            limit_concurrency=_CONNECTIONS,
            access_log=False,
            log_config=None,
            # The guard prints one line for an error; a traceback may hold a query.
            log_level="critical",
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=10,
        )
        ready()
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
