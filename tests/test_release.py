"""Version, tag, citation, changes and addresses belong together; the check sees if they don't."""

import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT
from support.scripts import load_script

FILES = {
    "pyproject.toml": '[project]\nname = "casewise"\nversion = "0.1.0"\n\n[project.scripts]\n',
    "CITATION.cff": "title: casewise\nversion: 0.1.0\nlicense: MIT\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.1.0 (unreleased)\n\n- All.\n\n## 0.0.9 (2026-01-01)\n",
    "src/casewise/__init__.py": 'import sys\n\n__version__ = "0.1.0"\n',
}
"""A checkout before its release."""

SOURCE = "https://git.example.org/you/casewise"
URLS = f"""
[project.urls]
Documentation = "{SOURCE}/docs"
Source = "{SOURCE}"
Changes = "{SOURCE}/changes"
"""


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return load_script(ROOT / ".ci/check_release.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def change(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text("utf-8")
    assert old in text
    (root / name).write_text(text.replace(old, new, 1), "utf-8")


def test_this_checkout_agrees_with_itself(check: ModuleType) -> None:
    assert list(check.disagreements(ROOT)) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("pyproject.toml", '"0.1.0"', '"0.1.1"', "__version__ is not pyproject.toml's 0.1.1"),
        ("CITATION.cff", "version: 0.1.0", "version: 0.2.0", "CITATION.cff: version 0.2.0"),
        ("CHANGELOG.md", "## 0.1.0", "## 0.3.0", "CHANGELOG.md: begins with 0.3.0"),
        ("CITATION.cff", "license: MIT", "date-released: 2026-01-02", "date-released 2026-01-02"),
        ("CITATION.cff", "license: MIT", f"repository-code: {SOURCE}", "lacks Documentation"),
        ("pyproject.toml", "[project.scripts]", f"{URLS}\n[project.scripts]", "no repository-code"),
        ("CITATION.cff", "license: MIT", "url: http://me:pw@x.org", "is no https:// address"),
    ],
)
def test_what_disagrees(
    check: ModuleType, checkout: Path, name: str, old: str, new: str, said: str
) -> None:
    change(checkout, name, old, new)
    assert any(said in line for line in check.disagreements(checkout))


def test_a_wheel_names_what_the_checkout_names(check: ModuleType, checkout: Path) -> None:
    change(checkout, "pyproject.toml", "[project.scripts]", f"{URLS}\n[project.scripts]")
    wheel = checkout / "casewise-0.1.0-py3-none-any.whl"
    metadata = "Metadata-Version: 2.4\nName: casewise\nVersion: 0.1.0\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("casewise-0.1.0.dist-info/METADATA", metadata)
    assert len(list(check.of_wheel(checkout, wheel))) == 4
    metadata += f"Project-URL: Documentation, {SOURCE}/docs\nProject-URL: Source, {SOURCE}\n"
    metadata += f"Project-URL: Changes, {SOURCE}/changes\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("casewise-0.1.0.dist-info/METADATA", metadata)
        for name in ("your-machine.md", "CHANGELOG.md", "CITATION.cff"):
            place = "casewise-0.1.0.data/data/share/doc/casewise"
            archive.writestr(f"{place}/{name}", "")
    assert list(check.of_wheel(checkout, wheel)) == []
