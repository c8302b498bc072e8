"""The addresses of the page."""

from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, FunctionLoader, StrictUndefined

from casewise import __version__
from casewise.annotation.app_revision._guard import Guard, Keys
from casewise.annotation.app_revision._records import (
    SentDecision,
    SentEdit,
    SentVersion,
    key_of,
    list_record,
    pair_record,
)
from casewise.annotation.revision import (
    Desk,
    Pair,
    RevisionError,
    StaleError,
    UnfitError,
    UnknownPairError,
    UnwrittenError,
    VotedError,
)

_STATUS = {
    UnknownPairError: 404,
    StaleError: 409,
    UnfitError: 422,
    VotedError: 423,
    UnwrittenError: 507,
}
_OUTSIDE = 412
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Version = Annotated[str, Header(alias="If-Match")]


def make_app(desk: Desk, keys: Keys, *, author: str, name: str) -> Guard:
    """The whole app, guarded.

    Args:
        desk: Where the cases are revised.
        keys: What lets a person in.
        author: Whose revisions these are until the page is told another name.
        name: What the file is called on the page.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    shared = {
        "version": __version__,
        "name": name,
        "author": author,
        "page_token": keys.page,
        "file_key": key_of(str(desk.path)),
    }
    _add_pages(app, shared)
    _add_reading(app, desk)
    _add_changing(app, desk)
    app.add_exception_handler(RevisionError, _refusal(desk))
    app.add_exception_handler(RequestValidationError, _malformed)
    public = {**shared, "page_token": "", "author": "", "name": "Closed", "file_key": ""}
    return Guard(app, keys, _page("refused.html", public).encode())


def _add_pages(app: FastAPI, shared: dict[str, str]) -> None:
    for address, template in (
        ("/", "start.html"),
        ("/pairs", "list.html"),
        ("/pairs/{key}", "pair.html"),
    ):
        app.get(address)(_shows(template, shared))

    @app.get("/static/{asset}")
    def static(asset: str) -> Response:
        """The style, the scripts, the icon."""
        known = _static()
        if asset not in known:
            return Response(status_code=404)
        return Response(known[asset], media_type=_TYPES[PurePath(asset).suffix])


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
    @app.put("/api/pairs/{key}")
    def save(key: str, sent: SentEdit, version: Version) -> JSONResponse:
        """Edit."""
        edits = {case.id: case.fields() for case in sent.cases}
        query_id = _find(desk, key).query_id
        return _told(
            desk, desk.save(query_id, _bare(version), edits, author=sent.author, reason=sent.reason)
        )

    @app.post("/api/pairs/{key}/version")
    def open_version(key: str, sent: SentVersion, version: Version) -> JSONResponse:
        """Open a new version of cases with votes."""
        query_id = _find(desk, key).query_id
        return _told(
            desk,
            desk.open_version(
                query_id, _bare(version), sent.cases, author=sent.author, reason=sent.reason
            ),
        )

    @app.post("/api/pairs/{key}/decision")
    def decide(key: str, sent: SentDecision, version: Version) -> JSONResponse:
        """Accept, reject, or open the question again."""
        query_id = _find(desk, key).query_id
        return _told(
            desk,
            desk.decide(
                query_id, _bare(version), sent.action, author=sent.author, reason=sent.reason
            ),
        )


def _find(desk: Desk, key: str) -> Pair:
    for name in desk.query_ids():
        if key_of(name) == key:
            return desk.pair(name)
    raise UnknownPairError("no such pair")


def _told(desk: Desk, pair: Pair, status: int = 200, **more: Any) -> JSONResponse:
    record = pair_record(desk, pair) | more
    return JSONResponse(record, status, headers={"ETag": f'"{pair.version}"'})


def _bare(version: str) -> str:
    return version.strip().strip('"')


Handler = Callable[[Request, Exception], Awaitable[Response]]


def _refusal(desk: Desk) -> Handler:
    """What a revision that was not made is answered with; one from an old copy with the new one."""

    async def answer(request: Request, error: Exception) -> Response:
        status = _STATUS.get(type(error), _OUTSIDE)  # type: ignore[arg-type]
        if isinstance(error, StaleError):
            return _told(desk, _find(desk, request.path_params["key"]), status, message=str(error))
        return JSONResponse({"message": str(error)}, status)

    return answer


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = [".".join(map(str, one["loc"])) for one in error.errors()[:3]]
    return JSONResponse({"message": f"not as expected: {', '.join(places)}"}, 400)


@cache
def _environment() -> Environment:
    def load(name: str) -> str:
        return (files(__package__ or "") / "templates" / name).read_text("utf-8")

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _page(template: str, shared: dict[str, str]) -> str:
    return _environment().get_template(template).render(shared)


@cache
def _static() -> dict[str, bytes]:
    folder = files(__package__ or "") / "static"
    return {
        one.name: one.read_bytes()
        for one in folder.iterdir()
        if PurePath(one.name).suffix in _TYPES
    }
