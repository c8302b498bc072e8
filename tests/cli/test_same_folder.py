"""A second start in a log folder, at the same address or at another."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import Cli
from support.fake_openai import FakeServer

SAFE = '{"judgement": "safe"}'
MODEL = ("-m", "openai-api/fake/m")
RUN = ("run", *MODEL, "--protocol", "binary", "--limit", "6", "--log-dir", "my logs")


@pytest.fixture
def servers() -> Iterator[tuple[FakeServer, FakeServer]]:
    with FakeServer(lambda _: SAFE) as one, FakeServer(lambda _: SAFE) as other:
        yield one, other


def at(server: FakeServer) -> dict[str, str]:
    return server.env


def test_another_address_is_refused(cli: Cli, servers: tuple[FakeServer, FakeServer]) -> None:
    """Also of another run: answers of two servers would stand under one name."""
    one, other = servers
    cli.ok(*RUN, env=at(one))
    asked = len(one.requests)
    spelt = one.url.replace("http", "HTTP") + "/"
    cli.ok(*RUN, "--model-base-url", spelt, env=at(other))
    for options, env in (
        ((), at(other)),
        (("--model-base-url", other.url), at(one)),
        (("--protocol", "score"), at(other)),
    ):
        done = cli(*RUN, *options, env=env)
        assert done.returncode == 2
        assert all(text in done.stderr for text in (one.url, other.url, "--same-server"))
    assert (len(one.requests), len(other.requests)) == (asked, 0)


def test_the_same_server_goes_on_and_the_log_names_it(
    cli: Cli, tmp_path: Path, servers: tuple[FakeServer, FakeServer]
) -> None:
    one, other = servers
    cli(*RUN, env=at(one))
    before = set((tmp_path / "my logs").glob("*.eval"))
    more = (*RUN, "--epochs", "2")
    cli.ok(*more, "--same-server", env=at(other))
    (log,) = set((tmp_path / "my logs").glob("*.eval")) - before
    with ZipFile(log) as archive:
        metadata = json.loads(archive.read("header.json"))["eval"]["metadata"]
    assert metadata["address"] == other.url
    # From now on each of the two is known.
    for server in servers:
        cli.ok(*more, env=at(server))
    assert (len(one.requests), len(other.requests)) == (6, 6)


def test_commands_are_quoted(cli: Cli, tmp_path: Path) -> None:
    """Each can be copied into a shell, whatever its paths are called."""
    with FakeServer(lambda _: SAFE) as server:
        done = cli(*RUN, env=at(server))
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("Every measure: "))
    assert shlex.split(line.split(": ")[1]) == ["casewise", "score", "my logs", "--all"]
    table = tmp_path / "it's a table.csv"
    table.write_text("prompt,label\nHow?,safe\nWhy?,unsafe\n", "utf-8")
    done = cli("cases", "import", "--draft", table.name, "--out", "the map.yaml")
    command = done.stderr.split("check it, then ")[1]
    assert shlex.split(command)[3:6] == [table.name, "--map", "the map.yaml"]
