"""Fetch other data sets: pinned files under open licences, checked, into the user's cache."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from casewise.cases._casebench import (
    PinnedFile,
    check_cache_writable,
    check_sha256,
    download,
    from_origin,
)
from casewise.errors import AssetError
from casewise.files import write_atomically


@dataclass(frozen=True, slots=True)
class OpenSet:
    """A data set whose files may be fetched by anybody."""

    name: str
    terms: str
    files: tuple[PinnedFile, ...]
    """The first holds the rows; others belong beside it."""
    mappings: tuple[str, ...]
    """The shipped mappings of its first files, in their order."""


def _of(name: str, repository: str, commit: str, *files: tuple[str, str]) -> tuple[PinnedFile, ...]:
    base = f"https://raw.githubusercontent.com/{repository}/{commit}"
    return tuple(PinnedFile(Path(path).name, path, sha, name, base) for path, sha in files)


def _terms(what: str, where: str, licence: str, credit: str) -> str:
    return (
        f"{what}; {where}\n\nLicence: {licence}. {credit}\n\n"
        "Content warning: texts may be offensive or distressing. casewise keeps the files in your\n"
        "own cache, unchanged, and sends them to no one but the models that you name."
    )


OPEN_SETS = {
    one.name: one
    for one in (
        OpenSet(
            "xstest",
            _terms(
                "XSTest (Röttger et al., NAACL 2024, arXiv 2308.01263)",
                "github.com/paul-rottger/xstest",
                "CC-BY-4.0",
                "Name its authors wherever you share what you make of it.",
            ),
            _of(
                "xstest",
                "paul-rottger/xstest",
                "475f10bf0a3d6a9dfb174b6de1a38afbfdff98a5",
                (
                    "xstest_prompts.csv",
                    "11783fb294ed017473ee53c207d71f2161c7672c8d0b037501e78387f801cb5a",
                ),
            ),
            ("xstest",),
        ),
        OpenSet(
            "cat",
            _terms(
                "CAT (Xenos et al. 2021, WOAH)",
                "github.com/ipavlopoulos/context_toxicity",
                "Apache-2.0",
                "Keep its notice wherever you share the file.",
            ),
            _of(
                "cat",
                "ipavlopoulos/context_toxicity",
                "5df49c294e6a41f0ba351e65fda7c315aa4cc168",
                (
                    "data/CAT_SMALL/cat_small.csv",
                    "32ccd4a9ed4d4d294542d175c40002922f1b8081a450d222a07d7cb8c1d33f6e",
                ),
            ),
            ("cat",),
        ),
        OpenSet(
            "confaide",
            _terms(
                "ConfAIde, tier 2 (Mireshghallah et al., ICLR 2024, arXiv 2310.17884)",
                "github.com/skywalker023/confaide",
                "MIT",
                "Keep its notice wherever you share the files.",
            ),
            _of(
                "confaide",
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
            ),
            ("confaide-2a", "confaide-2b"),
        ),
        OpenSet(
            "opensafeintent",
            _terms(
                "OpenSafeIntent (arXiv 2607.02047)",
                "github.com/Uppaal/OpenSafeIntent",
                "Apache-2.0",
                "Keep its notice wherever you share the file.",
            ),
            _of(
                "opensafeintent",
                "Uppaal/OpenSafeIntent",
                "9706897bc9ffdb328446141b2a4568c98c70843e",
                (
                    "dataset.json",
                    "ad9ed2e8f190638b03afd81b69a1350f866706db08bb837b84332c54d29fe7ff",
                ),
            ),
            ("opensafeintent",),
        ),
    )
}
"""By name. Gated sets, and those whose licence is not stated, are for their owners to give."""


def fetch_open_set(name: str, origin: Path | None = None) -> tuple[Path, ...]:
    """Bring the files of a data set into the cache, checked against their hashes.

    Args:
        name: One of ``OPEN_SETS``.
        origin: A checkout or folder with the files, or the only file; None fetches them.

    Raises:
        AssetError: A file is absent, altered, or can't be fetched; the cache is unchanged.
    """
    files = OPEN_SETS[name].files
    check_cache_writable(files[0].cached.parent)
    if origin is not None and not origin.exists():
        raise AssetError(f"{origin}: no such file or folder")
    read: Callable[[PinnedFile], bytes | None] = download
    if origin is not None:
        given = origin
        read = lambda pinned: from_origin(given, pinned, files[0])  # noqa: E731
    contents = []
    for pinned in files:
        content = read(pinned)
        if content is None:
            raise AssetError(f"{origin}: holds neither {pinned.path} nor {pinned.name}")
        check_sha256(content, pinned.sha256, pinned.name)
        contents.append(content)
    for pinned, content in zip(files, contents, strict=True):
        write_atomically(pinned.cached, content)
    return tuple(pinned.cached for pinned in files)
