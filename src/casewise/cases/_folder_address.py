"""Folders that may be elsewhere: ``s3://bucket/folder`` beside a path."""

import re
from pathlib import Path

_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def address_of(path: Path | str) -> str:
    """A folder or file as fsspec and Inspect take it.

    A path makes one slash of two: the two of ``s3://`` are put back. Whatever has no scheme, and
    ``file://``, is a path of this machine.
    """
    text = str(path)
    match = _URL.fullmatch(text)
    if match is None:
        return text
    scheme, rest = match.groups()
    return f"/{rest}" if scheme == "file" else f"{scheme}://{rest}"


def is_elsewhere(path: Path | str) -> bool:
    """Whether it is an address, and no path of this machine."""
    return "://" in address_of(path)


def place_of(path: Path) -> Path:
    """The same, but a path of this machine for ``file://``."""
    return path if is_elsewhere(path) else Path(address_of(path))
