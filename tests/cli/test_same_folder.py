"""A second start in a log folder: at another address, or of another run than was stopped there."""

import json
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import Cli, clean_env
from support.fake_openai import FakeServer, HeldServer
from support.fault_runs import write_questions
from support.secret import KEY
from support.starts import Start, until_held

import casewise as cw
from casewise.errors import UsageError

SAFE = '{"judgement": "safe"}'
CASES, STOP_AT, AT_ONCE = 30, 12, 4
MODEL = ("-m", "openai-api/fake/m")
RUN = ("run", *MODEL, "--protocol", "binary", "--limit", "6", "--log-dir", "my logs")


@pytest.fixture
def servers() -> Iterator[tuple[FakeServer, FakeServer]]:
    with FakeServer(lambda _: SAFE) as one, FakeServer(lambda _: SAFE) as other:
        yield one, other


def at(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}


def test_another_address_is_refused(cli: Cli, servers: tuple[FakeServer, FakeServer]) -> None:
    """Also of another run: answers of two servers would stand under one name."""
    one, other = servers
    assert cli(*RUN, env=at(one)).returncode == 0
    asked = len(one.requests)
    spelt = one.url.replace("http", "HTTP") + "/"
    assert cli(*RUN, "--model-base-url", spelt, env=at(other)).returncode == 0
    for options, env in (
        ((), at(other)),
        (("--model-base-url", other.url), at(one)),
        (("--protocol", "score"), at(other)),
    ):
        done = cli(*RUN, *options, env=env)
        assert done.returncode == 2
        assert all(text in done.stderr for text in (one.url, other.url, "--same-server"))
    assert (len(one.requests), len(other.requests)) == (asked, 0)


def test_the_same_server_goes_on_and_the_log_names_both(
    cli: Cli, tmp_path: Path, servers: tuple[FakeServer, FakeServer]
) -> None:
    one, other = servers
    cli(*RUN, env=at(one))
    before = set((tmp_path / "my logs").glob("*.eval"))
    more = (*RUN, "--epochs", "2")
    done = cli(*more, "--same-server", env=at(other))
    assert done.returncode == 0, done.stderr
    (log,) = set((tmp_path / "my logs").glob("*.eval")) - before
    with ZipFile(log) as archive:
        metadata = json.loads(archive.read("header.json"))["eval"]["metadata"]
    assert metadata["addresses"] == [other.url, one.url]
    # From now on each of the two is known.
    for server in servers:
        assert cli(*more, env=at(server)).returncode == 0
    assert (len(one.requests), len(other.requests)) == (6, 6)


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_is_not_left_for_another(
    cli: Cli, tmp_path: Path, way: signal.Signals
) -> None:
    """The message names the command that goes on; no answer is asked for twice."""
    write_questions(tmp_path / "my cases.jsonl", CASES)
    run = ("run", *MODEL, "--cases", "my cases.jsonl", "--protocol", "binary")
    folder = ("--log-dir", "my logs")
    with HeldServer(lambda _: SAFE, STOP_AT) as server:
        limited = (*run, "--max-connections", str(AT_ONCE), *folder)
        process = Start(limited, tmp_path, clean_env() | at(server))
        until_held(process, server, tmp_path / "my logs", AT_ONCE)
        process.send_signal(way)
        process.wait()
        server.free.set()
        asked = len(server.requests)
        for command in (("run",), ("run", *MODEL, "--cases", "my cases.jsonl")):
            done = cli(*command, *folder, env=at(server))
            assert done.returncode == 2, command
            assert "my logs holds a run that was stopped (openai-api/fake/m" in done.stderr
        assert len(server.requests) == asked
        with pytest.raises(UsageError, match="holds a run that was stopped"):
            cw.run(cw.plan(limit=2), tmp_path / "my logs")
        command = shlex.split(done.stderr.split("To go on with that: ")[1].split("; for this")[0])
        done = cli(*command[1:], env=at(server))
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == asked - AT_ONCE + CASES - STOP_AT + AT_ONCE
        # A folder whose run is done may take another.
        assert cli(*RUN, env=at(server)).returncode == 0


def test_commands_are_quoted(cli: Cli, tmp_path: Path) -> None:
    """Each can be copied into a shell, whatever its paths are called."""
    with FakeServer(lambda _: SAFE) as server:
        done = cli(*RUN, env=at(server))
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("Every measure: "))
    assert shlex.split(line.split(": ")[1]) == ["casewise", "score", "my logs"]
    table = tmp_path / "it's a table.csv"
    table.write_text("prompt,label\nHow?,safe\nWhy?,unsafe\n", "utf-8")
    done = cli("cases", "import", "--draft", table.name, "--out", "the map.yaml")
    command = done.stderr.split("check it, then ")[1]
    assert shlex.split(command)[3:6] == [table.name, "--map", "the map.yaml"]


def test_a_run_without_a_part_of_contexts_offers_the_whole(cli: Cli) -> None:
    with FakeServer(lambda _: SAFE) as server:
        done = cli(*RUN, "--ablate", "recipient", env=at(server))
        assert "only contexts without recipient are judged" in done.stderr
        (line,) = (one for one in done.stderr.splitlines() if one.startswith("  casewise run"))
        done = cli(*shlex.split(line)[1:], env=at(server))
        assert done.returncode == 0, done.stderr
        # What was judged is not asked again.
        assert len(server.requests) == 12
