"""What a test leaves open is told of that test, and not of a later one."""

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

TESTS = '''
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


def test_the_test_that_left_a_socket_open_fails(tmp_path: Path) -> None:
    path, later = tmp_path / "test_sockets.py", tmp_path / "test_that_follows.py"
    path.write_text(TESTS, "utf-8")
    later.write_text("import gc\n\n\ndef test_collects_garbage():\n    gc.collect()\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, path, later],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    assert [line.rsplit("::")[-1] for line in told] == [
        "test_leaves_a_socket",
        "test_gets_a_socket_that_is_left",
        "test_whose_file_leaves_a_socket",
    ], done.stdout + done.stderr
    assert "5 passed, 3 errors" in done.stdout
