"""People's accounts: ids from platforms and personal codes, hidden by the study's secrets."""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote

from casewise.errors import InputError, UsageError
from casewise.files import create_file
from casewise_study.study.schema import Platform


def keyed_hash(key: bytes, text: str) -> str:
    """HMAC-SHA256 (RFC 2104) of a text in UTF-8: 64 hexadecimal digits.

    Whoever has no key can't try texts until one fits.
    """
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


ACCOUNT_PARAMETER = {
    Platform.NONE: "participant",
    Platform.PROLIFIC: "PROLIFIC_PID",
}
"""Name of a person's id in the address."""

ACCOUNT_FORM = {Platform.PROLIFIC: "24 digits from 0 to 9 and a to f"}
"""Form of an id, in words."""

_FORM = {
    Platform.NONE: re.compile(r".{1,200}", re.DOTALL),
    Platform.PROLIFIC: re.compile(r"[0-9a-f]{24}"),
}

_PLACEHOLDER = re.compile(r"[{}\ufffd]|^[\[<%$@#].*[\]>%$@#]$|^[$:]\w+$", re.DOTALL)
"""Marks of survey tools, such as {{%ID%}}, ${ID}, %ID%, [ID]; and what "%AC" of one decodes to."""

_NAMES = {
    *("participant", "participantid", "prolificpid", "pid", "sessionid", "studyid"),
    *("undefined", "null", "nan"),
}
"""Names of parameters in place of their values, and what scripts write for a value they lack."""

_DECODINGS = 3


class AccountFault(StrEnum):
    """Fault of an id."""

    PLACEHOLDER = "placeholder"
    """The platform has not filled it in: everybody who follows the link has the same."""
    MALFORMED = "malformed"
    """The platform gives out no such ids."""
    UNSIGNED = "unsigned"
    """The signature is missing where it must stand, is wrong or has expired."""
    UNCHECKED = "unchecked"
    """The platform's keys can't be fetched at the moment."""


def given_account(platform: Platform, parameters: Mapping[str, str]) -> str | None:
    """The id in an address's parameters; without a platform any of the usual names will do."""
    every = [*reversed(ACCOUNT_PARAMETER.values())]
    names = every if platform is Platform.NONE else [ACCOUNT_PARAMETER[platform]]
    accounts = (parameters.get(name, "").strip() for name in names)
    return next((account for account in accounts if account), None)


def account_fault(platform: Platform, account: str) -> AccountFault | None:
    """Fault of an id; None if it names one person."""
    if any(_is_placeholder(text) for text in _decodings(account)):
        return AccountFault.PLACEHOLDER
    if not _FORM[platform].fullmatch(normal_account(platform, account)):
        return AccountFault.MALFORMED
    return None


def normal_account(platform: str, account: str) -> str:
    """Normalise an id: white space removed, case as the platform writes it."""
    account = account.strip()
    return account.lower() if platform == Platform.PROLIFIC else account


def _is_placeholder(text: str) -> bool:
    bare = re.sub(r"[\W_]", "", text).casefold()
    return bool(_PLACEHOLDER.search(text)) or bare in _NAMES


def _decodings(text: str) -> Iterator[str]:
    """The text, and what it is once its percent signs are decoded again: links are pasted twice."""
    for _ in range(_DECODINGS):
        yield text
        text = unquote(text).strip()


SECRET_VARIABLE = "CASEWISE_STUDY_SECRET"
ADMIN_VARIABLE = "CASEWISE_ADMIN_TOKEN"

LEAST_CHARACTERS = 16
"""Least characters of a secret that is given."""

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32: none of these are taken for each other."""

_ALIKE = str.maketrans("OIL", "011")
_CODE = 12
"""Letters of a personal code, the last of which checks the others."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets; kept outside the database, so that it alone does not identify people."""

    secret: str = field(repr=False)
    admin: str = field(repr=False)
    """The administrator's token."""

    def derived(self, purpose: str) -> str:
        """Derive a key for one purpose: 64 hexadecimal digits."""
        return keyed_hash(self.secret.encode(), purpose)

    def platform_key(self, platform: str, account: str) -> str:
        """The keyed hash of a platform's id of a person, which is stored in its place."""
        return self.derived(f"account\0{platform}\0{normal_account(platform, account)}")

    def signature(self, account: str) -> str:
        """Sign the link of a person who comes without a platform: 32 hexadecimal digits."""
        return self.derived(f"link\0{account.strip()}")[:32]

    def personal_code(self, key: str) -> str:
        """Derive a person's personal code, which is never stored.

        55 bits that need the secret, then a letter that checks them, in three groups.

        Args:
            key: The person's.
        """
        number = int(self.derived(f"code\0{key}")[:14], 16) >> 1
        body = "".join(_LETTERS[number >> 5 * place & 31] for place in range(_CODE - 1))
        code = body + _check_letter(body)
        return "-".join(code[start : start + 4] for start in range(0, _CODE, 4))

    def code_key(self, code: str) -> str | None:
        """The keyed hash of a personal code, which is stored; None of a mistyped code.

        Args:
            code: As a person types it. Capitals, spaces and hyphens don't matter, nor whether 0
                and O, or 1, I and L, were told apart.
        """
        bare = re.sub(r"[\s-]", "", code).upper().translate(_ALIKE)
        if len(bare) != _CODE or not set(bare) <= set(_LETTERS):
            return None
        return self.derived(f"code key\0{bare}") if bare[-1] == _check_letter(bare[:-1]) else None


def _check_letter(body: str) -> str:
    """Check letter: it differs if one letter is another, nearly always if two are swapped."""
    places = enumerate(map(_LETTERS.index, body))
    return _LETTERS[sum((2 * place + 1) * value for place, value in places) % 32]


def load_secrets(path: Path) -> Secrets:
    """Load the secrets from the environment, else from the file, which is made if missing.

    Args:
        path: Beside the database. Only its owner can read it.

    Raises:
        InputError: The file can't be used.
        UsageError: A variable of the environment is too short.
    """
    settings = {name: os.environ.get(name) for name in (SECRET_VARIABLE, ADMIN_VARIABLE)}
    for name, value in settings.items():
        if value is not None and len(value) < LEAST_CHARACTERS:
            raise UsageError(f"{name}: at least {LEAST_CHARACTERS} characters")
    secret, admin = settings.values()
    if secret and admin:
        return Secrets(secret, admin)
    stored = _stored_secrets(path)
    return Secrets(secret or stored.secret, admin or stored.admin)


def _stored_secrets(path: Path) -> Secrets:
    new = {"secret": secrets.token_urlsafe(32), "admin": secrets.token_urlsafe(24)}
    if not path.exists():
        # Of two servers that start at once, one makes the file and both use it.
        create_file(path, json.dumps(new).encode())
    try:
        data = json.loads(path.read_text("utf-8"))
        return Secrets(str(data["secret"]), str(data["admin"]))
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "not the secrets of a study", file=path, expected="secret and admin, as JSON"
        ) from None
