"""Where fetched files are kept: the user's cache, or the folder that CASEWISE_CACHE names."""

import hashlib
import os
from pathlib import Path

import platformdirs

from casewise.errors import AssetError


def cache_dir() -> Path:
    """The folder of fetched files (not created here)."""
    given = os.environ.get("CASEWISE_CACHE")
    return Path(given) if given else platformdirs.user_cache_path("casewise", appauthor=False)


def check_sha256(data: bytes, expected: str, what: str) -> None:
    """Compare bytes with a pinned hash.

    Raises:
        AssetError: They differ.
    """
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise AssetError(
            f"{what}: sha256 differs (found {found}; expected {expected}). "
            "The file was altered or is another version; nothing was kept."
        )
