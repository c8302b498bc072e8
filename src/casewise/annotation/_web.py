"""What every page of casewise's servers has: its headers, templates and static files."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import cache
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


def security_headers(*, forms: str, referrer: str) -> dict[str, str]:
    """Headers of every answer: nothing from elsewhere, nothing inline, in no other page's frame.

    Args:
        forms: Where forms may go: ``'none'`` or ``'self'``.
        referrer: The policy. ``no-referrer`` also takes the origin from forms that are sent.
    """
    return {
        "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        f"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action {forms}; "
        "frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": referrer,
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
    }


def with_headers(message: Message, headers: Mapping[str, str]) -> None:
    """Add headers to the start of an answer, but for those that it has."""
    given = list(message.get("headers", ()))
    names = {name for name, _ in given}
    lines = ((name.encode(), value.encode()) for name, value in headers.items())
    message["headers"] = [*given, *(line for line in lines if line[0] not in names)]


def constant_time_equal(given: str, kept: str) -> bool:
    """Compare two texts in constant time."""
    return secrets.compare_digest(given.encode(), kept.encode())


def cookie_of(header: str, name: str) -> str:
    """A cookie's value, or nothing."""
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def read_headers(scope: Message) -> dict[str, str]:
    """The headers of a request."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def answer(
    send: Send, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    """Answer with a body, past the app."""
    default = "application/json" if body.startswith(b"{") else "text/plain"
    pairs = {"content-type": default, "content-length": str(len(body)), **(headers or {})}
    lines = [(name.encode(), value.encode()) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


@cache
def templates(package: str) -> Environment:
    """The templates of a package, whose values are always escaped."""

    def load(name: str) -> str:
        return (files(package) / "templates" / name).read_text("utf-8")

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def template_names(package: str) -> tuple[str, ...]:
    """The templates of a package."""
    return tuple(one.name for one in (files(package) / "templates").iterdir())


@cache
def static_files(package: str) -> dict[str, bytes]:
    """The static files of a package by name."""
    return {
        one.name: one.read_bytes()
        for one in (files(package) / "static").iterdir()
        if PurePath(one.name).suffix in TYPES
    }
