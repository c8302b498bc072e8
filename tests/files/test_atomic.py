"""A file is written whole or not at all, whatever fails."""

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Cli

OLD = b"the old one"
CONVERT = ("cases", "convert", "cases.jsonl")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A file of an earlier conversion, alone in its folder."""
    (tmp_path / "cases.jsonl").write_text('{"query": "' + "long " * 100 + '"}\n')
    path = tmp_path / "place" / "out.csv"
    path.parent.mkdir()
    path.write_bytes(OLD)
    return path


def alone(path: Path) -> bool:
    return [one.name for one in path.parent.iterdir()] == [path.name]


@contextmanager
def file_limit(most: int) -> Iterator[None]:
    """Let no file grow longer, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_file_takes_the_place_of_the_old_one(cli: Cli, out: Path) -> None:
    with out.open("rb") as reader:
        assert cli(*CONVERT, out).returncode == 0
        assert reader.read() == OLD
    assert b"long long" in out.read_bytes()
    assert alone(out)


def test_a_disk_that_takes_no_more_leaves_the_old_file(cli: Cli, out: Path) -> None:
    with file_limit(300):
        done = cli(*CONVERT, out)
    assert done.returncode == 2
    assert "out.csv: File too large" in done.stderr
    assert out.read_bytes() == OLD
    assert alone(out)


def test_a_link_is_followed(cli: Cli, out: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(out)
    assert cli(*CONVERT, link).returncode == 0
    assert link.is_symlink()
    assert b"long long" in out.read_bytes()
    assert alone(out)


def test_a_pipe_is_written_to_and_stays_a_pipe(cli: Cli, out: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    assert cli(*CONVERT, pipe).returncode == 0
    reader.join(10)
    assert b"long long" in found[0]
    assert pipe.is_fifo()
