"""Check that what names a release agrees: version, tag, CITATION.cff, CHANGELOG.md, addresses.

python .ci/check_release.py [WHEEL]

Prints a line for each thing that doesn't, and ends with 1; with 0 where all agrees. Addresses are
held against each other as far as there are any: none are made up.
"""

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from email.parser import Parser
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
LABELS = ("Documentation", "Source", "Changes")
"""What the wheel names by address as soon as CITATION.cff has the source's."""


def main() -> None:
    """Check this checkout, and a wheel of it."""
    tags = _git("tag", "--points-at", "HEAD").split()
    found = [*disagreements(ROOT), *unreleased(ROOT, tags)]
    if _git("status", "--porcelain"):
        found.append("the working tree: holds changes that are not committed")
    for wheel in sys.argv[1:]:
        found += of_wheel(ROOT, Path(wheel))
    if not _addresses(ROOT):
        print("note: CITATION.cff has no repository-code yet, so the wheel names no addresses; its")
        print("      documents, changes and citation are in it (share/doc/casewise)")
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(bool(found))


def disagreements(root: Path) -> Iterator[str]:
    """What never may differ, released or not."""
    project = _project(root)
    version = project["version"]
    source = (root / "src/casewise/__init__.py").read_text("utf-8")
    if f'\n__version__ = "{version}"\n' not in source:
        yield f"src/casewise/__init__.py: __version__ is not pyproject.toml's {version}"
    yield from _of_others(root, version)
    citation = _citation(root)
    if str(citation.get("version")) != version:
        yield f"CITATION.cff: version {citation.get('version')}, where pyproject.toml has {version}"
    first, date = _changes(root)
    if first != version:
        yield f"CHANGELOG.md: begins with {first}, where pyproject.toml has {version}"
    given = citation.get("date-released")
    if given is not None and str(given) != date:
        yield f"CITATION.cff: date-released {given}, where CHANGELOG.md has {date}"
    yield from _of_addresses(root, project.get("urls", {}))


def _of_others(root: Path, version: str) -> Iterator[str]:
    """The other distributions are released with this one, under the same version."""
    for name in ("hf", "study"):
        if not (root / name).is_dir():
            continue
        if _project(root / name)["version"] != version:
            yield f"{name}/pyproject.toml: another version than pyproject.toml's {version}"
        init = root / name / f"src/casewise_{name}/__init__.py"
        if f'\n__version__ = "{version}"\n' not in init.read_text("utf-8"):
            yield f"{init.relative_to(root)}: __version__ is not pyproject.toml's {version}"


def _of_addresses(root: Path, urls: Mapping[str, str]) -> Iterator[str]:
    addresses = _addresses(root)
    for name, address in (*addresses.items(), *urls.items()):
        if not re.fullmatch(r"https://[^\s@/]+/\S*", address):
            yield f"{name}: {address} is no https:// address without a name and password"
    source = addresses.get("repository-code")
    if source is None:
        if urls:
            yield "pyproject.toml: has addresses, and CITATION.cff no repository-code"
        return
    for label in LABELS:
        if label not in urls:
            yield f"pyproject.toml: [project.urls] lacks {label}, and CITATION.cff has {source}"
    if urls.get("Source", source).rstrip("/") != source.rstrip("/"):
        yield f"pyproject.toml: Source {urls['Source']}, where CITATION.cff has {source}"


def unreleased(root: Path, tags: list[str]) -> Iterator[str]:
    """What a release needs besides.

    Args:
        root: The checkout.
        tags: Those of the commit.
    """
    version = _project(root)["version"]
    _, date = _changes(root)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        yield f"CHANGELOG.md: {version} has no date of release (found {date!r})"
    if "date-released" not in _citation(root):
        yield "CITATION.cff: lacks date-released"
    if f"v{version}" not in tags:
        yield f"git: this commit has no tag v{version} (found {', '.join(tags) or 'none'})"


def of_wheel(root: Path, wheel: Path) -> Iterator[str]:
    """What a wheel says and holds, against the checkout."""
    project = _project(root)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(archive.read(metadata).decode("utf-8"))
    if said["Version"] != project["version"]:
        yield f"{wheel.name}: version {said['Version']}, where pyproject.toml has another"
    named = dict(one.split(", ", 1) for one in said.get_all("Project-URL", []))
    if named != project.get("urls", {}):
        yield f"{wheel.name}: its addresses are not those of pyproject.toml"
    for needed in ("your-machine.md", "CHANGELOG.md", "CITATION.cff"):
        if not any("/share/doc/casewise/" in one and one.endswith(f"/{needed}") for one in names):
            yield f"{wheel.name}: lacks share/doc/casewise/{needed}"


def _project(root: Path) -> dict[str, object]:
    with (root / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def _citation(root: Path) -> dict[str, object]:
    return yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))


def _addresses(root: Path) -> dict[str, str]:
    citation = _citation(root)
    return {name: str(citation[name]) for name in ("repository-code", "url") if name in citation}


def _changes(root: Path) -> tuple[str, str]:
    """The version that the changes begin with, and what stands in brackets behind it."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    first = re.search(r"^## (\S+)(?: \((.*)\))?", text, re.MULTILINE)
    return (first[1], first[2] or "") if first else ("nothing", "")


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout


if __name__ == "__main__":
    main()
