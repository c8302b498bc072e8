"""Commands that other distributions add by entry points, and those of one that is not installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

METADATA = "Metadata-Version: 2.4\nName: casewise-hello\nVersion: 1.0\n"
ENTRY_POINTS = """[casewise.commands]
hello = casewise_hello
hello.world = casewise_hello._world:world
hello.fail = casewise_hello._world:fail
cases.greet = casewise_hello._world:greet
"""
WORLD = '''"""Commands."""


def world(loud: bool = False) -> None:
    """Greet the world."""
    print("HELLO" if loud else "hello")


def greet() -> None:
    """Greet every case."""
    print("greeted")


def fail() -> None:
    """Fail."""
    try:
        raise KeyError(5000 + 151)
    except KeyError as error:
        raise ZeroDivisionError(5000 + 151) from error
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


def run(
    folder: Path, *words: str, first: str = ""
) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """Run a command where the distribution is installed; what it did, and what it imported."""
    code = (
        f"import sys, json, atexit, runpy\n{first}\n"
        "atexit.register(lambda: print(json.dumps([*sys.modules]), file=sys.stderr))\n"
        f"sys.argv = ['casewise', *{words!r}]\n"
        "runpy.run_module('casewise', run_name='__main__')"
    )
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    env = os.environ | {"PYTHONPATH": path, "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
    )
    return done, set(json.loads(done.stderr.splitlines()[-1]))


def test_they_are_called_like_any_other(added: Path) -> None:
    for words, said in (("hello world --loud", "HELLO"), ("cases greet", "greeted")):
        done, _ = run(added, *words.split())
        assert (done.returncode, done.stdout) == (0, f"{said}\n"), done.stderr


def test_help_lists_them_without_importing_them(added: Path) -> None:
    done, modules = run(added, "hello", "-h")
    assert done.returncode == 0, done.stderr
    assert "Greet the world." in done.stdout
    assert not {"casewise_hello._world", "inspect_ai", "polars", "scipy", "numpy"} & modules


def test_an_error_of_the_code_shows_its_frames_and_types_and_no_message(added: Path) -> None:
    """A message may quote a query or a key."""
    done, _ = run(added, "hello", "fail")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.index("KeyError") < done.stderr.index("ZeroDivisionError")
    assert "5151" not in done.stdout + done.stderr


WITHOUT_STUDY = """
from importlib import metadata
every = metadata.entry_points
metadata.entry_points = lambda **of: () if of == {"group": "casewise.commands"} else every(**of)
"""


def test_without_casewise_study_the_line_that_installs_it(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "annotate", "serve", "study.yaml", first=WITHOUT_STUDY)
    assert (done.returncode, done.stdout) == (2, "")
    said = " ".join(done.stderr.split())
    assert "casewise annotate needs casewise-study, which is not installed" in said
    assert "pip install './study'" in said
    done, _ = run(tmp_path, "-h", first=WITHOUT_STUDY)
    assert "Needs casewise-study, which is not installed" in done.stdout
