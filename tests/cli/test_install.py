"""How casewise is installed: from a source that the user owns, never by a name on an index."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, clean_env
from support.starts import Start

from casewise import __version__

BARE = re.compile(
    r"""\b(?:pip3?\s+(?:install|download)|pipx\s+(?:install|run)|uv\s+add|uvx|uv\s+tool\s+(?!uninstall)\w+)
    (?:\s+-\S+)*                          # options
    \s+["'\\]*casewise(?:\[[\w,]*\])?     # the name, and extras
    (?!\[|[-\w./]|\s*@)                   # no file, and no address behind it""",
    re.VERBOSE,
)
TREES = (
    "src",
    "hf",
    "study",
    "docs",
    "benchmarks",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "Makefile",
    "CITATION.cff",
)


def texts() -> list[Path]:
    files = [file for name in TREES for file in [ROOT / name, *(ROOT / name).rglob("*")]]
    return [file for file in files if file.is_file() and file.suffix != ".pyc"]


def test_nothing_says_to_install_the_bare_name() -> None:
    assert len(texts()) > 300
    found = [
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in texts()
        for match in BARE.finditer(file.read_text("utf-8", "replace"))
    ]
    assert not found


def test_the_embedded_model_without_its_extra(tmp_path: Path) -> None:
    """The message names a checkout and a wheel, and no name on an index."""
    absent = "import sys; sys.modules['xllamacpp'] = None"
    start = Start(["run", "--limit", "1"], tmp_path, clean_env(), first=absent)
    said = " ".join(start.communicate()[1].split())
    assert start.returncode == 2
    assert "pip install '.[local]'" in said
    assert f"pip install 'casewise-{__version__}-py3-none-any.whl[local]'" in said
    assert not BARE.search(said)


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("", False),
        ("casewise", False),
        ("casewise[local]==0.1.0", False),
        ("./wheels/casewise-0.1.0-py3-none-any.whl", True),
        ("casewise[local] @ git+https://git.example.org/you/casewise@0123abc", True),
    ],
)
def test_the_workflow_installs_only_from_a_place_that_was_set(
    tmp_path: Path, source: str, taken: bool
) -> None:
    """Its own shell script, with a pip that writes down what it is asked for."""
    workflow = yaml.load(
        (ROOT / "src/casewise/data/gate/github-actions.yml").read_text("utf-8"), yaml.BaseLoader
    )
    assert workflow["env"]["CASEWISE"] == ""
    (install,) = [
        step for step in workflow["jobs"]["gate"]["steps"] if step.get("name") == "Install"
    ]
    said = {"pip": 'printf "%s\\n" "$@" > asked.txt', "casewise": "echo casewise 0.1.0"}
    for name, line in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    asked_for = {"CASEWISE": source, "CASEWISE_VERSION": "0.1.0"}
    done = subprocess.run(
        ["bash", "-e", "-c", install["run"]],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"} | asked_for,
        capture_output=True,
        text=True,
        check=False,
    )
    asked = tmp_path / "asked.txt"
    if taken:
        assert done.returncode == 0, done.stderr
        assert asked.read_text().splitlines() == ["install", source]
    else:
        assert done.returncode == 2
        assert "Set CASEWISE in this workflow" in done.stdout
        assert not asked.exists()
