"""Where fetched files are kept: the user's cache, or the folder that CASEWISE_CACHE names."""

import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs

from casewise.errors import AssetError


def cache_dir() -> Path:
    """The folder of fetched files (not created here)."""
    given = os.environ.get("CASEWISE_CACHE")
    return Path(given) if given else platformdirs.user_cache_path("casewise", appauthor=False)


def check_cache_writable(folder: Path) -> None:
    """Make a folder of the cache, and see that files can be put there.

    Raises:
        AssetError: They can't; the message names the variable that chooses another place.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise AssetError(
            f"{folder} can't be written ({error.strerror}), and fetched files are kept there: set "
            "CASEWISE_CACHE to a folder that can"
        ) from None


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
