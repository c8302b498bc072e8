"""Run a study's server until it is stopped."""

import contextlib
import errno
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvicorn

from casewise.annotation.app_study._app import make_app
from casewise.annotation.app_study._guard import Write, write_nothing
from casewise.annotation.app_study._settings import Settings
from casewise.annotation.store import Store
from casewise.cases import Case
from casewise.errors import UsageError

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
