"""A file is written whole or not at all, whatever fails."""

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Cli

from casewise.files import create_file, write_atomically

OLD, NEW = b"the old one", b"the new one"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "place" / "a.txt"
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


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_takes_the_place_of_the_old_one(out: Path, sync: bool) -> None:
    with out.open("rb") as reader:
        write_atomically(out, NEW, sync=sync)
        assert reader.read() == OLD
    assert out.read_bytes() == NEW
    assert alone(out)


def test_a_disk_that_takes_no_more_leaves_the_old_file(out: Path) -> None:
    with pytest.raises(OSError, match="large") as caught, file_limit(100):
        write_atomically(out, b"x" * 10_000)
    assert caught.value.filename == str(out)
    assert out.read_bytes() == OLD
    assert alone(out)


def test_a_link_is_followed(out: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(out)
    write_atomically(link, NEW)
    assert link.is_symlink()
    assert out.read_bytes() == NEW
    assert alone(out)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, NEW)
    reader.join(10)
    assert found == [NEW]
    assert pipe.is_fifo()
    assert alone(pipe)


def test_a_file_of_ones_own_is_made_once(out: Path, tmp_path: Path) -> None:
    assert not create_file(out, NEW)
    assert out.read_bytes() == OLD
    path = tmp_path / "new/secret"
    results: list[bool] = []

    def make(data: bytes) -> None:
        results.append(create_file(path, data))

    makers = [threading.Thread(target=make, args=(bytes([n]) * 100,)) for n in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert sorted(results) == [False] * 7 + [True]
    assert len(set(path.read_bytes())) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert alone(path)


def test_a_command_whose_file_can_not_be_written_says_so(cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"query": "' + "long " * 100 + '"}\n')
    (tmp_path / "out.csv").write_bytes(OLD)
    with file_limit(300):
        done = cli_inside("cases", "convert", "cases.jsonl", "out.csv")
    assert done.returncode == 2
    assert "out.csv: File too large" in done.stderr
    assert (tmp_path / "out.csv").read_bytes() == OLD
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cases.jsonl", "out.csv"]
