"""The seam's contracts hold under the oldest and the newest Inspect, and under one to come."""

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
from packaging.version import Version

CONTRACTS = Path(__file__).with_name("test_seam.py")


def pinned() -> Requirement:
    """What pyproject.toml says of Inspect."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = [Requirement(one) for one in project["dependencies"]]
    return next(one for one in requirements if one.name == "inspect-ai")


def oldest() -> str:
    """The oldest version that casewise may stand on."""
    (version,) = [one.version for one in pinned().specifier if one.operator == ">="]
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
def versions() -> list[str]:
    """Versions on the package index that pip knows, newest first, those to come included."""
    found = pip("index", "versions", "inspect-ai", "--pre")
    if found.returncode:
        pytest.skip("pip reaches no package index that serves inspect-ai")
    listed = re.search(r"Available versions: (.*)", found.stdout)
    assert listed is not None
    return listed[1].split(", ")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["oldest", "newest", "to come"])
def test_contracts_hold_at_both_ends(tmp_path: Path, versions: list[str], which: str) -> None:
    """Inspect alone is exchanged: what it stands on is what is installed here."""
    released = [one for one in versions if not Version(one).is_prerelease]
    version = {"oldest": oldest(), "newest": released[0], "to come": versions[0]}[which]
    if which == "to come" and version == released[0]:
        pytest.skip("the index has no release of Inspect that is still to come")
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
