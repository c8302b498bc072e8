"""Run the page on this computer until it is stopped."""

import contextlib
import errno
import socket
from collections.abc import Callable

import uvicorn

from casewise.annotation.app_revision.guard import Keys
from casewise.annotation.app_revision.routes import make_app
from casewise.annotation.revision.desk import Desk
from casewise.cases import digest
from casewise.errors import UsageError

_FIRST_PORT, _PORTS = 20_000, 10_000
"""Ports of which each file has one by its path: drafts in a browser belong to an address."""


class PortTakenError(UsageError):
    """Another program listens on the port that was asked for."""


def listen(desk: Desk, port: int | None) -> socket.socket:
    """Bind a port of 127.0.0.1: the given one; or the file's own, else any that is free.

    Raises:
        PortTakenError: The given port is taken.
    """
    own = _FIRST_PORT + int(digest(str(desk.path)), 16) % _PORTS
    try:
        return _bound(own if port is None else port)
    except OSError as error:
        if port is None:
            return _bound(0)
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise PortTakenError(f"--port {port}: {error.strerror}; give another") from None
        raise


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        # From here on a browser is kept waiting rather than turned away.
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made


def serve(
    desk: Desk, listening: socket.socket, *, author: str, ready: Callable[[str], None]
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        desk: Where the cases are revised.
        listening: From ``listen``.
        author: Whose revisions these are until the page is told another name.
        ready: Called with the address to open.
    """
    keys = Keys(listening.getsockname()[1])
    app = make_app(desk, keys, author=author, name=desk.path.name)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    ready(keys.address)
    with listening, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
