"""The salt that makes pseudonyms of platforms' names: a file of its owner's alone."""

import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from casewise.annotation.study import hash_platform_id
from casewise.errors import InputError
from casewise.files import create_file, read_text

_LEAST = 16


@dataclass(frozen=True, slots=True)
class Salt:
    """A salt, and whether it is still to be written."""

    path: Path
    value: bytes
    new: bool

    def pseudonym(self, id: str) -> str:
        """The pseudonym of a platform's name for a person."""
        return hash_platform_id(self.value, id)


def read_salt(path: Path, *, create: bool) -> Salt:
    """The salt of a file. Without a file and with ``create`` a new one, not yet written.

    Raises:
        InputError: There is none and none may be made, or it is too short.
    """
    if create and not path.exists():
        return Salt(path, secrets.token_hex(32).encode(), new=True)
    value = read_text(path).strip().encode()
    if len(value) < _LEAST:
        raise InputError(
            "not a salt", file=path, found=f"{len(value)} bytes", expected=f"{_LEAST} or more"
        )
    return Salt(path, value, new=False)


def keep_salt(salt: Salt) -> None:
    """Write a new salt, for its owner alone to read; one that is there stays as it is.

    Raises:
        InputError: Another process has made one meanwhile.
    """
    if not salt.new:
        return
    if not create_file(salt.path, salt.value + b"\n"):
        raise InputError("made meanwhile by another process; try again", file=salt.path)


def is_open_to_others(path: Path) -> bool:
    """Whether anybody but the owner may read the file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
