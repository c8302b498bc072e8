"""The keys of a study: they sign, hide platform ids, and let the administrator in."""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from casewise.errors import InputError, UsageError

SECRET_VARIABLE = "CASEWISE_STUDY_SECRET"
ADMIN_VARIABLE = "CASEWISE_ADMIN_TOKEN"

LEAST_CHARACTERS = 16
"""Of a secret that is given."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Never in the database: who has that alone can't tell whose votes it holds."""

    secret: str = field(repr=False)
    admin: str = field(repr=False)
    """The administrator's token."""

    def derived(self, purpose: str) -> str:
        """A key of its own for each purpose. 64 hexadecimal characters."""
        return hmac.new(self.secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def platform_key(self, platform: str, account: str) -> str:
        """What is kept of a platform's id of a person: a hash that needs the secret."""
        return self.derived(f"account\0{platform}\0{account}")


def load_secrets(path: Path) -> Secrets:
    """The keys of the environment where given; else of the file, which is made once.

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
    # Exclusive: of two servers that start at once, one makes the file and both use it.
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    if not path.exists():
        descriptor = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(made, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            with contextlib.suppress(FileExistsError):
                os.link(scratch, path)
        finally:
            scratch.unlink()
    try:
        data = json.loads(path.read_text("utf-8"))
        return Secrets(str(data["secret"]), str(data["admin"]))
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "not the secrets of a study", file=path, expected="secret and admin, as JSON"
        ) from None
