"""Fetch CASE-Bench: pinned files, checked, into the user's cache. Never bundled or uploaded."""

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from casewise.errors import AssetError
from casewise.files import write_atomically


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
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected:
        raise AssetError(
            f"{what}: sha256 differs (found {actual}; expected {expected}). "
            "The file was altered or is another version; nothing was kept."
        )


COMMIT = "135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a"
_BASE = f"https://raw.githubusercontent.com/BriansIDP/CASEBench/{COMMIT}"
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


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of somebody's repository at a pinned commit."""

    name: str
    path: str
    """Its path in the repository."""
    sha256: str
    data_set: str = "casebench"
    base: str | None = None
    """The address of the repository at the commit; None is CASE-Bench's."""

    @property
    def url(self) -> str:
        """Where it is fetched from."""
        return f"{self.base or _BASE}/{self.path}"

    @property
    def cached(self) -> Path:
        """Where it is kept."""
        commit = self.base.rsplit("/", 1)[-1] if self.base else COMMIT
        return cache_dir() / self.data_set / commit[:7] / self.name


DATA = PinnedFile(
    "CASEBench_data.json",
    "data/CASEBench_data.json",
    "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c",
)
TEMPLATES = PinnedFile(
    "template.py",
    "scripts/template.py",
    "1b83b0e36a5e0f43c2443983069f58548b76f313d0a1d7624cf1e12ce3353dfe",
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch brought into the cache."""

    data: Path
    templates: Path | None
    """None where the given folder or file came without upstream's prompts."""


def fetch_casebench(origin: Path | None = None) -> Fetched:
    """Bring the data and the prompt templates into the cache, checked against their hashes.

    Args:
        origin: A checkout of the repository, a folder with the data file, or the data file;
            None fetches both files over the network.

    Raises:
        AssetError: A file is absent, altered, or can't be fetched; the cache is unchanged.
    """
    check_cache_writable(DATA.cached.parent)
    read: Callable[[PinnedFile], bytes | None]
    if origin is None:
        read = download
    elif origin.exists():
        root = origin
        read = lambda pinned: from_origin(root, pinned, DATA)  # noqa: E731
    else:
        raise AssetError(f"{origin}: no such file or folder")
    data = read(DATA)
    if data is None:
        raise AssetError(f"{origin}: holds neither {DATA.path} nor {DATA.name}")
    check_sha256(data, DATA.sha256, DATA.name)
    templates = read(TEMPLATES)
    if templates is not None:
        check_sha256(templates, TEMPLATES.sha256, TEMPLATES.name)
        write_atomically(TEMPLATES.cached, templates)
    write_atomically(DATA.cached, data)
    return Fetched(DATA.cached, TEMPLATES.cached if templates is not None else None)


def from_origin(origin: Path, pinned: PinnedFile, data: PinnedFile) -> bytes | None:
    """A file of a checkout or a folder, or ``data`` itself; None where it isn't there."""
    if origin.is_file():
        return origin.read_bytes() if pinned is data else None
    for place in (origin / pinned.path, origin / pinned.name):
        if place.is_file():
            return place.read_bytes()
    return None


def download(pinned: PinnedFile) -> bytes:
    """The bytes of a file, over the network.

    Raises:
        AssetError: It can't be fetched.
    """
    try:
        with urllib.request.urlopen(pinned.url, timeout=_TIMEOUT_S) as response:
            content: bytes = response.read()
            return content
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise AssetError(
            f"{pinned.name}: can't be fetched from {pinned.url} ({reason}). "
            "Without a network, give a checkout or the data file: "
            f"casewise cases fetch {pinned.data_set} --from PATH"
        ) from None


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
