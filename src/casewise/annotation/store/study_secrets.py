"""A study's secrets: for signing, hashing platform ids, and the administrator's access."""

import json
import os
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from casewise.annotation.study.accounts import keyed_hash, normal_account
from casewise.errors import InputError, UsageError
from casewise.files import create_file

SECRET_VARIABLE = "CASEWISE_STUDY_SECRET"
ADMIN_VARIABLE = "CASEWISE_ADMIN_TOKEN"

LEAST_CHARACTERS = 16
"""Of a secret that is given."""

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
    """Differs if one letter is another, and nearly always if two neighbours are swapped."""
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
    given = {name: os.environ.get(name) for name in (SECRET_VARIABLE, ADMIN_VARIABLE)}
    for name, value in given.items():
        if value is not None and len(value) < LEAST_CHARACTERS:
            raise UsageError(f"{name}: at least {LEAST_CHARACTERS} characters")
    secret, admin = given.values()
    if secret and admin:
        return Secrets(secret, admin)
    kept = _kept(path)
    return Secrets(secret or kept.secret, admin or kept.admin)


def _kept(path: Path) -> Secrets:
    made = {"secret": secrets.token_urlsafe(32), "admin": secrets.token_urlsafe(24)}
    if not path.exists():
        # Of two servers that start at once, one makes the file and both use it.
        create_file(path, json.dumps(made).encode())
    try:
        data = json.loads(path.read_text("utf-8"))
        return Secrets(str(data["secret"]), str(data["admin"]))
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "not the secrets of a study", file=path, expected="secret and admin, as JSON"
        ) from None
