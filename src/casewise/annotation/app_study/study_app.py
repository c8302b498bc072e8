"""The application of a study, and its server."""

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from casewise.annotation import app_base
from casewise.annotation.app_base import Write, new_app, write_nothing
from casewise.annotation.app_study.admin_routes import add_admin
from casewise.annotation.app_study.person_routes import add_person_routes
from casewise.annotation.app_study.site import ElsewhereError, Site
from casewise.annotation.app_study.study_guard import Settings, StudyGuard
from casewise.annotation.store.database import StoreUnavailableError
from casewise.annotation.store.study_store import Store

_RETRY_SECONDS = "10"


def make_app(store: Store, settings: Settings, log: Write = write_nothing) -> StudyGuard:
    """Make the application of a study with its guard.

    Args:
        store: The study's database.
        settings: How it is run.
        log: Takes a line for each request: time, method, path pattern, status, milliseconds.
    """
    site = Site(store, settings)
    broken = site.show("broken.html", status=500)
    app = new_app(__package__ or "", broken, cache_control="public, max-age=86400")

    @app.get("/health")
    async def health() -> Response:
        """Answer a load balancer's health check."""
        return Response("ok", media_type="text/plain")

    @app.exception_handler(StoreUnavailableError)
    def unavailable(_: Request, __: Exception) -> Response:
        response = site.show("unavailable.html", status=503)
        response.headers["retry-after"] = _RETRY_SECONDS
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
    add_admin(app, site)
    return StudyGuard(app, settings, site.rates, broken, log)


@contextlib.contextmanager
def opened_log(path: Path | None) -> Iterator[Write]:
    """Open the request log; ``-`` is standard error."""
    if path is None:
        yield write_nothing
    elif str(path) == "-":
        yield sys.stderr.write
    else:
        with open(path, "a", 1, encoding="utf-8", opener=_for_its_owner) as file:
            yield file.write


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def serve(
    store: Store,
    settings: Settings,
    listening: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve a study until Ctrl-C; requests that have begun are finished.

    Args:
        store: The study's database.
        settings: How it is run.
        listening: From ``app_base.listen``.
        ready: Called once people can come.
    """
    with opened_log(settings.log) as log, listening:
        app = make_app(store, settings, log)
        ready()
        app_base.serve(app, listening)
