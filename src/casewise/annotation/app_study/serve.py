"""The whole application, and running it until it is stopped."""

import contextlib
import errno
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePath

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from casewise.annotation._web import TYPES, static_files
from casewise.annotation.app_study.admin_routes import add_admin
from casewise.annotation.app_study.entry_routes import add_entry
from casewise.annotation.app_study.guard import Rates, Settings, StudyGuard, Write, write_nothing
from casewise.annotation.app_study.page_routes import add_pages
from casewise.annotation.app_study.site import Site
from casewise.annotation.store.database import StoreUnavailableError
from casewise.annotation.store.study_store import Store
from casewise.cases import Case
from casewise.errors import UsageError

_RETRY_SECONDS = "10"
_THREADS = 12


def make_app(
    store: Store, cases: Sequence[Case], settings: Settings, log: Write = write_nothing
) -> StudyGuard:
    """The application of a study, guarded.

    Args:
        store: The study's database.
        cases: Of its cells, in their order.
        settings: How it is run.
        log: Takes a line for each request: method, path pattern, status, milliseconds.
    """
    site = Site(store, cases, settings)
    rates = Rates(settings.rate)
    app = FastAPI(
        lifespan=_few_threads,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    add_entry(app, site, rates)
    add_pages(app, site, rates)
    add_admin(app, site, rates)
    _add_static(app)
    _add_refusals(app, site)
    return StudyGuard(app, settings, rates, site.html("broken.html").encode(), log)


@asynccontextmanager
async def _few_threads(_: FastAPI) -> AsyncIterator[None]:
    """Requests that wait in a queue are sooner done than threads that take turns."""
    current_default_thread_limiter().total_tokens = _THREADS
    yield


def _add_static(app: FastAPI) -> None:
    known = static_files(__package__ or "")

    @app.get("/static/{asset}")
    async def static(asset: str) -> Response:
        """The style, the scripts, the icon."""
        if asset not in known:
            return Response(status_code=404)
        headers = {"cache-control": "public, max-age=86400"}
        return Response(known[asset], media_type=TYPES[PurePath(asset).suffix], headers=headers)

    @app.get("/health")
    async def health() -> Response:
        """For load balancers."""
        return Response("ok", media_type="text/plain")


def _add_refusals(app: FastAPI, site: Site) -> None:
    def unavailable(_: Request, __: Exception) -> Response:
        response = site.show("unavailable.html", status=503)
        response.headers["retry-after"] = _RETRY_SECONDS
        return response

    def malformed(_: Request, __: Exception) -> Response:
        return site.show("malformed.html", status=422)

    def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, StarletteHTTPException)
        return site.show("missing.html", status=error.status_code)

    def broken(_: Request, __: Exception) -> Response:
        return site.show("broken.html", status=500)

    app.add_exception_handler(Exception, broken)
    app.add_exception_handler(StoreUnavailableError, unavailable)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(StarletteHTTPException, refused)
    app.add_exception_handler(HTTPException, refused)


_BACKLOG = 512
_STOP_SECONDS = 10


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


@contextlib.contextmanager
def opened_log(path: Path | None) -> Iterator[Write]:
    """Where lines of the log go; ``-`` is standard error."""
    if path is None:
        yield write_nothing
    elif str(path) == "-":
        yield sys.stderr.write
    else:
        with path.open("a", encoding="utf-8", buffering=1) as file:
            yield file.write


def serve(
    store: Store,
    cases: Sequence[Case],
    settings: Settings,
    listening: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve a study until Ctrl-C; requests that have begun are finished.

    Args:
        store: The study's database.
        cases: Of its cells, in their order.
        settings: How it is run.
        listening: From ``listen``.
        ready: Called once people can come.
    """
    with opened_log(settings.log) as log, listening:
        server = make_server(store, cases, settings, log)
        ready()
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


def make_server(
    store: Store, cases: Sequence[Case], settings: Settings, log: Write = write_nothing
) -> uvicorn.Server:
    """The server, to be run by whoever asks."""
    config = uvicorn.Config(
        make_app(store, cases, settings, log),
        access_log=False,
        log_config=None,
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    return uvicorn.Server(config)
