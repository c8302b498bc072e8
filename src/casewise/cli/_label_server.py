"""Server of the page on which one person labels replies, on this computer alone."""

import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from casewise.errors import UsageError
from casewise.replies import LabelSheet

HOST = "127.0.0.1"
MOST_BYTES = 10_000
"""Most bytes of a request."""


class LabelServer(ThreadingHTTPServer):
    """Serves one sheet under an address that nobody can guess."""

    daemon_threads = True

    def __init__(self, sheet: LabelSheet, port: int) -> None:
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(f"--port {port} can't be listened on: {error.strerror}") from None
        self.sheet = sheet
        self.token = secrets.token_urlsafe(16)
        self.origin = f"http://{HOST}:{self.server_port}"

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"{self.origin}/{self.token}/"

    @property
    def page(self) -> str:
        """The page as far as it is labelled; it shows neither model, context nor grade."""
        replies = self.sheet.replies
        data = {
            "name": self.sheet.path.name,
            "labels": self.sheet.labels,
            "shown": [{name: getattr(reply, name) for name in _SHOWN} for reply in replies],
        }
        # No text ends the element that holds it.
        written = json.dumps(data).replace("<", "\\u003c")
        page = (files("casewise.data") / "label.html").read_text("utf-8")
        return page.replace("{{ nonce }}", secrets.token_urlsafe(16)).replace("{{ data }}", written)

    def serve(self, ready: Callable[[str], None]) -> None:
        """Serve until the page or Ctrl-C ends it; each answer is in the sheet by then."""
        with self:
            ready(self.address)
            try:
                self.serve_forever(poll_interval=0.1)
            except KeyboardInterrupt:
                return


_SHOWN = ("query", "context", "reply")


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer

    def do_GET(self) -> None:
        """The page."""
        if self._place() == "":
            self._send(HTTPStatus.OK, self.server.page, "text/html")
        else:
            self._send(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        """A label, or the end."""
        place = self._place()
        if place not in ("label", "end") or self.headers.get("Origin") not in (
            None,
            self.server.origin,
        ):
            self._send(HTTPStatus.NOT_FOUND, "no such page")
            return
        try:
            if place == "label":
                message = self._read()
                self.server.sheet.label(message["place"], message["label"])
        except (KeyError, TypeError, ValueError) as error:
            self._send(HTTPStatus.BAD_REQUEST, f"not a label: {error}")
        except OSError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error.strerror or error}")
        else:
            self._send(HTTPStatus.OK, "saved")
            if place == "end":
                threading.Thread(target=self.server.shutdown, daemon=True).start()

    def _place(self) -> str | None:
        """Path below the token; None of a request that is not from the page."""
        _, token, *place = self.path.split("/", 2)
        is_ours = hmac.compare_digest(token.encode(), self.server.token.encode())
        # A page elsewhere could have its own name lead here.
        is_here = f"http://{self.headers.get('Host')}" == self.server.origin
        return place[0] if is_ours and is_here and place else None

    def _read(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= MOST_BYTES:
            raise ValueError("too long")
        return json.loads(self.rfile.read(length))

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""
