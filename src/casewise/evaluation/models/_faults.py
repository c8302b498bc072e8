"""Faults between a request and its answer: kinds, counts, and words without keys."""

import json
import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, TypeGuard, TypeVar
from urllib.parse import quote, unquote_plus

from casewise.errors import CasewiseError, UsageError
from casewise.evaluation.models._fault_table import (
    ROWS,
    FaultKind,
    kind_of,
    status_words,
)
from casewise.evaluation.models._said import root_of, said_of
from casewise.files import whole_characters

Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Value], value: Value) -> Iterator[Value]:
    """Set a context variable while the block runs."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


HIDDEN = "[key]"
"""Replacement for a redacted key."""

SHORTEST = 8
"""Minimum key length; shorter values would be cut out of ordinary words."""

_SECRET = re.compile(
    r"(^|[_-])(api[_-]?key|key|token|secret|password|credentials?)$", re.IGNORECASE
)
"""Endings of the names of options and variables that hold secrets."""

_PROOF = re.compile(r"authori[sz]ation|cookie|(^|[_-])auth$", re.IGNORECASE)
"""Names of headers that hold secrets."""

_PROVEN = re.compile(r"(bearer|basic)\s+\S", re.IGNORECASE)
"""Beginning of the value of such a header."""

_IN_ADDRESS = re.compile(
    r"(key|token|secret|passw(or)?d|passphrase|credentials?|pwd|signature|sig|jwt|bearer|hmac)$|"
    r"^(code|pass|sas|[as]k)$",
    re.IGNORECASE,
)
"""Names of parameters of an address that hold secrets, beside those of headers."""

_KEY = re.compile(
    r"sk-[\w-]{4,}|AIza[\w-]{20,}|A[KS]IA[A-Z0-9]{16}|eyJ[\w-]{8,}\.|"
    r"(([gps]sk|[prs]k|hf|r8|gh[opsur]|github_pat)_|(nvapi|xai|glpat|xox\w)-)(?=\D*\d)[\w-]{8,}"
)
"""Forms of services' keys, from their beginning."""

_opened: set[str] = set()
"""Keys of opened models."""


@cache
def is_secret(name: str) -> bool:
    """Tell whether an option or a variable of this name holds a secret, by its name."""
    return _SECRET.search(name) is not None


def keep_secret(*values: str | None) -> None:
    """Redact these values from all that is kept or printed from now on."""
    _opened.update(value for value in values if value and len(value) >= SHORTEST)


def secrets_of_address(address: str | None) -> list[tuple[str, str]]:
    """Secrets in an address, decoded, each after the name of its parameter or place."""
    address = address or ""
    whole = address.partition("://")[2] or address
    host, _, rest = re.sub("[?#]", "/", whole).partition("/")
    user = host.rpartition("@")[0]
    parts = (unquote_plus(part).partition("=") for part in re.split("[/;&]", rest))
    fields = ((name, value) if value else ("path", name) for name, _, value in parts)
    found = [(name, value) for name, value in fields if exposes_in_address(name, value)]
    return [("user", user), *found] if user else found


def exposes_in_address(name: str, value: str) -> bool:
    """Tell whether a parameter of an address is a secret."""
    is_named = _IN_ADDRESS.search(name) is not None
    return is_named or _KEY.match(value) is not None or exposes_secret(name, value)


def refuse_secret(where: str, name: str) -> None:
    """Refuse an argument that others could read in the list of processes, or in a file.

    Raises:
        UsageError: Its name is that of a secret.
    """
    if is_secret(name) or name.startswith("aws_"):
        raise _exposed(f"{where} {name}")


def _exposed(where: str) -> UsageError:
    return UsageError(
        f"{where}: a key that stands there can be read by others; put it into the "
        "environment variable that the provider reads (OPENAI_API_KEY; SERVICE_API_KEY for "
        "openai-api/SERVICE/...)"
    )


def exposes_secret(name: str, value: str) -> bool:
    """Tell whether a value is a secret: by its name, its form, or what is known of keys."""
    return _is_proof(name) or _PROVEN.match(value) is not None or redacted(value) != value


def _is_proof(name: str) -> bool:
    """Tell whether an option or a header of this name holds a secret, by its name."""
    return is_secret(name) or _PROOF.search(name) is not None


def refuse_secrets_within(where: str, value: Any) -> None:
    """Refuse a value that is a secret, or holds one, by the names in it and what is known of keys.

    Raises:
        UsageError: It is, or holds, a secret.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _is_proof(str(name)):
                raise _exposed(f"{where} {name}")
            refuse_secrets_within(where, inner)
    elif isinstance(value, list):
        for inner in value:
            refuse_secrets_within(where, inner)
    elif isinstance(value, str) and exposes_secret("", value):
        raise _exposed(where)


def refuse_password(where: str, address: str | None) -> None:
    """Refuse an address with a password or a key, which would stand in the logs.

    Raises:
        UsageError: It has one.
    """
    if found := secrets_of_address(address):
        raise _exposed(f"{where}: the address holds a secret ({found[0][0]})")


def redacted(text: str) -> str:
    """A text without the known keys: those of opened models, and of the environment."""
    return make_redactor()(text)


def make_redactor() -> Callable[[str], str]:
    """Function as ``redacted`` for many texts: the environment is read once, now."""
    forms = _known_forms()

    def redact(text: str) -> str:
        for form in forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        return text

    return redact


def make_body_redactor() -> Callable[[bytes], bytes]:
    """Function that removes the known keys from bytes: the environment is read once, now."""
    forms, hidden = [form.encode() for form in _known_forms()], HIDDEN.encode()

    def redact(body: bytes) -> bytes:
        for form in forms:
            if form in body:
                body = body.replace(form, hidden)
        return body

    return redact


def redacted_body(body: bytes) -> bytes:
    """The body of an answer without the known keys, which some gateways repeat on an error."""
    return make_body_redactor()(body)


def _known_forms() -> list[str]:
    """All forms of the keys of opened models and of the environment, the longest keys first."""
    of_environment = {
        value for name, value in os.environ.items() if len(value) >= SHORTEST and is_secret(name)
    }
    secrets = sorted(_opened | of_environment, key=len, reverse=True)
    return [form for secret in secrets for form in _forms(secret)]


@lru_cache(maxsize=256)
def _forms(secret: str) -> tuple[str, ...]:
    """A key as it is, in JSON, in an address, in hexadecimals, and within base64."""
    plain = secret.encode(errors="replace")
    found = [secret, json.dumps(secret)[1:-1], quote(secret, safe=""), plain.hex()]
    for before in range(3):
        # Letters at the ends depend on what stands beside the key.
        whole = b64encode(b"x" * before + plain).decode()
        found.append(whole[4 if before else 0 : -4])
    return tuple(form for form in dict.fromkeys(found) if len(form) >= SHORTEST)


MAX_TOKENS = 10**9
"""Tokens of an answer above which a count is no count."""


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether a value can be a number of an answer's tokens."""
    return type(value) is int and 0 <= value <= MAX_TOKENS


def valid(record: Any) -> Any:
    """A record of Inspect's that a log can hold: halves of characters are replaced."""
    try:
        record.model_dump_json()
    except ValueError:
        return type(record).model_validate(whole_characters(record.model_dump()))
    return record


Answer = TypeVar("Answer")

SHOWN = 200
"""Most characters of a failed request's reason."""


Faults = Mapping[str, Mapping[str, int]]
"""Count of each kind of fault, by model."""


class UnreadAnswerError(RuntimeError):
    """A body under a status of success that is no answer of the model that was asked."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        self.kind = kind
        super().__init__(reason)


class FailedRequestError(RuntimeError):
    """A request without an answer after all attempts.

    Its message holds no key, but the provider's own words, which may quote what was asked: it is
    for logs and tables. ``plain`` is printed.
    """

    def __init__(
        self, kind: FaultKind, reason: str, status_code: int | None, location: str = ""
    ) -> None:
        self.kind = kind
        self.status_code = status_code
        self._location = redacted(location)
        # Inspect shows this attribute of an error, and else its repr.
        self.message = f"{kind.words}: {reason}"
        super().__init__(self.message)

    @property
    def plain(self) -> str:
        """The fault in casewise's words alone."""
        status, advice = self.status_code, ROWS[self.kind].advice
        words = self.kind.words if status is None else status_words(status, self.kind)
        words += f" to {self._location}" if self._location else ""
        return f"{words}: {advice}" if advice else words


def printable(message: str) -> str:
    """Printable part of a logged error: a provider's own words are left out."""
    kind = message.split(":")[0]
    return kind if kind in _KINDS else message


_KINDS = {kind.words: kind for kind in FaultKind}


FaultCounts = Counter[tuple[str, FaultKind]]

FaultObserver = Callable[[str, str], None]
"""Called with the model and a kind of fault, in words, when it is met for the first time."""

_counting: ContextVar[tuple[tuple[FaultCounts, FaultObserver], ...]] = ContextVar(
    "casewise_counting", default=()
)
"""Counters of this context, the innermost last."""


def count_fault(model: str, kind: FaultKind, times: int = 1, said: str = "") -> None:
    """Count a fault of a request, which may get its answer all the same.

    Args:
        model: The model that was asked.
        kind: Kind of the fault.
        times: Number of times that it was met.
        said: The fault in more words; they are printed, so none may be a provider's.
    """
    for counter, tell in _counting.get():
        if not counter[model, kind]:
            tell(model, said or kind.words)
        counter[model, kind] += times


def count_faults(met: FaultCounts) -> None:
    """Count the faults that another process met."""
    for (model, kind), times in met.items():
        count_fault(model, kind, times)


@contextmanager
def counted(tell: FaultObserver | None = None) -> Iterator[FaultCounts]:
    """Count the faults of all requests that the block, and what it starts in its context, sends.

    Other threads, and other tasks of an event loop, don't count here.
    """
    counter: FaultCounts = Counter()
    observer = tell or (lambda _model, _kind: None)
    with holding(_counting, (*_counting.get(), (counter, observer))):
        yield counter


def logged_kind(error: str) -> FaultKind:
    """Kind of fault of a case's error, as its log keeps it."""
    return _KINDS.get(error.split(":")[0], FaultKind.OTHER)


def by_model(counts: FaultCounts) -> dict[str, dict[str, int]]:
    """Counts by model, then by kind, both sorted."""
    nested: dict[str, dict[str, int]] = {}
    for (model, kind), number in sorted(counts.items()):
        nested.setdefault(model, {})[str(kind)] = number
    return nested


def failed(error: BaseException) -> FailedRequestError:
    """An error of a provider's client, without keys and without what was asked."""
    cause = root_of(error)
    if isinstance(cause, FailedRequestError):
        return cause
    said = said_of(cause)
    return FailedRequestError(kind_of(cause), failure_reason(cause), said.status, said.location)


async def asked(request: Awaitable[Answer]) -> Answer:
    """Wait for the answer to a request.

    Raises:
        FailedRequestError: No answer came.
    """
    try:
        return await request
    except CasewiseError:
        raise
    except Exception as error:
        # Inspect's own error holds what was asked, and its traceback too.
        raise failed(error) from None


def first_within(error: BaseException) -> BaseException:
    """First error within groups of errors, which tasks that run together raise."""
    return first_within(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def failure_reason(error: BaseException) -> str:
    """Reason of a failed request, on one line, without what was asked and without keys.

    Inspect's own message holds the whole request, and so the query; its cause's does not.
    """
    cause = root_of(error)
    text = whole_characters(str(cause).split("\nRequest:")[0])
    return redacted(" ".join(text[: 20 * SHOWN].split()))[:SHOWN] or type(cause).__name__
