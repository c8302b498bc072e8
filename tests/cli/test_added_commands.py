"""Commands that other distributions add by entry points, and those of one that is not installed."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Cli

from casewise.cli import _main

METADATA = "Metadata-Version: 2.4\nName: casewise-hello\nVersion: 1.0\n"
ENTRY_POINTS = """[casewise.commands]
hello = casewise_hello
hello.world = casewise_hello._world:world
cases.greet = casewise_hello._world:greet
"""
WORLD = '''"""Commands."""


def world(loud: bool = False) -> None:
    """Greet the world.

    Args of no interest.
    """
    print("HELLO" if loud else "hello")


def greet() -> None:
    """Greet every case."""
    print("greeted")
'''


@pytest.fixture
def added(tmp_path: Path) -> Path:
    """A folder with a distribution that adds a group, and a command to one of casewise's."""
    (tmp_path / "casewise_hello-1.0.dist-info").mkdir()
    (tmp_path / "casewise_hello-1.0.dist-info/METADATA").write_text(METADATA)
    (tmp_path / "casewise_hello-1.0.dist-info/entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "casewise_hello").mkdir()
    (tmp_path / "casewise_hello/__init__.py").write_text('"""Greetings: a group."""\n')
    (tmp_path / "casewise_hello/_world.py").write_text(WORLD)
    return tmp_path


def run(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """Run a command where the distribution is installed.

    Returns:
        What it did, and what it imported; ``looked`` if it looked for entry points.
    """
    code = (
        "import sys, json, atexit\n"
        "from casewise.cli import _main\n"
        "looked = lambda: ['looked'] * _main._added.cache_info().currsize\n"
        "said = lambda: json.dumps([*sorted(sys.modules), *looked()])\n"
        "atexit.register(lambda: print(said(), file=sys.stderr))\n"
        f"sys.argv = ['casewise', *{words!r}]\n"
        "_main.main()"
    )
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    env = os.environ | {"PYTHONPATH": path, "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    return done, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hello", "world"), "hello"),
        (("hello", "world", "--loud"), "HELLO"),
        (("cases", "greet"), "greeted"),
    ],
)
def test_they_are_called_like_any_other(added: Path, words: tuple[str, ...], said: str) -> None:
    done, _ = run(added, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{said}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-h",), "Greetings: a group."),
        (("hello", "-h"), "Greet the world."),
        (("cases", "-h"), "Greet every case."),
    ],
)
def test_help_lists_them_without_importing_them(
    added: Path, words: tuple[str, ...], said: str
) -> None:
    done, modules = run(added, *words)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert "casewise_hello._world" not in modules
    assert not {"inspect_ai", "polars", "scipy", "numpy"} & modules


def test_a_mistyped_word_suggests_theirs(added: Path) -> None:
    done, _ = run(added, "cases", "gret")
    assert done.returncode == 2
    assert "did you mean 'greet'?" in " ".join(done.stderr.split())


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed beside casewise."""

    def nothing() -> Mapping[str, str]:
        return {}

    monkeypatch.setattr(_main, "_added", nothing)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("line", ["annotate", "annotate serve study.yaml", "annotate --help"])
def test_without_casewise_study_the_line_that_installs_it(cli: Cli, line: str) -> None:
    done = cli(*line.split(), env={"COLUMNS": "300"})
    assert done.returncode == 2
    assert "casewise annotate needs casewise-study, which is not installed" in done.stderr
    assert "pip install './study'" in done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("alone")
def test_help_names_what_is_not_installed(cli: Cli) -> None:
    done = cli("-h", env={"COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    assert "Needs casewise-study, which is not installed" in done.stdout
