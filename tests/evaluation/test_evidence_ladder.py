"""The rungs of an evidence ladder: which words come in which channel, over real HTTP."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.actors import SAFE, UNSAFE, comply, write_cases
from support.bots import BotServer
from support.fake_openai import FakeServer, Raw

from casewise.cases import find_twins, load_cases
from casewise.errors import CasewiseError, InputError
from casewise.evaluation import RunRequest, make_plan
from casewise.protocols import load_ladder, on_rung

QUERIES = 2
RUN = ("run", "--cases", "cases.jsonl", "--protocol", "respond", "--log-dir", "logs")
RUNGS = ["0", "1", "2", "3", "4", "5", "6", "1b", "1c", "3x"]
"""Rungs of the ladder that ships."""


def fake(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}


@pytest.fixture
def climb(cli: Cli, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run a ladder, and give the requests that the server had."""
    write_cases(tmp_path / "cases.jsonl", QUERIES)

    def run(ladder: str = "ladder", *options: str) -> list[dict[str, Any]]:
        with FakeServer(comply) as server:
            command = [*RUN, "-m", "openai-api/fake/m", "--evidence", ladder, "--same-server"]
            command += options
            done = cli(*command, env=fake(server))
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


def test_logs_name_rung_and_place(climb: Any, tmp_path: Path, cli: Cli) -> None:
    climb()
    done = cli("export", "logs", "--to", "csv", "--out", "table.csv")
    assert done.returncode == 0, done.stderr
    _, *lines = (tmp_path / "table.csv").read_text("utf-8").splitlines()
    assert sum("evidence=1b" in line for line in lines) == 2 * QUERIES
    assert len({line.split("+ladder@")[1][:8] for line in lines}) == 1


def test_a_stopped_ladder_goes_on_where_it_stopped(climb: Any, tmp_path: Path) -> None:
    assert len(climb()) == 2 * QUERIES * len(RUNGS)
    for log in sorted((tmp_path / "logs").rglob("*.eval"))[:2]:
        log.unlink()
    # Two of ten rungs are asked again, and nothing else.
    assert len(climb()) == 2 * 2 * QUERIES
    assert climb() == []


def test_controls(tmp_path: Path) -> None:
    cases = load_cases(write_cases(tmp_path / "cases.jsonl", QUERIES))
    ladder, twins = load_ladder("ladder"), find_twins(cases)
    for case in cases:
        mark, other = (SAFE, UNSAFE) if case.intended == "safe" else (UNSAFE, SAFE)
        said = {name: on_rung(ladder, name, twins).open(case).turns[0] for name in ladder.rungs}
        assert said["0"] == case.query
        assert all(text.endswith(case.query) for text in said.values())
        length = len(said["1"])
        # Sentences are at most 88 letters long, so the nearest length is within half of that.
        assert abs(len(said["1b"]) - length) <= 44
        assert mark not in said["1b"] + said["1c"]
        assert other in said["1c"]
        claim, _, document = said["3x"].partition("<document>")
        assert (mark in claim, other in document, mark in document) == (True, True, False)
        assert mark in said["3"].partition("<document>")[2]


OWN = """\
rungs:
  "0": {title: none}
  says: {title: says, user: "I am {claim}"}
"""


def test_a_ladder_of_ones_own(climb: Any, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN, "utf-8")
    requests = climb("own.yaml")
    assert len(requests) == 2 * 2 * QUERIES
    assert sum(one["messages"][0]["content"].startswith("I am Some") for one in requests) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace('"0"', '"1"'), "field 'rungs': no rung '0', the query alone"),
        (OWN.replace("title: none", "title: none, user: hello"), "field 'rungs.0': more than"),
        (
            OWN + '  checked: {title: checked, tool: {result: "yes"}}\n',
            "field 'rungs.checked.tool': no tool to call (expected the definition",
        ),
        (OWN.replace("says:", '"a;b":', 1), "field 'rungs': no name of a rung (found 'a;b'"),
    ],
)
def test_a_bad_ladder_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as raised:
        load_ladder(str(path))
    assert str(raised.value).startswith(f"{path}, {message}")


def test_a_bad_ladder_stops_before_anything_is_sent(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    (tmp_path / "own.yaml").write_text(OWN.replace("{claim}", "{clam}"), "utf-8")
    done = cli(*RUN, "-m", "openai-api/fake/m", "--evidence", "own.yaml")
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == (
        "error: own.yaml, field 'rungs.says.user': wrong value (found 'I am {clam}'; expected "
        "fields among {claim}, {facts}, {description}, {unrelated}, {twin_claim}, {twin_facts})"
    )
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vary": (None, "urgency")}, "leave out --vary"),
        ({"deployment": "therapy-support"}, "leave out --deployment"),
        ({"protocol": ("rank",)}, "rank does neither"),
        ({"evidence": "nowhere.yaml"}, "no such ladder"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], message: str) -> None:
    given = {"model": ("mockllm/m",), "protocol": ("respond",), "evidence": "ladder"}
    with pytest.raises(CasewiseError, match=message):
        make_plan(RunRequest(**given | options))


TARGET = """\
name: bot
url: {root}/chat
body: {body}
reply: answer
"""


@pytest.mark.parametrize(
    ("body", "rungs", "why"),
    [
        ('{question: "{last}"}', "4", "no place for the system message"),
        ('{turns: "{messages}"}', "5 or 6", "no place for the deployment's tools"),
    ],
)
def test_rungs_that_a_bot_cannot_be_asked(
    cli: Cli, tmp_path: Path, body: str, rungs: str, why: str
) -> None:
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    with BotServer(lambda _: Raw(200, b'{"answer": "No."}', {})) as server:
        target = TARGET.format(root=server.root, body=body)
        (tmp_path / "target.yaml").write_text(target, "utf-8")
        done = cli(*RUN, "--target", "target.yaml", "--evidence", "ladder")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert f"casewise-target/bot can't be asked rung {rungs}: " in said
    assert why in said
    left = 3 if "last" in body else 2
    assert len(server.asked) == 2 * QUERIES * (len(RUNGS) - left)


@pytest.mark.sdk("anthropic")
def test_anthropic_gets_its_own_form(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": "I'm sorry, but I can't help with that."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 5},
    }
    body = json.dumps(message).encode()
    with FakeServer(lambda _: Raw(200, body, {"Content-Type": "application/json"})) as server:
        environment = {"ANTHROPIC_BASE_URL": server.url.removesuffix("/v1")}
        command = [*RUN, "-m", "anthropic/claude-haiku-4-5", "--evidence", "ladder"]
        done = cli(*command, env=environment | {"ANTHROPIC_API_KEY": "none"})
    assert done.returncode == 0, done.stderr
    checked = [one for one in server.requests if len(one["messages"]) == 3]
    assert len(checked) == 2 * 2
    for request in checked:
        said, called, result = request["messages"]
        assert [one["role"] for one in request["messages"]] == ["user", "assistant", "user"]
        use = next(part for part in called["content"] if part["type"] == "tool_use")
        (answer,) = [part for part in result["content"] if part["type"] == "tool_result"]
        assert answer["tool_use_id"] == use["id"]
        assert use["name"] == request["tools"][0]["name"] == "verify_identity"
        assert use["input"]["statement"] in json.dumps(said["content"]).replace("\\n", "\n")
        assert "verified" in json.dumps(answer["content"])


def test_people_can_vote_on_a_rung(cli_inside: Cli, tmp_path: Path) -> None:
    """Its cases are what a judge reads there; without a context of one's own, no side."""
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    ladder, cases = load_ladder("ladder"), load_cases(tmp_path / "cases.jsonl").cases
    for rung, count in (("5", 2 * QUERIES), ("0", QUERIES), ("1c", 2 * QUERIES)):
        done = cli_inside("cases", "convert", "cases.jsonl", "rung.jsonl", "--rung", rung)
        assert done.returncode == 0, done.stderr
        voted = load_cases(tmp_path / "rung.jsonl").cases
        shown = on_rung(ladder, rung, find_twins(cases))
        assert {f"{one.context}" for one in voted} == {
            f"{shown.as_context(one).context}" for one in cases
        }
        assert len(voted) == count
        assert all(one.votes is None and f"{ladder.name}:{rung}" in one.tags for one in voted)
        sides = {"safe", "unsafe"} if rung == "5" else {None}
        assert {one.intended for one in voted} == sides
    refused = cli_inside("cases", "convert", "cases.jsonl", "rung.jsonl", "--rung", "7")
    assert (refused.returncode, "no rung '7'" in refused.stderr) == (2, True)


def test_the_ladder_of_the_document_is_one(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/evidence-ladder.md").read_text("utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "mine.yaml").write_text(text, "utf-8")
    assert list(load_ladder(str(tmp_path / "mine.yaml")).rungs) == ["0", "1", "badge", "5"]


CHECKED = """\
  "5": {title: checked, user: "{claim}", tool: {result: "yes"}}
tool: {name: check}
"""


def test_a_sweep_leaves_out_the_same_rungs(cli_inside: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    (tmp_path / "own.yaml").write_text(OWN + CHECKED, "utf-8")
    sweep = """
model: [{model: casewise/smollm2, name: small}]
cases: cases.jsonl
protocol: [respond]
evidence: own.yaml
"""
    (tmp_path / "sweep.yaml").write_text(sweep, "utf-8")
    done = cli_inside("run", "sweep.yaml", "--dry-run", "--log-dir", "logs")
    assert done.returncode == 0, done.stderr
    assert "small can't be asked rung 5: " in " ".join(done.stderr.split())
    assert "rung 0" in done.stdout
    assert "rung 5" not in done.stdout
