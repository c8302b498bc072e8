"""Keys: found by names and forms, refused where others could read them, and redacted in texts."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any
from urllib.parse import quote, unquote_plus

from casewise.errors import ModelError, UsageError

HIDDEN = "[key]"
"""Replacement for a redacted key."""

SHORTEST = 8
"""Minimum key length; shorter values would be cut out of ordinary words."""

_SECRET = re.compile(
    r"(^|[_-])(api[_-]?key|key|token|secret|password|credentials?|auth)$|authori[sz]ation|cookie",
    re.IGNORECASE,
)
"""Names of options, variables and headers that hold secrets."""

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

_model_keys: set[str] = set()
"""Keys of opened models."""


@cache
def is_secret(name: str) -> bool:
    """Tell whether an option, a variable or a header of this name holds a secret."""
    return _SECRET.search(name) is not None


def keep_secret(*values: str | None) -> None:
    """Redact these values from all that is kept or printed from now on."""
    _model_keys.update(value for value in values if value and len(value) >= SHORTEST)


def secrets_of_address(address: str | None) -> list[tuple[str, str]]:
    """Secrets in an address, decoded, each after the name of its parameter or place."""
    address = address or ""
    whole = address.partition("://")[2] or address
    host, _, tail = re.sub("[?#]", "/", whole).partition("/")
    user = host.rpartition("@")[0]
    parts = (unquote_plus(part).partition("=") for part in re.split("[/;&]", tail))
    fields = ((name, value) if value else ("path", name) for name, _, value in parts)
    secrets = [(name, value) for name, value in fields if exposes_in_address(name, value)]
    return [("user", user), *secrets] if user else secrets


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
    return is_secret(name) or _PROVEN.match(value) is not None or redacted(value) != value


def refuse_secrets_within(where: str, value: Any) -> None:
    """Refuse a value that is a secret, or holds one, by the names in it and what is known of keys.

    Raises:
        UsageError: It is, or holds, a secret.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if is_secret(str(name)):
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
    if secrets := secrets_of_address(address):
        raise _exposed(f"{where}: the address holds a secret ({secrets[0][0]})")


def redacted(text: str) -> str:
    """A text without the known keys: those of opened models, and of the environment."""
    for form in _known_forms():
        text = text.replace(form, HIDDEN)
    return text


def make_redactor() -> Callable[[bytes], bytes]:
    """Function that removes the known keys from bytes: the environment is read once, now."""
    forms, hidden = [form.encode() for form in _known_forms()], HIDDEN.encode()

    def redact(body: bytes) -> bytes:
        for form in forms:
            body = body.replace(form, hidden)
        return body

    return redact


def _known_forms() -> list[str]:
    """All forms of the keys of opened models and of the environment, the longest keys first."""
    of_environment = {
        value for name, value in os.environ.items() if len(value) >= SHORTEST and is_secret(name)
    }
    secrets = sorted(_model_keys | of_environment, key=len, reverse=True)
    return [form for secret in secrets for form in _forms(secret)]


@lru_cache(maxsize=256)
def _forms(secret: str) -> tuple[str, ...]:
    """A key as it is, in JSON, in an address, in hexadecimals, and within base64."""
    plain = secret.encode(errors="replace")
    forms = [secret, json.dumps(secret)[1:-1], quote(secret, safe=""), plain.hex()]
    for before in range(3):
        # Letters at the ends depend on what stands beside the key.
        whole = b64encode(b"x" * before + plain).decode()
        forms.append(whole[4 if before else 0 : -4])
    return tuple(form for form in dict.fromkeys(forms) if len(form) >= SHORTEST)


class MissingError(ModelError):
    """A missing key, setting or package of a provider's."""
