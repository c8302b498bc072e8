"""The revision page: its addresses, the JSON they take and give, and its server."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from casewise import __version__
from casewise.annotation import app_base
from casewise.annotation.app_base import new_app, templates
from casewise.annotation.app_revision.revision_guard import Keys, RevisionGuard
from casewise.annotation.revision.context_tree import Node, from_tree, to_tree
from casewise.annotation.revision.desk import Desk, progress
from casewise.annotation.revision.journal import (
    SNAPSHOTS,
    Action,
    Entry,
    RevisionError,
    StaleError,
    UnfitError,
    UnknownPairError,
    UnwrittenError,
    VotedError,
)
from casewise.annotation.revision.revised_cases import Pair, PairStatus, changes_between, is_voted
from casewise.cases import Case, Side, Turn, digest
from casewise.contexts import differing_parameters
from casewise.errors import UsageError

SHORT_QUERY = 240
"""Characters of a query in the list of pairs."""


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SentCase(_Sent):
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
        sent = {name: getattr(self, name) for name in self.model_fields_set if name != "id"}
        if sent.get("context") is not None:
            sent["context"] = from_tree(sent["context"])
        if "history" in sent:
            sent["history"] = [turn.model_dump(mode="json") for turn in sent["history"]]
        return sent


class _SentChange(_Sent):
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

    action: Literal[Action.ACCEPT, Action.REJECT, Action.REOPEN]


def key_of(query_id: str) -> str:
    """Hash a query id for addresses, since a given id may reveal the query."""
    return digest(query_id)


def list_record(desk: Desk) -> dict[str, Any]:
    """Every pair in short."""
    pairs = desk.pairs()
    decided, total = progress(pairs)
    return {"decided": decided, "total": total, "pairs": [_row(pair) for pair in pairs]}


def _row(pair: Pair) -> dict[str, Any]:
    first = pair.cases[0]
    return {
        "key": key_of(pair.query_id),
        "number": pair.number,
        "query": first.query[:SHORT_QUERY],
        "category": first.category,
        "status": pair.status,
        "cases": len(pair.cases),
        "voted": any(map(is_voted, pair.cases)),
        "version": max(case.version for case in pair.cases),
        "revisions": len(pair.entries),
        "differing": len(differing_parameters(pair.cases)),
    }


def pair_record(desk: Desk, pair: Pair) -> dict[str, Any]:
    """Everything that the page shows of a pair."""
    pairs = desk.pairs()
    decided, total = progress(pairs)
    place = pair.number - 1
    behind = [*pairs[place + 1 :], *pairs[:place]]
    undecided = next((other for other in behind if other.status is PairStatus.UNDECIDED), None)
    return {
        "key": key_of(pair.query_id),
        "version": pair.version,
        "number": pair.number,
        "total": total,
        "decided": decided,
        "status": pair.status,
        "previous": key_of(pairs[place - 1].query_id) if place else None,
        "next": key_of(pairs[place + 1].query_id) if pair.number < total else None,
        "undecided": key_of(undecided.query_id) if undecided else None,
        "cases": [_case(case) for case in pair.cases],
        "revisions": [_revision(desk.entries[number - 1]) for number in reversed(pair.entries)],
    }


def _case(case: Case) -> dict[str, Any]:
    tree = to_tree(case.context)
    return {
        "id": case.id,
        "query": case.query,
        "context": None if tree is None else [node.model_dump(mode="json") for node in tree],
        "history": [turn.model_dump(mode="json") for turn in case.history],
        "category": case.category,
        "intended": case.intended,
        "tags": list(case.tags),
        "voted": is_voted(case),
        "votes": _votes(case),
        "edition": case.version,
        "replaces": case.replaces,
    }


def _votes(case: Case) -> str:
    parts = []
    if (case.votes_safe or 0) + (case.votes_unsafe or 0):
        parts.append(f"{case.votes_safe} safe, {case.votes_unsafe} unsafe")
    if case.published_safe_rate is not None:
        parts.append(f"published share of safe votes {case.published_safe_rate:.2f}")
    if case.author_vote is not None:
        parts.append(f"the author's own vote: {case.author_vote}")
    return "; ".join(parts)


def _revision(entry: Entry) -> dict[str, Any]:
    replaced: Sequence[tuple[Case, Case]] = ()
    if entry.action not in SNAPSHOTS:
        replaced = list(zip(entry.before, entry.after, strict=True))
    return {
        "number": entry.number,
        "time": entry.time,
        "author": entry.author,
        "action": entry.action,
        "reason": entry.reason,
        "cases": [
            {
                "intended": new.intended,
                "changes": [
                    {"name": change.name, "old": change.old, "new": change.new}
                    for change in changes_between(old, new)
                    # An id that follows the text tells nothing that the text does not.
                    if entry.action is Action.NEW_VERSION or change.name not in ("id", "query_id")
                ],
            }
            for old, new in replaced
        ],
    }


_STATUS = {
    UnknownPairError: 404,
    StaleError: 409,
    UnfitError: 422,
    VotedError: 423,
    UnwrittenError: 507,
}
_OUTSIDE = 412

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
    app.add_exception_handler(RevisionError, _refusal(desk))
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
    raise UnknownPairError("no such pair")


def _told(desk: Desk, pair: Pair, status: int = 200, **more: Any) -> JSONResponse:
    record = pair_record(desk, pair) | more
    return JSONResponse(record, status, headers={"ETag": f'"{pair.version}"'})


Handler = Callable[[Request, Exception], Awaitable[Response]]


def _refusal(desk: Desk) -> Handler:
    """Answer a refused revision; one made from an old copy gets the current pair."""

    async def answer(request: Request, error: Exception) -> Response:
        status = _STATUS.get(type(error), _OUTSIDE)  # type: ignore[arg-type]
        if isinstance(error, StaleError):
            return _told(desk, _find(desk, request.path_params["key"]), status, message=str(error))
        return JSONResponse({"message": str(error)}, status)

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
