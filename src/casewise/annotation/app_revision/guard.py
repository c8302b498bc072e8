"""Who may ask the page for anything: this computer's person, from the page itself."""

import secrets
import sys
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from casewise.annotation._web import (
    App,
    Message,
    Receive,
    Send,
    answer,
    constant_time_equal,
    cookie_of,
    read_headers,
    security_headers,
    with_headers,
)

MOST_BYTES = 8_000_000
"""Of a request's body."""

TOKEN_HEADER = "x-casewise-token"

_HEADERS = security_headers(forms="'none'", referrer="no-referrer")


def _random() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Keys:
    """What lets a person in. Each start makes new ones."""

    port: int
    entry: str = field(default_factory=_random)
    """Stands in the address that the terminal shows, and is changed for the cookie."""
    session: str = field(default_factory=_random)
    """The cookie."""
    page: str = field(default_factory=_random)
    """Stands in the page, and goes back with everything that it sends: no other site has it."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names that this page is reached by; another is a trick with a name server."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    @property
    def cookie(self) -> str:
        """Cookies are shared by the ports of one host, so the name tells them apart."""
        return f"casewise_{self.port}"

    @property
    def address(self) -> str:
        """What a person opens."""
        return f"http://127.0.0.1:{self.port}/?token={self.entry}"


class RevisionGuard:
    """Around the whole app: checks each request, adds headers, keeps texts out of the terminal."""

    def __init__(self, app: App, keys: Keys, refused: bytes) -> None:
        """``refused`` is the page for those who have no cookie."""
        self._app = app
        self._keys = keys
        self._refused = refused

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                with_headers(message, _HEADERS)
            await send(message)

        headers = read_headers(scope)
        refusal = self._check(scope, headers)
        if refusal is not None:
            await answer(guarded, *refusal)
            return
        try:
            await self._app(scope, receive, guarded)
        except Exception as error:
            # Its text may hold a query, and so may a traceback's.
            print(f"casewise: {type(error).__name__} in {scope['method']}", file=sys.stderr)
            if not started:
                await answer(guarded, 500, b'{"message": "something broke; nothing was saved"}')

    def _check(
        self, scope: Message, headers: dict[str, str]
    ) -> tuple[int, bytes] | tuple[int, bytes, dict[str, str]] | None:
        """What to answer instead of the app, if anything."""
        keys = self._keys
        if headers.get("host") not in keys.hosts:
            return 421, b"unknown host"
        if scope["method"] in ("GET", "HEAD") and scope["path"].startswith("/static/"):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and given and constant_time_equal(given, keys.entry):
            cookie = f"{keys.cookie}={keys.session}; HttpOnly; SameSite=Strict; Path=/"
            return 303, b"", {"location": "/", "set-cookie": cookie}
        if not constant_time_equal(cookie_of(headers.get("cookie", ""), keys.cookie), keys.session):
            return 403, self._refused, {"content-type": "text/html; charset=utf-8"}
        if scope["method"] not in ("GET", "HEAD"):
            return self._check_change(headers)
        return None

    def _check_change(self, headers: dict[str, str]) -> tuple[int, bytes] | None:
        """A request that changes something comes from the page itself, as JSON."""
        origins = [f"http://{host}" for host in self._keys.hosts]
        own = (
            headers.get("origin") in origins
            and headers.get("sec-fetch-site", "same-origin") == "same-origin"
            and constant_time_equal(headers.get(TOKEN_HEADER, ""), self._keys.page)
        )
        if not own:
            return 403, b'{"message": "this did not come from the page"}'
        if headers.get("content-type", "").split(";")[0].strip() != "application/json":
            return 415, b'{"message": "expected JSON"}'
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return 411, b'{"message": "expected a length"}'
        if int(length) > MOST_BYTES:
            return 413, b'{"message": "too long"}'
        return None
