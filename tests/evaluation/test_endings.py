"""Ends of runs: each tells what is kept and what was in flight, as the server counts it."""

import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from support.fake_openai import HeldServer
from support.fault_runs import write_questions
from support.starts import Start, until_held

CASES = 100
STOP_AT = 60
"""Judgements after which a run is stopped."""
AT_ONCE = 8
OPTIONS = ("--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "my logs")
SAFE = '{"judgement": "safe"}'


class Held(HeldServer):
    """A server that answers ``STOP_AT`` requests, and holds all later ones until it is freed."""

    def __init__(self, answers: int = STOP_AT) -> None:
        super().__init__(lambda _: SAFE, answers)


@pytest.fixture
def server() -> Iterator[Held]:
    with Held() as served:
        yield served


def arguments(folder: Path, *more: str) -> list[str]:
    cases = folder / "cases.jsonl"
    if not cases.exists():
        write_questions(cases, CASES)
    return ["run", "-m", "openai-api/fake/m", "--cases", str(cases), *OPTIONS, *more]


def start(folder: Path, server: Held, **how: str) -> Start:
    return Start(arguments(folder), folder, clean_env() | server.env, **how)


SIGNALS = [
    (signal.SIGINT, "stopped by Ctrl-C", 130),
    (signal.SIGTERM, "stopped by SIGTERM", 143),
    (signal.SIGHUP, "stopped by SIGHUP", 129),
]


@pytest.mark.slow
@pytest.mark.parametrize(("way", "words", "status"), SIGNALS)
def test_a_signal(
    cli: Cli, tmp_path: Path, server: Held, way: int, words: str, status: int
) -> None:
    process = start(tmp_path, server)
    until_held(process, server, tmp_path / "my logs", AT_ONCE)
    process.send_signal(way)
    out, err = process.communicate()
    assert process.returncode == status, err
    assert out == ""
    said = err.splitlines()
    first = said.index(words)
    kept, going_on, command = said[first + 1 :]
    assert (
        kept
        == f"kept: {STOP_AT} of {CASES} judgements, in my logs; what was in flight is asked again"
    )
    assert going_on == "To go on:"
    assert command.strip().startswith("casewise run -m openai-api/fake/m ")
    assert command.endswith("--log-dir 'my logs'")
    # What the server counts.
    assert len(server.requests) == STOP_AT + AT_ONCE
    server.free.set()
    again = cli(*shlex.split(command)[1:], env=server.env)
    assert again.returncode == 0, again.stderr
    # Only those in flight were sent twice.
    assert len(server.requests) == CASES + AT_ONCE


@contextmanager
def small_disk(place: Path, room: int) -> Iterator[Path]:
    """A file system of 4 MB with so many bytes left, and the file that takes up the others."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs root")
    try:
        filler = place / "filler"
        filler.write_bytes(b"x" * (4 * 2**20 - room))
        yield filler
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk(cli: Cli, tmp_path: Path, server: Held) -> None:
    """The room ends while samples are kept."""
    server.free.set()
    with small_disk(tmp_path / "my logs", 152_000) as filler:
        done = cli(*arguments(tmp_path), env=server.env)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert ": No space left on device); make room first\n" in done.stderr
        assert "stopped: the disk is full (my logs/" in done.stderr
        kept = int(done.stderr.split("kept: ")[1].split(f" of {CASES} judgements, in my logs")[0])
        assert 0 < kept < CASES
        filler.unlink()
        read = cli("score", "my logs")
        assert read.returncode == 0, read.stderr
        command = read.stderr.split("a run ended early. To go on:\n")[1].strip()
        sent = len(server.requests)
        again = cli(*shlex.split(command)[1:], env=server.env)
        assert again.returncode == 0, again.stderr
        assert "To go on:" not in cli("score", "my logs").stderr
        assert len(server.requests) == sent + CASES - kept


@pytest.mark.slow
def test_the_second_run_is_refused(server: Held, tmp_path: Path) -> None:
    """Before it asks anything; a kill of the first lets the next go on at once."""
    first = start(tmp_path, server)
    until_held(first, server, tmp_path / "my logs", AT_ONCE)
    second = start(tmp_path, server)
    _, err = second.communicate()
    assert second.returncode == 2
    assert f"my logs: another casewise is at work there (process {first.pid} on " in err
    assert len(server.requests) == STOP_AT + AT_ONCE
    first.kill()
    first.wait()
    server.free.set()
    third = start(tmp_path, server)
    _, err = third.communicate()
    assert third.returncode == 0, err
    assert len(server.requests) == CASES + AT_ONCE
