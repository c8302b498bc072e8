"""Parts of an error that say what happened, out of each provider's form.

Providers write the same thing in many ways: a status, a code, a type, a sentence, a header. They
are brought into one form here, and nothing is decided; ``_fault_table`` decides. No part may be
printed: a provider may quote what was asked, or the key.
"""

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any
from urllib.parse import quote

READ = 600
"""Letters of a message that are read: what follows may quote the request."""

UNTRUSTED = "certificate_not_trusted"
"""Kind of an error of a server whose certificate was refused."""

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Said:
    """An error in one form."""

    status: int | None = None
    """HTTP status: its own, or the one that its code or type stands for."""
    codes: frozenset[str] = frozenset()
    """Codes, types and reasons, as ``plain_code`` writes them."""
    text: str = ""
    """Beginning of the message, in lower case."""
    wait: float | None = None
    """Seconds that the provider asks to wait."""
    names: tuple[str, ...] = ()
    """Names of the exception's classes, its own first."""
    kind: str = ""
    """Kind that casewise itself gave the error."""
    location: str = ""
    """Address that a redirect names, without name, password and query."""


def plain_code(code: str) -> str:
    """A code in lower case, letters and digits alone: providers write one name in several ways."""
    return re.sub(r"[^a-z0-9]", "", code.lower())


def root_of(error: BaseException) -> BaseException:
    """Error under the wrappers of retries and of Inspect."""
    attempt = getattr(error, "last_attempt", None)
    inner = attempt.exception() if attempt is not None else None
    if inner is None and type(error).__name__ == "ModelGenerateError":
        inner = error.__cause__
    if inner is None and hasattr(error.__cause__, "kind"):
        # An error of ours, which a client took for a failed connection.
        inner = error.__cause__
    return error if inner is None else root_of(inner)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """An error, and all errors that it was raised from."""
    seen: list[BaseException] = []
    todo: list[Any] = [error]
    while todo:
        cause = todo.pop(0)
        if isinstance(cause, BaseException) and not any(cause is one for one in seen):
            seen.append(cause)
            yield cause
            todo += (cause.__cause__, cause.__context__, getattr(cause, "os_error", None))
            todo += getattr(cause, "exceptions", ())


def said_of(error: BaseException) -> Said:
    """An error of a provider's client, or of casewise, in one form."""
    cause = root_of(error)
    if isinstance(said := getattr(cause, "said", None), Said):
        return said
    response = getattr(cause, "response", None)
    amazon = response if isinstance(response, Mapping) else {}
    body = _body_of(cause) or amazon
    meta = amazon.get("ResponseMetadata") or {}
    headers = meta.get("HTTPHeaders") or getattr(response, "headers", None) or {}
    # aiohttp's own, on a head that it can't read, has a status that no server said.
    is_said = type(cause).__name__ != "ClientResponseError"
    own = {name: getattr(cause, name, None) for name in ("code", "type", "status") if is_said}
    if callable(code := own.get("code")):
        # gRPC's errors have methods.
        own["code"] = getattr(code(), "name", None)
    given = (getattr(cause, "status_code", None), own.get("code"), own.get("status"))
    status = _status(*given, meta.get("HTTPStatusCode"), least=300)
    read = read_error(status, headers, [own, body])
    return Said(
        status=read.status,
        codes=read.codes,
        text=read.text or str(cause)[:READ].lower(),
        wait=read.wait if read.wait is not None else getattr(cause, "retry_after", None),
        names=tuple(base.__name__ for base in type(cause).__mro__),
        kind=str(getattr(cause, "kind", "")) or _kind_of_connection(cause),
        location=read.location,
    )


def _kind_of_connection(error: BaseException) -> str:
    """Kind of a failed connection that no later one would mend; empty for any other error."""
    refused = any(isinstance(one, ssl.SSLCertVerificationError) for one in causes_of(error))
    return UNTRUSTED if refused else ""


def _body_of(error: BaseException) -> Any:
    """Body of a failed answer, as the client keeps it."""
    for name in ("body", "details"):
        if (body := getattr(error, name, None)) and not callable(body):
            return body
    return None


def read_error(status: int | None, headers: Headers, body: Any) -> Said:
    """An answer in one form, out of its status, headers and body (bytes, or what JSON made of it).

    A status of success in ``status`` gives way to the one that the body says.
    """
    if isinstance(body, bytes):
        text = body[: 100 * READ].decode(errors="replace")
        body = text
        with suppress(ValueError, RecursionError):
            body = json.loads(text)
    parts = list(_parts(body))
    codes = frozenset(
        plain_code(str(found))
        for part in parts
        for name in _CODES
        if isinstance(found := part.get(name), str | int) and not isinstance(found, bool)
    )
    texts = [found for part in parts for name in _TEXTS if isinstance(found := part.get(name), str)]
    text = " ".join(" ".join(texts or ([body] if isinstance(body, str) else [])).split())[:READ]
    if status is None or status < 300:
        inner = (part.get(name) for part in parts for name in ("code", "status", "status_code"))
        status = _status(*inner) or next(
            (_STATUS_OF[one] for one in codes & _STATUS_OF.keys()), None
        )
    nested = [part["headers"] for part in parts if isinstance(part.get("headers"), Mapping)]
    waits = [
        _wait_in(headers),
        *map(_wait_in, nested),
        *map(_wait_in_part, parts),
        _wait_in_text(text),
    ]
    wait = next((wait for wait in waits if wait is not None), None)
    is_moved = status is not None and status < 400
    location = _location(str(headers.get("location", ""))) if is_moved else ""
    return Said(status=status, codes=codes, text=text.lower(), wait=wait, location=location)


def _location(given: str) -> str:
    """A redirect's address without name, password and query, which may hold keys."""
    bare = re.sub("//[^/]*@", "//", re.split("[?#;]", given)[0])
    return quote(bare[:READ], safe="/:%[]")


_CODES = ("code", "Code", "type", "__type", "status", "reason", "error_type", "error", "quotaId")
"""Members of an error that name it."""

_TEXTS = ("message", "Message", "detail", "error", "raw", "error_message")
"""Members of an error with a sentence."""

_WITHIN = (
    *("error", "Error", "errors", "innererror", "inner_error", "details", "detail"),
    *("metadata", "violations", "choices"),
)
"""Members of an error that hold more of it."""


def _parts(body: Any, depth: int = 6) -> Iterator[Mapping[str, Any]]:
    """Mappings of an error that say something of it, the outer ones first."""
    if isinstance(body, list):
        for inner in body[:8]:
            yield from _parts(inner, depth)
    elif isinstance(body, Mapping) and depth:
        yield body
        for name in _WITHIN:
            yield from _parts(body.get(name), depth - 1)


def _status(*found: Any, least: int = 400) -> int | None:
    """First of several values that is an error's status, a number or its digits."""
    for value in found:
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and least <= value < 600:
            return int(value)
    return None


def error_within(body: bytes) -> int | None:
    """Status of an error that a body under a status of success holds in place of an answer.

    Gateways send such bodies: when they have begun to answer before the model fails, or always.
    """
    if b'"error"' not in body:
        return None
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    choices = told.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        told = choices[0] if choices[0].get("finish_reason") == "error" else {}
    elif any(told.get(name) for name in _ANSWERS):
        return None
    return read_error(None, {}, told).status if told.get("error") else None


_ANSWERS = ("choices", "content", "candidates", "output", "custom_id")
"""Members of a body that hold an answer, or of a line of a batch's results."""

_STATUS_OF = {
    plain_code(code): status
    for status, codes in {
        400: "invalid_request_error INVALID_ARGUMENT FAILED_PRECONDITION BadRequestError "
        "ValidationException OUT_OF_RANGE",
        401: "authentication_error invalid_api_key UNAUTHENTICATED AuthenticationError",
        402: "billing_error insufficient_credits",
        403: "permission_error PERMISSION_DENIED PermissionDeniedError AccessDeniedException",
        404: "not_found_error model_not_found NOT_FOUND NotFoundError ResourceNotFoundException "
        "UNIMPLEMENTED",
        408: "ModelTimeoutException",
        409: "ABORTED ALREADY_EXISTS",
        413: "request_too_large",
        429: "rate_limit_error rate_limit_exceeded insufficient_quota RESOURCE_EXHAUSTED "
        "RateLimitError ThrottlingException TooManyRequestsException too_many_requests",
        500: "api_error server_error INTERNAL InternalServerError internal_error "
        "InternalServerException UNKNOWN DATA_LOSS",
        503: "UNAVAILABLE service_unavailable ServiceUnavailableException ModelNotReadyException",
        504: "timeout_error DEADLINE_EXCEEDED",
        529: "overloaded_error",
    }.items()
    for code in codes.split()
}
"""Statuses that names of errors stand for, where none came: in streams, and under a 200."""

# --- waits ----------------------------------------------------------------------------------


def _wait_in(headers: Headers) -> float | None:
    """Seconds to wait, out of headers.

    Of limits that reset at different times, those that are used up count; where none says how
    much is left, the soonest.
    """
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    with suppress(KeyError, ValueError):
        return _sensible(float(lower["retry-after-ms"]) / 1000)
    if (told := seconds_of(lower.get("retry-after"))) is not None:
        return told
    resets = {
        name: seconds
        for name, value in lower.items()
        if "ratelimit" in name and "reset" in name
        if (seconds := seconds_of(value)) is not None
    }
    spent = [
        seconds
        for name, seconds in resets.items()
        if lower.get(name.replace("reset", "remaining"), "").strip() == "0"
    ]
    return max(spent) if spent else min(resets.values(), default=None)


def _wait_in_part(part: Mapping[str, Any]) -> float | None:
    """Seconds to wait, out of a member of an error's body."""
    for name in ("retryDelay", "retry_after", "retry_after_seconds", "retryAfter"):
        value = part.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return seconds_of(str(value))
    return None


_AGAIN_IN = re.compile(
    r"(?:try again|retry)(?: after| in)? (\d+(?:\.\d+)?) ?"
    r"(ms|milliseconds?|s|sec|seconds?|m|minutes?)\b",
    re.IGNORECASE,
)
_SPANS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _wait_in_text(text: str) -> float | None:
    """Seconds to wait, out of a sentence."""
    found = _AGAIN_IN.search(text)
    if found is None:
        return None
    unit = found[2].lower()
    return _sensible(float(found[1]) * _UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]])


def seconds_of(value: str | None) -> float | None:
    """Seconds from now, out of a number, a span (``1m30s``), a date, or a moment since 1970."""
    text = (value or "").strip()
    with suppress(ValueError):
        number = float(text)
        if number > 1e8:
            # A moment, in seconds or milliseconds.
            number = number / (1000 if number > 1e11 else 1) - datetime.now(UTC).timestamp()
        return _sensible(number)
    spans = _SPANS.findall(text.replace(" ", ""))
    if spans and "".join(map("".join, spans)) == text.replace(" ", ""):
        return _sensible(sum(float(number) * _UNITS[unit] for number, unit in spans))
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, TypeError, OverflowError):
            moment = read(text)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            return _sensible((moment - datetime.now(UTC)).total_seconds())
    return None


def _sensible(seconds: float) -> float | None:
    """Seconds that can be waited; a moment that has passed is now."""
    return max(0.0, seconds) if isfinite(seconds) else None
