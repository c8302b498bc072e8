"""Fetch data sets: pinned files, checked, into the user's cache. None is bundled or uploaded.

CASE-Bench asks for consent to its terms; the other sets are under open licences.
"""

import hashlib
import http.client
import tempfile
import urllib.request
from collections.abc import Sequence
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


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of somebody's repository at a pinned commit."""

    data_set: str
    base: str
    """Address of the repository at the commit; ends in the commit."""
    path: str
    """Its path in the repository."""
    sha256: str

    @property
    def name(self) -> str:
        """Its name, in the repository and in the cache."""
        return Path(self.path).name

    @property
    def url(self) -> str:
        """Address that it is fetched from."""
        return f"{self.base}/{self.path}"

    @property
    def cached(self) -> Path:
        """Path in the cache."""
        return cache_dir() / self.data_set / self.base.rsplit("/", 1)[-1][:7] / self.name


def _pinned(
    data_set: str, repository: str, commit: str, *files: tuple[str, str]
) -> tuple[PinnedFile, ...]:
    base = f"https://raw.githubusercontent.com/{repository}/{commit}"
    return tuple(PinnedFile(data_set, base, path, sha256) for path, sha256 in files)


DATA, TEMPLATES = _pinned(
    "casebench",
    "BriansIDP/CASEBench",
    "135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a",
    (
        "data/CASEBench_data.json",
        "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c",
    ),
    (
        "scripts/template.py",
        "1b83b0e36a5e0f43c2443983069f58548b76f313d0a1d7624cf1e12ce3353dfe",
    ),
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
    data, *others = _bring((DATA, TEMPLATES), origin, optional=TEMPLATES)
    return Fetched(data, others[0] if others else None)


def _bring(
    files: Sequence[PinnedFile], origin: Path | None, optional: PinnedFile | None = None
) -> tuple[Path, ...]:
    """Put files into the cache, all or none; an origin may lack only ``optional``."""
    check_cache_writable(files[0].cached.parent)
    if origin is not None and not origin.exists():
        raise AssetError(f"{origin}: no such file or folder")
    contents = {}
    for pinned in files:
        if origin is None:
            content: bytes | None = _download(
                pinned.url,
                "give a checkout or the data file: "
                f"casewise cases fetch {pinned.data_set} --from PATH",
            )
        else:
            content = _from_origin(origin, pinned, is_data=pinned is files[0])
        if content is not None:
            check_sha256(content, pinned.sha256, pinned.name)
            contents[pinned.cached] = content
        elif pinned is not optional:
            raise AssetError(f"{origin}: holds neither {pinned.path} nor {pinned.name}")
    for path, content in contents.items():
        write_atomically(path, content)
    return tuple(contents)


def _from_origin(origin: Path, pinned: PinnedFile, *, is_data: bool) -> bytes | None:
    """A file of a checkout or a folder, or the data file itself; None where it isn't there."""
    places = (origin / pinned.path, origin / pinned.name, *([origin] if is_data else []))
    return next((place.read_bytes() for place in places if place.is_file()), None)


def _download(url: str, remedy: str) -> bytes:
    """Download a file.

    Args:
        url: Its address.
        remedy: What to do without a network.

    Raises:
        AssetError: It can't be fetched, or the connection broke before its end.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            content: bytes = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        name = url.rpartition("/")[2]
        raise AssetError(
            f"{name}: can't be fetched from {url} ({reason}). Without a network, {remedy}"
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


@dataclass(frozen=True, slots=True)
class OpenSet:
    """A data set whose files may be fetched by anybody."""

    name: str
    terms: str
    files: tuple[PinnedFile, ...]
    """Its files; the first holds the rows, others are joined to it."""
    mappings: tuple[str, ...]
    """The shipped mappings of its first files, in their order."""


def _open_set(
    name: str,
    what: str,
    repository: str,
    commit: str,
    *files: tuple[str, str],
    licence: str,
    credit: str,
    mappings: tuple[str, ...] = (),
) -> OpenSet:
    terms = (
        f"{what}; github.com/{repository}\n\nLicence: {licence}. {credit}\n\n"
        "Content warning: texts may be offensive or distressing. casewise keeps the files in your\n"
        "own cache, unchanged, and sends them to no one but the models that you name."
    )
    return OpenSet(name, terms, _pinned(name, repository, commit, *files), mappings or (name,))


_KEEP_NOTICE = "Keep its notice wherever you share the file."

OPEN_SETS = {
    one.name: one
    for one in (
        _open_set(
            "xstest",
            "XSTest (Röttger et al., NAACL 2024, arXiv 2308.01263)",
            "paul-rottger/xstest",
            "475f10bf0a3d6a9dfb174b6de1a38afbfdff98a5",
            (
                "xstest_prompts.csv",
                "11783fb294ed017473ee53c207d71f2161c7672c8d0b037501e78387f801cb5a",
            ),
            licence="CC-BY-4.0",
            credit="Name its authors wherever you share what you make of it.",
        ),
        _open_set(
            "cat",
            "CAT (Xenos et al. 2021, WOAH)",
            "ipavlopoulos/context_toxicity",
            "5df49c294e6a41f0ba351e65fda7c315aa4cc168",
            (
                "data/CAT_SMALL/cat_small.csv",
                "32ccd4a9ed4d4d294542d175c40002922f1b8081a450d222a07d7cb8c1d33f6e",
            ),
            licence="Apache-2.0",
            credit=_KEEP_NOTICE,
        ),
        _open_set(
            "confaide",
            "ConfAIde, tier 2 (Mireshghallah et al., ICLR 2024, arXiv 2310.17884)",
            "skywalker023/confaide",
            "dfe977e98d11bdb093adc5690e175b739350845d",
            (
                "benchmark/tier_2a.txt",
                "a869099fab404cde9dd50f23c20668063021afa8f080e190b348a5a4da14b979",
            ),
            (
                "benchmark/tier_2b.txt",
                "8c194006c92816f56a9ee2f6ec3bf09f29bb1a543408ce154096c8c67f72df37",
            ),
            (
                "benchmark/tier_2_labels.txt",
                "cd573da5a542a4d92f3a81ed5b09b66cc25a6ae0ea656aaaf754af43304bbb34",
            ),
            licence="MIT",
            credit="Keep its notice wherever you share the files.",
            mappings=("confaide-2a", "confaide-2b"),
        ),
        _open_set(
            "opensafeintent",
            "OpenSafeIntent (arXiv 2607.02047)",
            "Uppaal/OpenSafeIntent",
            "9706897bc9ffdb328446141b2a4568c98c70843e",
            (
                "dataset.json",
                "ad9ed2e8f190638b03afd81b69a1350f866706db08bb837b84332c54d29fe7ff",
            ),
            licence="Apache-2.0",
            credit=_KEEP_NOTICE,
        ),
    )
}
"""Sets by name. Gated ones, and those whose licence is not stated, are for their owners to give."""


def fetch_open_set(name: str, origin: Path | None = None) -> tuple[Path, ...]:
    """Put the files of a data set into the cache, checked against their hashes.

    Args:
        name: One of ``OPEN_SETS``.
        origin: A checkout or folder with the files, or the only file; None fetches them.

    Raises:
        AssetError: A file is absent, altered, or can't be fetched; the cache is unchanged.
    """
    return _bring(OPEN_SETS[name].files, origin)
