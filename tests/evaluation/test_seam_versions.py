"""The seam's contracts hold under the oldest and the newest Inspect that casewise may stand on."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version as installed
from pathlib import Path

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

CONTRACTS = Path(__file__).with_name("test_seam.py")


def pinned() -> Requirement:
    """What pyproject.toml says of Inspect."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = [Requirement(one) for one in project["dependencies"]]
    return next(one for one in requirements if one.name == "inspect-ai")


def end(operator: str) -> str:
    """The version at one end of the range."""
    (version,) = [one.version for one in pinned().specifier if one.operator == operator]
    return version


def pip(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    options = ("--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "10")
    return subprocess.run(
        [sys.executable, "-m", "pip", *map(str, arguments), *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def index() -> None:
    """A package index that pip knows, and reaches."""
    if pip("index", "versions", "inspect-ai").returncode:
        pytest.skip("pip reaches no package index that serves inspect-ai")


@pytest.mark.slow
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize("operator", [">=", "<="])
def test_contracts_hold_at_both_ends_of_the_range(tmp_path: Path, operator: str) -> None:
    """Inspect alone is exchanged: what it stands on is what is installed here."""
    version = end(operator)
    environment = dict(os.environ)
    if version != installed("inspect-ai"):
        place = tmp_path / "inspect"
        done = pip("install", "--quiet", "--no-deps", "--target", place, f"inspect-ai=={version}")
        assert done.returncode == 0, done.stderr
        environment["PYTHONPATH"] = str(place)
    found = subprocess.run(
        [sys.executable, "-c", "import inspect_ai; print(inspect_ai.__version__)"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert found.stdout.strip() == version
    contracts = subprocess.run(
        [sys.executable, "-m", "pytest", CONTRACTS, "-q", "-p", "no:cacheprovider", "--tb=short"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert contracts.returncode == 0, f"Inspect {version}:\n{contracts.stdout}"


def test_the_locked_version_lies_in_the_range() -> None:
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    (locked,) = re.findall(r"^inspect-ai==(\S+)", lock, re.MULTILINE)
    assert pinned().specifier.contains(locked)


def test_the_guide_for_contributors_names_the_range() -> None:
    said = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert f"from {end('>=')} to {end('<=')}" in said
