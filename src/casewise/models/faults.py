"""Faults of requests: what each is by the error of any provider, and what is done about it.

``classify`` reads an error from outside: its status, codes, words and headers. ``RULES`` says which
kind it is, the narrow rules first, and ``REACTIONS`` what is done. Nothing else asks again.
"""

import json
import re
import ssl
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from math import isfinite
from typing import Any
from urllib.parse import quote

from casewise.files import whole_characters
from casewise.models.keys import redacted

MAX_WAIT_S = 3_600.0
"""Longest wait that is sensible: who asks for more gets no further request in this run."""


class FaultKind(StrEnum):
    """Kind of fault of a request."""

    CONTENT_FILTER = "content_filter"
    """The provider's own filter; the case counts as refused."""
    DECLINED = "declined_by_the_bot"
    """A target's bot itself says that it declined; the case counts as refused."""
    CONTEXT_TOO_LONG = "context_too_long"
    """The request is longer than the model's window; the case counts as cut."""
    NO_CREDIT = "no_credit"
    """Nothing left of the account's credit, or of a spending limit of a key or team."""
    AUTHENTICATION = "authentication"
    """A missing, wrong, revoked or expired key."""
    QUOTA = "quota_used_up"
    """No more requests for longer than is sensible to wait."""
    NOT_FOUND = "not_found"
    REDIRECTED = "redirected"
    """HTTP 3xx: what was asked would go to another address."""
    NO_ACCESS = "no_access"
    """The key may not use the model, or not from this place."""
    UNTRUSTED = "certificate_not_trusted"
    """A server whose certificate was refused: expired, of another host or authority."""
    RATE_LIMITED = "rate_limited"
    CONFLICT = "conflict"
    """HTTP 409 or 425: the same request may pass later."""
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    """HTTP 5xx."""
    CONNECTION = "connection"
    """Refused, reset, or cut before the answer was whole."""
    UNREADABLE = "unreadable_answer"
    """Not JSON, or of another form."""
    NO_CHOICES = "answer_without_choices"
    """An empty turn of the model; after one repetition, the case has an empty answer."""
    TOO_LONG = "answer_too_long"
    """Longer than any model writes."""
    OTHER_MODEL = "another_model"
    """The answer bears the name of another model."""
    REFUSED = "request_refused"
    """Another HTTP 4xx, which another attempt would meet again."""
    OTHER = "other"

    @property
    def words(self) -> str:
        """Name of the kind as it is printed."""
        return self.replace("_", " ")


class Action(StrEnum):
    """Reaction to a fault."""

    WAIT = "wait"
    """Ask again as often as needed, after the time that the provider names."""
    AGAIN = "ask again"
    """Ask again a number of times, then give up the case."""
    CASE = "give up this case"
    LEAVE = "leave this model"


@dataclass(frozen=True, slots=True)
class Reaction:
    """What is done about a kind of fault."""

    action: Action
    advice: str = ""
    """Cause and remedy, after the name of the kind; empty where there is nothing to do."""
    of_bot: str = ""
    """The same of a target's bot, where it is another."""
    times: int = 0
    """Times that a request is asked again."""


_MOVED = "nothing was sent there; if the server has moved, write its new address into "
_ADDRESS = "--model-base-url or the provider's ..._BASE_URL"

REACTIONS: Mapping[FaultKind, Reaction] = {
    FaultKind.CONTENT_FILTER: Reaction(Action.CASE),
    FaultKind.DECLINED: Reaction(Action.CASE),
    FaultKind.CONTEXT_TOO_LONG: Reaction(Action.CASE),
    FaultKind.NO_CREDIT: Reaction(
        Action.LEAVE,
        "the account has no credit left, or the key's spending limit is reached: add credit at "
        "the provider, or raise the limit there or at the gateway, then run the same command",
    ),
    FaultKind.AUTHENTICATION: Reaction(
        Action.LEAVE,
        "the key is wrong, missing or expired: check the provider's ..._API_KEY",
        "the bot does not take its key: check the headers in the target's file, and the variables "
        "that they name",
    ),
    FaultKind.QUOTA: Reaction(
        Action.LEAVE, "no more requests are taken for hours: run the same command then"
    ),
    FaultKind.NOT_FOUND: Reaction(
        Action.LEAVE,
        f"there is no such model, or no such path: check the model's name, and {_ADDRESS}",
        "there is no such path: check the url in the target's file",
    ),
    FaultKind.REDIRECTED: Reaction(
        Action.LEAVE, f"{_MOVED}{_ADDRESS}", f"{_MOVED}the url of the target's file"
    ),
    FaultKind.NO_ACCESS: Reaction(
        Action.LEAVE,
        "the key has no permission for this model, or from this place",
        "the bot does not let this key in, or this machine: check the headers in the target's file",
    ),
    FaultKind.UNTRUSTED: Reaction(
        Action.LEAVE,
        "name a company's own authority in SSL_CERT_FILE, correct the address or the clock, or "
        "have the certificate renewed",
    ),
    FaultKind.RATE_LIMITED: Reaction(Action.WAIT),
    FaultKind.CONFLICT: Reaction(Action.AGAIN, times=8),
    FaultKind.TIMEOUT: Reaction(Action.AGAIN, times=8),
    FaultKind.SERVER_ERROR: Reaction(Action.AGAIN, times=14),
    FaultKind.CONNECTION: Reaction(Action.AGAIN, times=14),
    FaultKind.UNREADABLE: Reaction(Action.AGAIN, times=3),
    FaultKind.NO_CHOICES: Reaction(Action.AGAIN, times=1),
    # It would be written, and paid, as long again.
    FaultKind.TOO_LONG: Reaction(Action.CASE),
    FaultKind.OTHER_MODEL: Reaction(Action.AGAIN, times=3),
    FaultKind.REFUSED: Reaction(Action.CASE),
    FaultKind.OTHER: Reaction(Action.AGAIN, times=3),
}
"""What is done; 14 times take eight minutes in all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Row of the table: an error that meets its status and its words is of its kind."""

    kind: FaultKind
    statuses: Container[int] = range(300, 600)
    words: str = ""
    """Pattern within the codes and the message, in lower case."""


RULES = (
    Rule(
        FaultKind.CONTENT_FILTER,
        (400, 403),
        r"content.?(?:filter|policy)|invalid.?prompt|moderation|(?:bio|cyber).?policy|flagged"
        r"|responsibleai|data.?inspection|<html.*(?:blocked|attention required|web application)",
    ),
    Rule(
        FaultKind.CONTEXT_TOO_LONG,
        (400, 413, 422),
        r"context.?(?:length|size|limit)|string.?above.?max|maximum (?:context|model)"
        r"|request.?too.?large|prompt is too long|input is too long|input token count"
        r"|exceeds the available|input length .*exceed|inputs? tokens? .*must be",
    ),
    Rule(
        FaultKind.NO_CREDIT,
        words=r"insufficient.?(?:quota|credits)|billing|access.?terminated|credit balance"
        r"|credits? (?:are|is) depleted|budget|spend(?:ing)?.limit|key limit exceeded"
        r"|specified api usage limits",
    ),
    Rule(FaultKind.NO_CREDIT, (402,)),
    Rule(
        FaultKind.AUTHENTICATION,
        (400, 403),
        r"api.?key.?(?:invalid|service.?blocked)|api key (?:not valid|expired|was reported)"
        r"|unrecognizedclient|invalidsignature|expiredtoken|incompletesignature"
        r"|missingauthentication|invalidclienttoken",
    ),
    Rule(FaultKind.NO_ACCESS, (400, 401), r"unsupported.?country|accessdenied"),
    Rule(FaultKind.NO_ACCESS, (400,), r"location is not supported|not available in your country"),
    Rule(FaultKind.AUTHENTICATION, (401,)),
    Rule(FaultKind.QUOTA, (429,), r"per.?day|daily|\(rpd\)|\(tpd\)"),
    Rule(
        FaultKind.NOT_FOUND,
        (400, 403),
        "model.?not.?found|deploymentnotfound|not a valid model id|model identifier is invalid",
    ),
    Rule(FaultKind.NOT_FOUND, (404, 410)),
    Rule(FaultKind.REDIRECTED, range(300, 400)),
    Rule(FaultKind.NO_ACCESS, (403,)),
    Rule(FaultKind.RATE_LIMITED, (429,)),
    Rule(
        FaultKind.RATE_LIMITED,
        words="throttl|toomanyrequests|requestlimitexceeded|resource.?exhausted",
    ),
    Rule(FaultKind.CONFLICT, (409, 425)),
    Rule(FaultKind.TIMEOUT, (408, 504)),
    Rule(FaultKind.SERVER_ERROR, (424, *range(500, 600))),
    Rule(FaultKind.REFUSED, range(400, 500)),
)
"""The rules for errors with a status, the narrow ones first; in a stream, or under a status of
success, the status is what the error's code stands for."""

_NAMES = (
    (FaultKind.TIMEOUT, "Timeout"),
    (FaultKind.UNREADABLE, "JSONDecodeError|Validation|Decod|NoStreamData"),
    (FaultKind.CONNECTION, "OSError|ConnectionError|TransportError|ClientError|ProtocolError"),
)
"""Kinds of errors without a status, by the names of their classes."""


class UnreadAnswerError(RuntimeError):
    """A body under a status of success that is no answer of the model that was asked."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        self.kind = kind
        super().__init__(reason)


class ResponseError(RuntimeError):
    """An answer under an error's status."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        of_bot: bool = False,
    ) -> None:
        self.status_code, self.headers, self.body, self.of_bot = status, headers, body, of_bot
        super().__init__(f"HTTP {status}: {body[:READ].decode(errors='replace')}")


class FailedRequestError(RuntimeError):
    """A request without an answer after all attempts.

    Its message holds no key, but the provider's own words, which may quote what was asked: it is
    for logs and tables. ``fault.plain`` is printed.
    """

    def __init__(self, fault: "Fault") -> None:
        self.fault = fault
        # Inspect shows this attribute of an error, and else its repr.
        self.message = f"{fault.kind.words}: {fault.reason}"
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a request, whichever provider raised it."""

    kind: FaultKind
    status: int | None
    """HTTP status: its own, or the one that its code stands for."""
    wait: float | None
    """Seconds that the provider asks to wait."""
    reason: str
    """Beginning of the provider's own words, without keys: they may quote what was asked."""
    location: str = ""
    """Address that a redirect names, without name, password and query."""
    of_bot: bool = False
    """True if the bot of a target answered."""

    @property
    def words(self) -> str:
        """The fault in casewise's words."""
        kind = self.kind.words
        words = kind if self.status is None else f"HTTP {self.status} ({kind})"
        return f"{words} to {self.location}" if self.location else words

    @property
    def plain(self) -> str:
        """The fault in casewise's words alone, with its remedy."""
        reaction = REACTIONS[self.kind]
        advice = (self.of_bot and reaction.of_bot) or reaction.advice
        return f"{self.words}: {advice}" if advice else self.words


def classify(error: BaseException) -> Fault:
    """Tell what an error of a request is."""
    cause = root_of(error)
    if isinstance(cause, FailedRequestError):
        return cause.fault
    reason = failure_reason(cause)
    if isinstance(cause, UnreadAnswerError):
        return Fault(cause.kind, None, None, reason)
    if any(isinstance(exception, ssl.SSLCertVerificationError) for exception in causes_of(cause)):
        return Fault(FaultKind.UNTRUSTED, None, None, reason)
    response = getattr(cause, "response", None)
    amazon = response if isinstance(response, Mapping) else {}
    meta = amazon.get("ResponseMetadata") or {}
    headers = getattr(cause, "headers", None) or meta.get("HTTPHeaders")
    headers = headers or getattr(response, "headers", None) or {}
    own = _own_fields(cause)
    body = next(filter(None, (_body(getattr(cause, name, None)) for name in _BODIES)), None)
    parts = [*_parts(own), *_parts(body or amazon)]
    texts = [part[name] for part in parts for name in _TEXTS if isinstance(part.get(name), str)]
    text = " ".join(texts or ([body] if isinstance(body, str) else [str(cause)]))[:READ].lower()
    candidates = (getattr(cause, "status_code", None), own.get("code"), own.get("status"))
    status = _status(*candidates, meta.get("HTTPStatusCode"), least=300)
    codes = _codes(parts)
    if status is None:
        status = _status_of_parts(parts)
    wait = _wait(headers, parts)
    if status is None:
        names = " ".join(base.__name__ for base in type(cause).__mro__)
        kind = next(
            (fault_kind for fault_kind, name in _NAMES if re.search(name, names)), FaultKind.OTHER
        )
    else:
        kind = _kind(status, f"{codes} {text}")
    if kind is FaultKind.RATE_LIMITED and (wait or 0) > MAX_WAIT_S:
        kind = FaultKind.QUOTA
    moved = str(headers.get("location", "")) if kind is FaultKind.REDIRECTED else ""
    of_bot = getattr(cause, "of_bot", False)
    return Fault(kind, status, wait, reason, redacted(_place(moved)), of_bot)


def status_within(body: Mapping[str, Any]) -> int | None:
    """Status of the error that a body under a status of success holds; None where it tells none."""
    return _status_of_parts(list(_parts(body)))


def _kind(status: int, text: str) -> FaultKind:
    matching = (rule for rule in RULES if status in rule.statuses and re.search(rule.words, text))
    return next((rule.kind for rule in matching), FaultKind.OTHER)


READ = 600
"""Letters of a message that are read: what follows may quote the request."""

_BODIES = ("body", "details", "raw_response")
_CODES = ("code", "Code", "type", "__type", "status", "reason", "error_type", "error", "quotaId")
"""Members of an error that name it."""

_TEXTS = ("message", "Message", "detail", "error", "raw", "error_message")
"""Members of an error with a sentence."""

_WITHIN = (
    *("error", "Error", "errors", "innererror", "inner_error", "details", "detail"),
    *("metadata", "violations", "choices"),
)
"""Members of an error that hold more of it."""


def _own_fields(error: BaseException) -> dict[str, Any]:
    """Code, type and status of an exception itself."""
    # aiohttp's own, on a head that it can't read, has a status that no server said.
    if type(error).__name__ == "ClientResponseError":
        return {}
    own = {name: getattr(error, name, None) for name in ("code", "type", "status")}
    if callable(code := own["code"]):
        # gRPC's errors have methods.
        own["code"] = getattr(code(), "name", None)
    return own


def _body(body: Any) -> Any:
    """Body of a failed answer, as its client keeps it."""
    if isinstance(body, bytes | str):
        text = body[: 100 * READ]
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        with suppress(ValueError, RecursionError):
            return json.loads(text)
        return text
    return body if isinstance(body, Mapping | list) else None


def _parts(body: Any, depth: int = 6) -> Iterator[Mapping[str, Any]]:
    """Mappings of an error that say something of it, the outer ones first."""
    if isinstance(body, list):
        for inner in body[:8]:
            yield from _parts(inner, depth)
    elif isinstance(body, Mapping) and depth:
        yield body
        for name in _WITHIN:
            yield from _parts(body.get(name), depth - 1)


def _codes(parts: list[Mapping[str, Any]]) -> str:
    """Names that an error's parts have for it, in lower case."""
    values = (part.get(name) for part in parts for name in _CODES)
    named = (value for value in values if isinstance(value, str | int))
    return " ".join(str(value).lower() for value in named if not isinstance(value, bool))


def _status(*values: Any, least: int = 400) -> int | None:
    """First of several values that is an error's status, a number or its digits."""
    for value in values:
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and least <= value < 600:
            return int(value)
    return None


_STATUSES = (
    (401, "unauthenticated|authentication|invalid.?api.?key"),
    (402, "billing|insufficient.?credits"),
    (403, "permission|accessdenied"),
    (404, "not.?found|unimplemented"),
    (413, "too.?large"),
    (429, "rate.?limit|quota|exhausted|throttl|too.?many"),
    (504, "timeout|deadline"),
    (529, "overloaded"),
    (503, "unavailable|notready"),
    (409, "aborted|already.?exists"),
    (400, "invalid|failed.?precondition|bad.?request|validation|out.?of.?range|policy|filter"),
    (500, "internal|server.?error|api.?error|unknown|data.?loss"),
)
"""Statuses that names of errors stand for, where none came: in streams, and under a 200."""


def _status_of_parts(parts: list[Mapping[str, Any]]) -> int | None:
    """Status of an error by its parts: one that they hold, or the one of its names."""
    own = _status(*(part.get(name) for part in parts for name in ("code", "status", "status_code")))
    if own is not None:
        return own
    codes = _codes(parts)
    return next((number for number, name in _STATUSES if re.search(name, codes)), None)


def _place(address: str) -> str:
    """A redirect's address without name, password and query, which may hold keys."""
    bare = re.sub("//[^/]*@", "//", re.split("[?#;]", address)[0])
    return quote(bare[:READ], safe="/:%[]")


# --- waits ------------------------------------------------------------------------------------


def _wait(headers: Mapping[str, str], parts: list[Mapping[str, Any]]) -> float | None:
    """Seconds to wait, by headers or members of the body."""
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    with suppress(KeyError, ValueError):
        return _sensible(float(lower["retry-after-ms"]) / 1000)
    names = ("retryDelay", "retry_after", "retry_after_seconds", "retryAfter")
    members = [str(part[name]) for part in parts for name in names if name in part]
    waits = map(_seconds, [lower.get("retry-after"), *members])
    return next((seconds for seconds in waits if seconds is not None), None)


def _seconds(value: str | None) -> float | None:
    """Seconds from now, out of a number, a number with its unit (``34.07s``), or an HTTP date."""
    text = (value or "").strip()
    with suppress(ValueError):
        return _sensible(float(text.removesuffix("s")))
    with suppress(ValueError, TypeError):
        moment = parsedate_to_datetime(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return _sensible((moment - datetime.now(UTC)).total_seconds())
    return None


def _sensible(seconds: float) -> float | None:
    """Seconds that can be waited; a moment that has passed is now."""
    return max(0.0, seconds) if isfinite(seconds) else None


# --- errors in logs and on the terminal -------------------------------------------------------

SHOWN = 200
"""Most characters of a failed request's reason."""

_KINDS = {kind.words: kind for kind in FaultKind}

FaultCounts = Counter[tuple[str, FaultKind]]

FaultObserver = Callable[[str, str], None]
"""Called with a model and a sentence on its faults."""


def root_of(error: BaseException) -> BaseException:
    """Error under the wrappers of retries and of Inspect."""
    attempt = getattr(error, "last_attempt", None)
    inner = attempt.exception() if attempt is not None else None
    if inner is None and type(error).__name__ == "ModelGenerateError":
        inner = error.__cause__
    return error if inner is None else root_of(inner)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """An error, and all errors that it was raised from."""
    seen: list[BaseException] = []
    todo: list[Any] = [error]
    while todo:
        cause = todo.pop(0)
        if isinstance(cause, BaseException) and not any(cause is other for other in seen):
            seen.append(cause)
            yield cause
            todo += (cause.__cause__, cause.__context__, getattr(cause, "os_error", None))
            todo += getattr(cause, "exceptions", ())


def failure_reason(error: BaseException) -> str:
    """Reason of a failed request, on one line, without what was asked and without keys.

    Inspect's own message holds the whole request, and so the query; its cause's does not.
    """
    cause = root_of(error)
    text = whole_characters(str(cause).split("\nRequest:")[0])
    return redacted(" ".join(text[: 20 * SHOWN].split()))[:SHOWN] or type(cause).__name__


def failed(error: BaseException) -> FailedRequestError:
    """An error of a provider's client, without keys and without what was asked."""
    cause = root_of(error)
    return cause if isinstance(cause, FailedRequestError) else FailedRequestError(classify(cause))


def printable(message: str) -> str:
    """Printable part of a logged error: a provider's own words are left out."""
    kind = message.split(":")[0]
    return kind if kind in _KINDS else message


def logged_kind(error: str) -> FaultKind:
    """Kind of fault of a case's error, as its log keeps it."""
    return _KINDS.get(error.split(":")[0], FaultKind.OTHER)


def first_within(error: BaseException) -> BaseException:
    """First error within groups of errors, which tasks that run together raise."""
    return first_within(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
