"""How casewise is installed: from a source that the user owns, never by a name on an index."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Cli

from casewise import __version__
from casewise.errors import install_hint
from casewise.evaluation.models import _smollm2
from casewise.gate._rules_file import gate_file

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


@pytest.mark.parametrize(
    ("command", "bare"),
    [
        ("pip install casewise", True),
        ("pip install 'casewise[mask]'", True),
        ('pip install --upgrade "casewise[local,mask]==0.1.0"', True),
        ("uvx casewise run", True),
        ("uv tool install casewise", True),
        ("uv tool uninstall casewise", False),
        ("pip install '.[local]' in a checkout of casewise", False),
        (f"pip install 'casewise-{__version__}-py3-none-any.whl[local]'", False),
        ("pip install 'casewise[local] @ git+https://git.example.org/casewise'", False),
        ("pip install ./casewise", False),
    ],
)
def test_what_counts_as_the_bare_name(command: str, bare: bool) -> None:
    assert bool(BARE.search(command)) is bare


@pytest.mark.parametrize("name", ["hf", "study"])
def test_the_hint_of_another_distribution(name: str) -> None:
    hint = install_hint(distribution=f"casewise-{name}")
    assert f"pip install './{name}'" in hint
    assert f"casewise_{name}-{__version__}-py3-none-any.whl" in hint


@pytest.mark.parametrize("extra", ["local", "audit", "cluster"])
def test_the_hint_names_a_checkout_and_a_wheel(extra: str) -> None:
    hint = install_hint(extra)
    assert f"pip install '.[{extra}]'" in hint
    assert f"pip install 'casewise-{__version__}-py3-none-any.whl[{extra}]'" in hint
    assert not BARE.search(hint)


def test_the_embedded_model_without_its_extra(
    cli_inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    # Another test may have loaded the weights in this process.
    monkeypatch.setattr(_smollm2, "_server", _smollm2._server.__wrapped__)
    done = cli_inside("run", "--limit", "1")
    assert done.returncode == 2
    assert install_hint("local") in " ".join(done.stderr.split())


def test_a_model_of_casewise_hf_without_it(
    cli_inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("casewise.evaluation.models.find_spec", lambda name: None)
    for more in ((), ("--dry-run",)):
        done = cli_inside("run", "-m", "casewise-hf/mine", "--limit", "1", *more)
        assert done.returncode == (0 if more else 2)
        said = " ".join((done.stdout + done.stderr).split())
        hint = install_hint(distribution="casewise-hf")
        assert f"casewise-hf/mine needs casewise-hf: {hint}" in said


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("", False),
        ("casewise", False),
        ("casewise[local]", False),
        ("casewise==0.1.0", False),
        ("./third_party/casewise[local]", True),
        ("./wheels/casewise-0.1.0-py3-none-any.whl", True),
        ("git+https://git.example.org/you/casewise@0123abc", True),
        ("casewise @ git+https://git.example.org/you/casewise@0123abc", True),
        ("casewise[local] @ git+https://git.example.org/you/casewise@0123abc", True),
    ],
)
def test_the_workflow_installs_only_from_a_place_that_was_set(
    tmp_path: Path, source: str, taken: bool
) -> None:
    """Its own shell script, with a pip that writes down what it is asked for."""
    workflow = yaml.load(gate_file("github-actions.yml").read_text("utf-8"), yaml.BaseLoader)
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
