"""The rungs of an evidence ladder: which words come in which channel, over real HTTP."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.actors import comply, write_cases
from support.fake_openai import FakeServer

import casewise as cw

QUERIES = 1
RUN = ("run", "--cases", "cases.jsonl", "--protocol", "respond", "--log-dir", "logs")


RUNGS = ["0", "1", "2", "3", "4", "5", "6", "1b", "1c", "3x"]
"""Rungs of the ladder that ships."""


@pytest.fixture
def climb(cli: Cli, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run a ladder, and give the requests that the server had."""
    write_cases(tmp_path / "cases.jsonl", QUERIES)

    def run() -> list[dict[str, Any]]:
        with FakeServer(comply) as server:
            command = [*RUN, "-m", "openai-api/fake/m", "--evidence", "ladder", "--same-server"]
            done = cli(*command, env=server.env)
        assert done.returncode == 0, done.stderr
        return server.requests

    return run


def test_every_case_at_every_rung_in_its_channel(climb: Any, cli: Cli) -> None:
    requests = climb()
    assert len(requests) == 2 * QUERIES * len(RUNGS)
    by_roles: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for request in requests:
        roles = tuple(message["role"] for message in request["messages"])
        by_roles.setdefault(roles, []).append(request)
    # Rungs 0, 1, 2, 3, 1b, 1c, 3x are one turn of the user's; 4 has the operator's message.
    each = 2 * QUERIES
    assert {roles: len(role) for roles, role in by_roles.items()} == {
        ("user",): 7 * each,
        ("system", "user"): each,
        ("user", "assistant", "tool"): 2 * each,
    }
    assert all("verified" in role["messages"][0]["content"] for role in by_roles["system", "user"])
    checked = by_roles["user", "assistant", "tool"]
    results = [json.loads(role["messages"][2]["content"])["verified"] for role in checked]
    assert sorted(results) == [False] * each + [True] * each
    for request in checked:
        said, called, result = request["messages"]
        (call,) = called["tool_calls"]
        assert call["function"]["name"] == "verify_identity"
        assert result["tool_call_id"] == call["id"]
        # The tool is asked about the very words that the user said before the query.
        statement = json.loads(call["function"]["arguments"])["statement"]
        assert said["content"].startswith(statement)
        assert [tool["function"]["name"] for tool in request["tools"]] == ["verify_identity"]
    assert not any(one.get("tools") for one in requests if one not in checked)


def test_a_stopped_ladder_goes_on_where_it_stopped(climb: Any, cli: Cli, tmp_path: Path) -> None:
    assert len(climb()) == 2 * QUERIES * len(RUNGS)
    assert cli("report", "logs", "--out", "card.md").returncode == 0
    (command,) = re.findall("casewise run .*", (tmp_path / "card.md").read_text("utf-8"))
    assert "--evidence ladder " in command
    assert "--delivery" not in command
    variants = cw.judgements(tmp_path / "logs")["variant"].to_list()
    assert sum("evidence=1b" in variant for variant in variants) == 2 * QUERIES
    for log in sorted((tmp_path / "logs").rglob("*.eval"))[:2]:
        log.unlink()
    # Two of ten rungs are asked again, and nothing else.
    assert len(climb()) == 2 * 2 * QUERIES
    assert climb() == []
