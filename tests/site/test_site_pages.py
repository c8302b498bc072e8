"""The site's pages: the reference is the program's, and everything named is there."""

import inspect
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from conftest import ROOT, Cli
from support import helps
from support.scripts import load_script

import casewise

DOCS = ROOT / "docs"

BUILT = {"gallery/report.html", "gallery/what-changed.html", "gallery/card.md"}
"""Files that only `make docs` makes."""

OUTSIDE = {
    "internals/contributing.md": ROOT / "CONTRIBUTING.md",
    "reference/changes.md": ROOT / "CHANGELOG.md",
    **{f"how-to/{path.name}": path for path in (ROOT / "study/docs").glob("*.md")},
}


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return load_script(DOCS / "make_reference.py")


@pytest.fixture(scope="module")
def pages(reference: ModuleType) -> dict[str, str]:
    """Every page of the site, by its place: written ones and generated ones."""
    written = {
        path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")
    }
    return {**written, **reference.pages()}


def test_every_command_and_option_of_the_program_is_in_the_reference(
    cli: Cli, pages: dict[str, str]
) -> None:
    found = 0
    for path, shown in helps.pages(cli, 300):
        if not path:
            continue
        page = pages[f"reference/commands/{path[0]}.md"]
        section = page.split(f"# casewise {' '.join(path)}\n")[1].split("\n## ")[0]
        for name in set(helps.options(shown)) - {"--help"}:
            assert re.search(rf"`[^`]*(?<![\w-]){name}\b", section), (path, name)
            found += 1
        assert f"`casewise {' '.join(path)}`" in pages["reference/commands/index.md"]
    assert found > 200


def test_every_public_name_of_python_is_in_the_reference(pages: dict[str, str]) -> None:
    door = pages["reference/python-interface.md"]
    for name in casewise.__all__:
        if not name.startswith("__"):
            one = getattr(casewise, name)
            assert f"### cw.{name}\n\n::: {one.__module__}.{name}\n" in door
            assert inspect.getdoc(one), name


def places(nav: Any, reference: ModuleType) -> list[str]:
    if isinstance(nav, list):
        return [place for one in nav for place in places(one, reference)]
    if isinstance(nav, dict):
        return [place for one in nav.values() for place in places(one, reference)]
    return list(reference.command_pages()) if nav == reference.COMMANDS else [nav]


def test_the_navigation_names_every_page_once(reference: ModuleType, pages: dict[str, str]) -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    named = places(config["nav"], reference)
    assert sorted(named) == sorted({*pages, *OUTSIDE, "gallery/card.md"})


def headings(text: str, reference: ModuleType) -> set[str]:
    plain = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    found = re.findall(r"^#+ (.+)$", plain, re.M)
    return {reference.slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", one)) for one in found}


def test_links_between_pages_and_to_headings_lead_somewhere(
    reference: ModuleType, pages: dict[str, str]
) -> None:
    sources = {ROOT / name: (ROOT / name).read_text("utf-8") for name in ("README.md",)}
    sources |= {path: path.read_text("utf-8") for path in OUTSIDE.values()}
    sources |= {DOCS / place: text for place, text in pages.items()}
    known = {path.resolve(): text for path, text in sources.items()}
    wrong = []
    for path, text in sources.items():
        plain = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", plain):
            if re.match(r"[a-z]+:", target):
                continue
            found = (path.parent / target).resolve() if target else path.resolve()
            if found in known:
                if anchor and anchor not in headings(known[found], reference):
                    wrong.append(f"{path.relative_to(ROOT)}: {target}#{anchor}")
            elif not found.exists() and found.relative_to(DOCS).as_posix() not in BUILT:
                wrong.append(f"{path.relative_to(ROOT)}: {target}")
    assert not wrong


def test_every_document_that_the_program_names_exists() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "src", "study", "tests", "benchmarks", "examples", "docs", "Makefile"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    absent = [
        f"{name}: {named}"
        for name in tracked
        if Path(name).suffix not in (".png", ".gz", ".eval", ".parquet", ".json")
        for named in re.findall(
            r"(?<![\w/.])(?:study/)?docs/[\w/-]+\.md\b",
            (ROOT / name).read_text("utf-8", errors="ignore"),
        )
        if not any((folder / named).is_file() for folder in (ROOT, (ROOT / name).parent))
    ]
    assert not absent
