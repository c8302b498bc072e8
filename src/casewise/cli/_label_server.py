"""Server of the page on which one person labels replies, on this computer alone."""

import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from casewise.errors import InputError, UsageError
from casewise.replies import LabelSheet
from casewise.reporting import label_page

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
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def serve(self, ready: Callable[[str], None]) -> None:
        """Serve until the page or Ctrl-C ends it; each answer is in the sheet by then."""
        with self:
            ready(self.address)
            try:
                self.serve_forever(poll_interval=0.1)
            except KeyboardInterrupt:
                return


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer

    def do_GET(self) -> None:
        """The page, as far as it is labelled."""
        if self._place() != "":
            self._tell(HTTPStatus.NOT_FOUND, "no such page")
            return
        sheet = self.server.sheet
        page = label_page(sheet.replies, sheet.path.name, served=True)
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", page.encode())

    def do_POST(self) -> None:
        """A label, or the end."""
        place = self._place()
        origin = self.headers.get("Origin")
        if place not in ("label", "end") or (
            origin is not None and origin.removeprefix("http://") not in self.server.hosts
        ):
            self._tell(HTTPStatus.NOT_FOUND, "no such page")
            return
        try:
            told = self._read()
            if place == "label":
                self.server.sheet.label(told["place"], told["label"])
        except (InputError, KeyError, TypeError, ValueError) as error:
            self._tell(HTTPStatus.BAD_REQUEST, f"not a label: {error}")
        except OSError as error:
            self._tell(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error.strerror or error}")
        else:
            self._tell(HTTPStatus.OK, "saved")
            if place == "end":
                threading.Thread(target=self.server.shutdown, daemon=True).start()

    def _place(self) -> str | None:
        """Path below the token; None of a request that is not from the page."""
        _, token, *rest = self.path.split("/", 2)
        is_ours = hmac.compare_digest(token.encode(), self.server.token.encode())
        # A page elsewhere could have its own name lead here.
        is_here = self.headers.get("Host") in self.server.hosts
        return rest[0] if is_ours and is_here and rest else None

    def _read(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= MOST_BYTES:
            raise ValueError("too long")
        return json.loads(self.rfile.read(length) or b"{}")

    def _tell(self, status: HTTPStatus, said: str) -> None:
        self._send(status, "application/json", json.dumps({"said": said}).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""
