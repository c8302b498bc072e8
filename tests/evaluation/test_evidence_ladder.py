"""The rungs of an evidence ladder: which words come in which channel, over real HTTP."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.actors import SAFE, UNSAFE, comply, write_cases
from support.fake_openai import FakeServer

import casewise as cw

QUERIES = 2
RUN = ("run", "--cases", "cases.jsonl", "--protocol", "respond", "--log-dir", "logs")


RUNGS = ["0", "1", "2", "3", "4", "5", "6", "1b", "1c", "3x"]
"""Rungs of the ladder that ships."""


@pytest.fixture
def climb(cli: Cli, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run a ladder, and give the requests that the server had."""
    write_cases(tmp_path / "cases.jsonl", QUERIES)

    def run(ladder: str = "ladder", *options: str) -> list[dict[str, Any]]:
        with FakeServer(comply) as server:
            command = [*RUN, "-m", "openai-api/fake/m", "--evidence", ladder, "--same-server"]
            command += options
            done = cli(*command, env=server.env)
        assert done.returncode == 0, done.stderr
        return server.requests

    return run


def test_every_case_at_every_rung_in_its_channel(climb: Any, cli: Cli) -> None:
    requests = climb()
    assert len(requests) == 2 * QUERIES * len(RUNGS)
    by_roles: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for request in requests:
        roles = tuple(one["role"] for one in request["messages"])
        by_roles.setdefault(roles, []).append(request)
    # Rungs 0, 1, 2, 3, 1b, 1c, 3x are one turn of the user's; 4 has the operator's message.
    each = 2 * QUERIES
    assert {roles: len(found) for roles, found in by_roles.items()} == {
        ("user",): 7 * each,
        ("system", "user"): each,
        ("user", "assistant", "tool"): 2 * each,
    }
    assert all("verified" in one["messages"][0]["content"] for one in by_roles["system", "user"])
    checked = by_roles["user", "assistant", "tool"]
    results = [json.loads(one["messages"][2]["content"])["verified"] for one in checked]
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
    assert sum("evidence=1b" in one for one in variants) == 2 * QUERIES
    for log in sorted((tmp_path / "logs").rglob("*.eval"))[:2]:
        log.unlink()
    # Two of ten rungs are asked again, and nothing else.
    assert len(climb()) == 2 * 2 * QUERIES
    assert climb() == []


def test_what_people_vote_on_is_what_a_rung_shows(cli: Cli, tmp_path: Path) -> None:
    """Controls: 1b is as long as a claim, 1c is the twin's, 3x claims one and proves the other."""
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    shown = {}
    for rung in ("0", "1", "1b", "1c", "3", "3x", "5"):
        done = cli("cases", "convert", "cases.jsonl", "rung.jsonl", "--rung", rung)
        assert done.returncode == 0, done.stderr
        shown[rung] = cw.load_cases(tmp_path / "rung.jsonl").cases
    for rung, cases in shown.items():
        assert all(one.votes is None for one in cases)
        assert all(any(tag.endswith(f":{rung}") for tag in one.tags) for one in cases)
    # Without a context of one's own, there is no side.
    assert [len(shown[rung]) for rung in ("0", "1c", "5")] == [QUERIES, 2 * QUERIES, 2 * QUERIES]
    assert {one.intended for one in shown["5"]} == {"safe", "unsafe"}
    assert {one.intended for one in (*shown["0"], *shown["1c"])} == {None}
    texts = {rung: [str(one.context) for one in cases] for rung, cases in shown.items()}
    for place, (mark, other) in enumerate([(SAFE, UNSAFE), (UNSAFE, SAFE)] * QUERIES):
        said = {rung: found[place] for rung, found in texts.items() if rung not in ("0", "1b")}
        assert mark in said["1"]
        # Sentences are at most 88 letters long, so the nearest length is within half of that.
        assert min(abs(len(one) - len(said["1"])) for one in texts["1b"]) <= 44
        assert mark not in said["1c"] + "".join(texts["1b"])
        assert other in said["1c"]
        claim, _, document = said["3x"].partition("'shows'")
        assert (mark in claim, other in document, mark in document) == (True, True, False)
        assert mark in said["3"].partition("'shows'")[2]
    refused = cli("cases", "convert", "cases.jsonl", "rung.jsonl", "--rung", "7")
    assert (refused.returncode, "no rung '7'" in refused.stderr) == (2, True)


OWN = """\
rungs:
  "0": {title: none}
  says: {title: says, user: "I am {claim}"}
"""


def test_a_bad_ladder_stops_before_anything_is_sent(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    (tmp_path / "own.yaml").write_text(OWN.replace("{claim}", "{clam}"), "utf-8")
    command = (*RUN, "-m", "openai-api/fake/m", "--evidence")
    together = cli(*command, "ladder", "--vary", "urgency")
    assert (together.returncode, "no --evidence" in together.stderr) == (2, True)
    done = cli(*command, "own.yaml")
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == (
        "error: own.yaml, field 'rungs.says.user': wrong value (found 'I am {clam}'; expected "
        "fields among {claim}, {facts}, {description}, {unrelated}, {twin_claim}, {twin_facts})"
    )
    assert not (tmp_path / "logs").exists()
