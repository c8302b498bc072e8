"""Fetch CASE-Bench: pinned files, checked, into the user's cache, after consent to its terms.

Nothing of it is bundled or uploaded.
"""

import hashlib
import http.client
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import AssetError
from casewise.files import cache_dir, write_atomically


def check_cache_writable(folder: Path) -> None:
    """Make a folder of the cache and check that it can be written.

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
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected:
        raise AssetError(
            f"{what}: sha256 differs (found {actual}; expected {expected}). "
            "The file was altered or is another version; nothing was kept."
        )


_TIMEOUT_S = 60

TERMS = """\
CASE-Bench (Sun et al., ICML 2025, arXiv 2501.14940; github.com/BriansIDP/CASEBench)

Content warning: red-teaming queries on sensitive and distressing topics.

The queries come from SORRY-Bench. CASE-Bench's authors ask that its data be
used only by people who have been granted access to SORRY-Bench and who keep to
that agreement. By going on you state that this is so, that you use the data for
research on safety, and that you will not publish or upload the queries. casewise
keeps the files in your own cache and sends them to no one but the models that
you name."""


_COMMIT = "135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a"
_BASE = f"https://raw.githubusercontent.com/BriansIDP/CASEBench/{_COMMIT}"


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of upstream's repository at the pinned commit."""

    path: str
    """Its path in the repository."""
    sha256: str

    @property
    def name(self) -> str:
        """Its name, in the repository and in the cache."""
        return Path(self.path).name

    @property
    def cached(self) -> Path:
        """Path in the cache."""
        return cache_dir() / "casebench" / _COMMIT[:7] / self.name


DATA = PinnedFile(
    "data/CASEBench_data.json", "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c"
)
TEMPLATES = PinnedFile(
    "scripts/template.py", "1b83b0e36a5e0f43c2443983069f58548b76f313d0a1d7624cf1e12ce3353dfe"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of a fetch into the cache."""

    data: Path
    templates: Path | None
    """File of upstream's prompts; None where the origin lacks it."""


def fetch_casebench(origin: Path | None = None) -> Fetched:
    """Put the data and the prompt templates into the cache, checked against their hashes.

    Args:
        origin: A checkout of the repository, a folder with the data file, or the data file;
            None fetches both files over the network.

    Raises:
        AssetError: A file is absent, altered, or can't be fetched; the cache is unchanged.
    """
    check_cache_writable(DATA.cached.parent)
    if origin is not None and not origin.exists():
        raise AssetError(f"{origin}: no such file or folder")
    contents = {}
    for pinned in (DATA, TEMPLATES):
        content = _download(pinned) if origin is None else _from_origin(origin, pinned)
        if content is not None:
            check_sha256(content, pinned.sha256, pinned.name)
            contents[pinned] = content
    if DATA not in contents:
        raise AssetError(f"{origin}: holds neither {DATA.path} nor {DATA.name}")
    for pinned, content in contents.items():
        write_atomically(pinned.cached, content)
    return Fetched(DATA.cached, TEMPLATES.cached if TEMPLATES in contents else None)


def _from_origin(origin: Path, pinned: PinnedFile) -> bytes | None:
    """A file of a checkout or a folder, or the data file itself; None where it isn't there."""
    places = (origin / pinned.path, origin / pinned.name, *([origin] if pinned is DATA else []))
    return next((place.read_bytes() for place in places if place.is_file()), None)


def _download(pinned: PinnedFile) -> bytes:
    """Download a file.

    Raises:
        AssetError: It can't be fetched, or the connection broke before its end.
    """
    url = f"{_BASE}/{pinned.path}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            content: bytes = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise AssetError(
            f"{pinned.name}: can't be fetched from {url} ({reason}). Without a network, give a "
            "checkout or the data file: casewise cases fetch casebench --from PATH"
        ) from None
    return content


def casebench_data() -> Path:
    """The cached data file.

    Raises:
        AssetError: It was not fetched yet.
    """
    if not DATA.cached.is_file():
        raise AssetError(
            "CASE-Bench is not in the cache: run 'casewise cases fetch casebench' first, "
            "or give the path of CASEBench_data.json"
        )
    return DATA.cached


def casebench_templates() -> Path:
    """The cached file of upstream's prompts.

    Raises:
        AssetError: It was not fetched yet.
    """
    if not TEMPLATES.cached.is_file():
        raise AssetError(
            "upstream's prompts are not in the cache: run 'casewise cases fetch casebench' first "
            "(with --from, give a checkout that holds scripts/template.py)"
        )
    return TEMPLATES.cached
