"""Redirects of models, graders, makers of contexts and bots, which nothing follows."""

from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import found_in

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
