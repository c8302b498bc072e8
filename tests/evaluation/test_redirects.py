"""Redirects of models, graders, makers of contexts and bots, which nothing follows."""

from pathlib import Path

import pytest
from conftest import Cli
from support.bots import OPENAI_TARGET, BotServer, write_target
from support.fake_openai import FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY, found_in

SAFE = '{"judgement": "safe"}'
UNKNOWN = "needle-5b90c2d7e14f"
"""A key in the new address: so long that no random name holds a part of it."""
CONNECTIONS = 2
FEW = ("--max-connections", str(CONNECTIONS))
RUN = ("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--log-dir", "logs", *FEW)


def to(location: str, status: int = 307) -> Raw:
    return Raw(status, b"moved", {"Location": location})


@pytest.mark.parametrize("status", [301, 308])
def test_no_case_is_sent_elsewhere(cli: Cli, tmp_path: Path, status: int) -> None:
    write_questions(tmp_path / "cases.jsonl", 30)
    with FakeServer(lambda _: SAFE) as other:
        place = f"{other.url}/chat/completions"
        with FakeServer(lambda _: to(f"{place}?key={UNKNOWN}", status)) as server:
            done = cli(*RUN, "--protocol", "binary", env=server.env)
        assert not other.requests
    assert done.returncode == 2
    # One round of what was in flight.
    assert len(server.requests) <= CONNECTIONS
    said = " ".join(done.stderr.split())
    error = f"openai-api/fake/m: HTTP {status} (redirected) to {place}: nothing was sent there"
    assert said.count(f"error: {error}") == 1
    assert UNKNOWN not in said
    assert found_in(tmp_path, UNKNOWN) == []


@pytest.mark.parametrize("status", [302, 307])
def test_a_bot_that_redirects(cli: Cli, tmp_path: Path, status: int) -> None:
    """On its own host, too."""
    with BotServer(lambda _: to("/moved", status)) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        cases = write_questions(tmp_path / "cases.jsonl", 30)
        options = ("--protocol", "respond", "--cases", cases, *FEW)
        done = cli("run", "--model", path, *options, env={"BOT_KEY": KEY})
        assert len(server.asked) <= CONNECTIONS
        assert all("moved" not in place for _, place, _ in server.asked)
        checked = cli("target", "check", path, env={"BOT_KEY": KEY})
    assert (done.returncode, checked.returncode) == (2, 1)
    for text in (done.stderr, checked.stdout + checked.stderr):
        assert f"HTTP {status} (redirected) to /moved: nothing was sent" in " ".join(text.split())
