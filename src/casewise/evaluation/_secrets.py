"""Keys: known, so that they can be taken out of whatever is kept or printed."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from casewise.errors import UsageError

HIDDEN = "[key]"
"""What stands where a key stood."""

SHORTEST = 8
"""Letters of a text that is taken for a key: shorter ones would be taken out of common words."""

_SECRET = re.compile(
    r"(^|[_-])(api[_-]?key|key|token|secret|password|credentials?)$", re.IGNORECASE
)
"""How the names of options and variables end that hold secrets."""

_PROOF = re.compile(r"authori[sz]ation|cookie|(^|[_-])auth$", re.IGNORECASE)
"""Headers that hold one."""

_PROVEN = re.compile(r"(bearer|basic)\s+\S", re.IGNORECASE)
"""How what such a header says begins."""

_opened: set[str] = set()
"""Keys of models that were opened."""


def is_secret(name: str) -> bool:
    """Whether an option or a variable of this name holds a secret, by its name."""
    return _SECRET.search(name) is not None


def keep_secret(*values: str | None) -> None:
    """Take these out of all that is kept or printed from now on."""
    _opened.update(value for value in values if value and len(value) >= SHORTEST)


def secrets_of_address(address: str | None) -> tuple[str, ...]:
    """The password that an address holds."""
    try:
        found = urlsplit(address or "").password
    except ValueError:
        return ()
    return (found, unquote(found)) if found else ()


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


def refuse_secrets_within(where: str, value: Any) -> None:
    """Refuse a value that is a secret, or holds one, by the names in it and what is known of keys.

    Raises:
        UsageError: It does.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if is_secret(str(name)) or _PROOF.search(str(name)):
                raise _exposed(f"{where} {name}")
            refuse_secrets_within(where, inner)
    elif isinstance(value, list):
        for inner in value:
            refuse_secrets_within(where, inner)
    elif isinstance(value, str) and (_PROVEN.match(value) or redacted(value) != value):
        raise _exposed(where)


def refuse_password(where: str, address: str | None) -> None:
    """Refuse an address with a password: it would stand in the logs.

    Raises:
        UsageError: It has one.
    """
    if secrets_of_address(address):
        raise UsageError(
            f"{where}: the address holds a password, which others could read; put the address "
            "into the environment variable that the provider reads (OPENAI_BASE_URL; "
            "SERVICE_BASE_URL for openai-api/SERVICE/...)"
        )


def redacted(text: str) -> str:
    """A text without the keys that are known: those of opened models, and of the environment."""
    return make_redactor()(text)


def make_redactor() -> Callable[[str], str]:
    """``redacted`` for many texts: the environment is read now, and not again for each."""
    of_environment = _of_environment()

    def redact(text: str) -> str:
        for secret in sorted(_opened | of_environment, key=len, reverse=True):
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text

    return redact


def _of_environment() -> set[str]:
    return {
        value for name, value in os.environ.items() if len(value) >= SHORTEST and is_secret(name)
    }
