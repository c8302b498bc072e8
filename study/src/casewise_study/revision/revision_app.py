"""The revision page: its addresses, the JSON they take, who is let in, and its server."""

import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import Field

from casewise import __version__
from casewise.cases import Side, Turn, digest
from casewise.errors import UsageError
from casewise_study import app_base
from casewise_study.app_base import (
    READING,
    App,
    Guard,
    constant_time_equal,
    new_app,
    security_headers,
    templates,
)
from casewise_study.revision import journal
from casewise_study.revision.desk import Desk
from casewise_study.revision.page_records import (
    Node,
    from_tree,
    key_of,
    list_record,
    pair_record,
)
from casewise_study.revision.revised_cases import Pair


class SentCase(journal.StrictModel):
    """The changed fields of one case; fields that are not sent stay as they are."""

    id: str
    query: str = ""
    context: tuple[Node, ...] | None = None
    history: tuple[Turn, ...] = ()
    category: str | None = None
    intended: Side | None = None
    tags: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The fields that were sent, as plain JSON values."""
        sent = self.model_dump(mode="json", exclude={"id"}, exclude_unset=True)
        if self.context is not None:
            sent["context"] = from_tree(self.context)
        return sent


class _SentChange(journal.StrictModel):
    author: str = Field(max_length=200)
    reason: str = Field(max_length=10_000)


class SentEdit(_SentChange):
    """An edit of a pair."""

    cases: tuple[SentCase, ...]


class SentVersion(_SentChange):
    """The cases to open a new version of."""

    cases: tuple[str, ...]


class SentDecision(_SentChange):
    """A decision about a pair."""

    action: Literal[journal.Action.ACCEPT, journal.Action.REJECT, journal.Action.REOPEN]


TOKEN_HEADER = "x-casewise-token"


def _random() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Keys:
    """The access tokens; each start makes new ones."""

    port: int
    entry: str = field(default_factory=_random)
    """Stands in the address that the terminal shows, and is changed for the cookie."""
    session: str = field(default_factory=_random)
    """The cookie."""
    page: str = field(default_factory=_random)
    """Stands in the page, and goes back with everything that it sends: no other site has it."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The valid Host headers; any other is DNS rebinding."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    @property
    def cookie(self) -> str:
        """The cookie's name; it holds the port, since all ports of a host share cookies."""
        return f"casewise_{self.port}"

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/?token={self.entry}"


class RevisionGuard(Guard):
    """Admits who has the address from the terminal; takes changes only from the page."""

    most_bytes = 8_000_000

    def __init__(self, app: App, keys: Keys, closed: str, broken: Response) -> None:
        """Guard the page's application.

        Args:
            app: The application.
            keys: What lets a person in.
            closed: The page for those who have no cookie.
            broken: The answer to what should not happen.
        """
        super().__init__(app, security_headers(forms="'none'", referrer="no-referrer"), broken)
        self._keys = keys
        self._closed = closed

    def check(self, request: Request) -> Response | None:
        """Refuse other hosts, missing cookies, and changes that are not JSON of known length."""
        keys, headers = self._keys, request.headers
        if headers.get("host") not in keys.hosts:
            return self.refuse(421, "unknown host")
        path, reads = request.scope["path"], request.method in READING
        if reads and path.startswith("/static/"):
            return None
        given = request.query_params.get("token")
        if path == "/" and given and constant_time_equal(given, keys.entry):
            cookie = f"{keys.cookie}={keys.session}; HttpOnly; SameSite=Strict; Path=/"
            return Response(status_code=303, headers={"location": "/", "set-cookie": cookie})
        if not constant_time_equal(request.cookies.get(keys.cookie, ""), keys.session):
            return Response(self._closed, 403, media_type="text/html")
        kind = headers.get("content-type", "").split(";")[0].strip()
        if not reads and kind != "application/json":
            return self.refuse(415, "expected JSON")
        if not reads and "content-length" not in headers:
            return self.refuse(411, "expected a length")
        return None

    def is_own(self, request: Request, origin: str | None) -> bool:
        """Tell whether the request comes from the page, which alone knows its token."""
        token = request.headers.get(TOKEN_HEADER, "")
        own = origin in [f"http://{host}" for host in self._keys.hosts]
        return own and constant_time_equal(token, self._keys.page)

    def refuse(self, status: int, reason: str) -> Response:
        """A message, as the page's script reads it."""
        return JSONResponse({"message": reason}, status)


Version = Annotated[str, Header(alias="If-Match")]


def make_app(desk: Desk, keys: Keys, *, author: str, name: str) -> RevisionGuard:
    """Make the application with its guard.

    Args:
        desk: Where the cases are revised.
        keys: What lets a person in.
        author: Whose revisions these are until the page is told another name.
        name: What the file is called on the page.
    """
    broken = JSONResponse({"message": "something broke; nothing was saved"}, 500)
    app = new_app(__package__ or "", broken)
    shared = {
        "version": __version__,
        "name": name,
        "author": author,
        "page_token": keys.page,
        "file_key": key_of(str(desk.path)),
    }
    for address, template in (
        ("/", "start.html"),
        ("/pairs", "list.html"),
        ("/pairs/{key}", "pair.html"),
    ):
        app.get(address)(_shows(template, shared))
    _add_reading(app, desk)
    _add_changing(app, desk)
    app.add_exception_handler(journal.RevisionError, _refusal(desk))
    app.add_exception_handler(RequestValidationError, _malformed)
    public = {**shared, "page_token": "", "author": "", "name": "Closed", "file_key": ""}
    return RevisionGuard(app, keys, _page("refused.html", public), broken)


def _shows(template: str, shared: dict[str, str]) -> Callable[[], HTMLResponse]:
    html = _page(template, shared)
    return lambda: HTMLResponse(html)


def _add_reading(app: FastAPI, desk: Desk) -> None:
    @app.get("/api/pairs")
    def every_pair() -> JSONResponse:
        """Every pair in short."""
        return JSONResponse(list_record(desk))

    @app.get("/api/pairs/{key}")
    def one_pair(key: str) -> JSONResponse:
        """A pair with its history."""
        return _told(desk, _find(desk, key))


def _add_changing(app: FastAPI, desk: Desk) -> None:
    def changed(
        change: Callable[..., Pair], key: str, version: str, what: object, sent: _SentChange
    ) -> JSONResponse:
        """Make a change to the version of the pair that the page knows."""
        query_id, known = _find(desk, key).query_id, version.strip().strip('"')
        return _told(desk, change(query_id, known, what, author=sent.author, reason=sent.reason))

    @app.put("/api/pairs/{key}")
    def save(key: str, sent: SentEdit, version: Version) -> JSONResponse:
        """Edit cases of a pair."""
        edits = {case.id: case.fields() for case in sent.cases}
        return changed(desk.save, key, version, edits, sent)

    @app.post("/api/pairs/{key}/version")
    def open_version(key: str, sent: SentVersion, version: Version) -> JSONResponse:
        """Open a new version of cases with votes."""
        return changed(desk.open_version, key, version, sent.cases, sent)

    @app.post("/api/pairs/{key}/decision")
    def decide(key: str, sent: SentDecision, version: Version) -> JSONResponse:
        """Accept, reject, or open the question again."""
        return changed(desk.decide, key, version, sent.action, sent)


def _find(desk: Desk, key: str) -> Pair:
    for name in desk.query_ids():
        if key_of(name) == key:
            return desk.pair(name)
    raise journal.UnknownPairError("no such pair")


def _told(desk: Desk, pair: Pair, status: int = 200, **more: Any) -> JSONResponse:
    record = pair_record(desk, pair) | more
    return JSONResponse(record, status, headers={"ETag": f'"{pair.version}"'})


Handler = Callable[[Request, Exception], Awaitable[Response]]


def _refusal(desk: Desk) -> Handler:
    """Answer a refused revision; one made from an old copy gets the current pair."""

    async def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, journal.RevisionError)
        if isinstance(error, journal.StaleError):
            pair = _find(desk, request.path_params["key"])
            return _told(desk, pair, error.status, message=str(error))
        return JSONResponse({"message": str(error)}, error.status)

    return answer


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = [".".join(map(str, problem["loc"])) for problem in error.errors()[:3]]
    return JSONResponse({"message": f"not as expected: {', '.join(places)}"}, 400)


def _page(template: str, shared: dict[str, str]) -> str:
    return templates(__package__ or "").get_template(template).render(shared)


_FIRST_PORT, _PORTS = 20_000, 10_000
"""Ports of which each file has one by its path: drafts in a browser belong to an address."""


def listen(desk: Desk, port: int | None) -> socket.socket:
    """Bind a port of 127.0.0.1: the given one; or the file's own, else any that is free.

    Raises:
        UsageError: The given port is taken.
    """
    if port is None:
        own = _FIRST_PORT + int(digest(str(desk.path)), 16) % _PORTS
        with suppress(UsageError):
            return app_base.listen("127.0.0.1", own)
    return app_base.listen("127.0.0.1", port or 0)


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
    ready(keys.address)
    with listening:
        app_base.serve(app, listening)
