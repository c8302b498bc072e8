"""The suite itself: its order, and whose failure it is what a test leaves open."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Cli

SOCKETS = '''
import socket

import pytest


class Held:
    """In a circle, which only a search for garbage finds."""

    def __init__(self):
        self.self, self.socket = self, socket.socket()


@pytest.fixture
def held():
    return Held()


@pytest.fixture(scope="module")
def shared():
    yield
    Held()


def test_leaves_a_socket():
    Held()


def test_gets_a_socket_that_is_left(held):
    assert held.socket.fileno() > 0


def test_closes_its_socket():
    socket.socket().close()


def test_whose_file_leaves_a_socket(shared):
    pass
'''


def pytest_in(folder: Path, *arguments: str | Path) -> str:
    """What pytest prints over other tests under this project's settings."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", folder, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_test_that_left_a_socket_open_fails(tmp_path: Path) -> None:
    path, later = tmp_path / "test_sockets.py", tmp_path / "test_that_follows.py"
    path.write_text(SOCKETS, "utf-8")
    later.write_text("import gc\n\n\ndef test_collects_garbage():\n    gc.collect()\n", "utf-8")
    printed = pytest_in(tmp_path, "-p", "conftest", path, later)
    told = [line.split(" - ")[0] for line in printed.splitlines() if line.startswith("ERROR ")]
    assert [line.rsplit("::")[-1] for line in told] == [
        "test_leaves_a_socket",
        "test_gets_a_socket_that_is_left",
        "test_whose_file_leaves_a_socket",
    ], printed
    assert "5 passed, 3 errors" in printed


def test_tests_run_in_file_order_unless_shuffled(tmp_path: Path) -> None:
    tests = "".join(f"def test_{number}():\n    pass\n\n\n" for number in range(8))
    paths = [tmp_path / f"test_{name}.py" for name in "abc"]
    for path in paths:
        path.write_text(tests, "utf-8")

    def order(*arguments: str) -> list[str]:
        printed = pytest_in(tmp_path, "--collect-only", *arguments, *paths)
        return [line for line in printed.splitlines() if "::" in line]

    in_file_order = [f"test_{name}.py::test_{number}" for name in "abc" for number in range(8)]
    first, second, again = (
        order("-p", "randomly", f"--randomly-seed={seed}") for seed in (1, 2, 1)
    )
    assert order() == in_file_order
    assert sorted(first) == sorted(second) == in_file_order
    assert first == again
    assert first not in (second, in_file_order)
    # Whole files: those that share a browser or a run of their own do so still.
    files = [line.split("::")[0] for line in first]
    assert (
        len([file for file, before in zip(files, ["", *files], strict=False) if file != before])
        == 3
    )


@pytest.mark.parametrize(
    ("given", "options"),
    [("", ""), ("SHUFFLE=1", " -p randomly"), ("SHUFFLE=7", " -p randomly --randomly-seed=7")],
)
def test_make_shuffles_the_tests_where_asked(given: str, options: str) -> None:
    command = ["make", "--dry-run", "test", *given.split()]
    # The suite runs under a make itself, whose variables are this one's, too.
    env = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "SHUFFLE")
    }
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    (tests,) = [line for line in done.stdout.splitlines() if "-m pytest" in line]
    assert f"--no-loadscope-reorder{options} -n 3" in tests


def test_continuous_integration_shuffles_the_tests() -> None:
    assert "\nmake test SHUFFLE=$((16#$(git rev-parse HEAD | cut -c1-8)))\n" in (
        ROOT / ".ci/run"
    ).read_text("utf-8")


def test_a_command_leaves_no_module_of_its_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "left_behind.py").write_text("def answer(messages):\n    return 'No.'\n", "utf-8")
    path = list(sys.path)
    assert cli("target", "check", "left_behind:answer").returncode == 0
    assert "left_behind" not in sys.modules
    assert sys.path == path


SKIPPED = """
import pytest


@pytest.mark.sdk("no_such_package")
def test_needs_a_client():
    raise AssertionError("it ran")


def test_is_skipped():
    pytest.skip("no reason")
"""


def test_a_skipped_test_fails_where_nothing_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "test_skipped.py"
    path.write_text(SKIPPED, "utf-8")
    assert "2 skipped" in pytest_in(tmp_path, "-p", "conftest", path)
    printed = pytest_in(tmp_path, "-p", "conftest", "--no-skips", path)
    assert "1 failed, 1 error" in printed
    assert "no_such_package is not installed" in printed


def test_a_test_that_prints_a_key_fails(tmp_path: Path) -> None:
    path = tmp_path / "test_prints.py"
    path.write_text(
        "from support.secret import KEY\n\n\ndef test_prints():\n    print(KEY)\n", "utf-8"
    )
    assert "the planted key was printed or logged" in pytest_in(tmp_path, "-p", "conftest", path)


def test_every_test_of_a_client_runs_in_continuous_integration() -> None:
    """Its last step names the files that hold the marked tests."""
    marked = {
        path.stem.removeprefix("test_")
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"of_sdk\(|of_sdk,|mark\.sdk\(", path.read_text("utf-8"))
    } - {Path(__file__).stem.removeprefix("test_")}
    (named,) = re.findall(
        r"-m sdk --no-skips tests/evaluation/test_\{(.+)\}\.py",
        (ROOT / ".ci/run").read_text("utf-8"),
    )
    assert set(named.split(",")) == marked
