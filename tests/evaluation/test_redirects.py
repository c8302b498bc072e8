"""Redirects of models, graders, makers of contexts and bots, which nothing follows."""

import json
from pathlib import Path
from typing import Any

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


def to(location: str, status: int = 307) -> Raw:
    return Raw(status, b"moved", {"Location": location})


def run(cli: Cli, server: FakeServer, *options: str | Path) -> str:
    """Messages of a run that nothing is judged in."""
    model = ("-m", "openai-api/fake/m", "--log-dir", "logs")
    done = cli("run", *model, *FEW, *options, env=env_of(server))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    return " ".join(done.stderr.split())


def env_of(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url, "BOT_KEY": KEY}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_no_case_is_sent_elsewhere(cli: Cli, tmp_path: Path, client: str, status: int) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", 30)
    with FakeServer(lambda _: SAFE) as other:
        place = f"{other.url}/chat/completions"
        with FakeServer(lambda _: to(f"{place}?key={UNKNOWN}", status)) as server:
            options = ("--cases", cases, "--protocol", "binary", "--client", client)
            said = run(cli, server, *options)
        assert not other.requests
    # One round of what was in flight.
    assert len(server.requests) <= CONNECTIONS
    error = f"openai-api/fake/m: HTTP {status} (redirected) to {place}: nothing was sent there"
    assert said.count(f"error: {error}") == 1
    assert UNKNOWN not in said
    assert found_in(tmp_path, UNKNOWN) == []


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_a_loop_ends_at_once(cli: Cli, tmp_path: Path, client: str) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", 30)
    with FakeServer(lambda _: to("/v1/chat/completions")) as server:
        said = run(cli, server, "--cases", cases, "--protocol", "binary", "--client", client)
    assert len(server.requests) <= CONNECTIONS
    assert "(redirected) to /v1/chat/completions: nothing was sent there" in said


def test_a_redirect_after_some_answers(cli: Cli, tmp_path: Path) -> None:
    """What was judged stays; the exit status is that of a run that is not finished."""
    cases = write_questions(tmp_path / "cases.jsonl", 30)
    with FakeServer(lambda _: SAFE) as other:

        def answer(_: dict[str, Any]) -> str | Raw:
            return SAFE if len(server.requests) <= 10 else to(other.url)

        with FakeServer(answer) as server:
            options = ("--cases", cases, "--protocol", "binary", "--log-dir", "logs")
            command = ("run", "-m", "openai-api/fake/m", *options, *FEW)
            done = cli(*command, env=env_of(server))
        assert not other.requests
    assert done.returncode == 1, done.stderr
    assert len(server.requests) <= 10 + CONNECTIONS
    assert done.stderr.count("not finished: ") == 1
    assert f"(redirected) to {other.url}: nothing was sent" in " ".join(done.stderr.split())


def test_a_grader_that_redirects(cli: Cli, tmp_path: Path) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", 8)
    with FakeServer(lambda _: SAFE) as other:

        def answer(request: dict[str, Any]) -> str | Raw:
            return to(other.url) if request["model"] == "judge" else "Here is how."

        with FakeServer(answer) as server:
            grader = ("--grader", "openai-api/fake/judge", "--delivery", "none")
            said = run(cli, server, "--cases", cases, "--protocol", "respond", *grader)
            said_by = {"role": "assistant", "content": "Here is how."}
            asked = {"role": "user", "content": "question 1"}
            (tmp_path / "talks.jsonl").write_text(json.dumps({"messages": [asked, said_by]}))
            options = ("--cases", cases, "--grader", "openai-api/fake/judge", *FEW)
            checked = cli("grade", "talks.jsonl", *options, env=env_of(server))
        assert not other.requests
    for text in (said, " ".join(checked.stderr.split())):
        assert f"openai-api/fake/judge: HTTP 307 (redirected) to {other.url}: nothing" in text


def test_a_maker_of_contexts_that_redirects(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("query\nhow do I paint a wall\nhow do I pick a lock\n")
    with FakeServer(lambda _: SAFE) as other, FakeServer(lambda _: to(other.url)) as server:
        done = cli(
            *("contexts", "generate", "queries.csv", "--out", "cases.jsonl"),
            *("-m", "openai-api/fake/m", *FEW),
            env=env_of(server),
        )
        assert not other.requests
        assert len(server.requests) <= CONNECTIONS
    assert done.returncode in (1, 2)
    told = " ".join(done.stderr.split())
    assert f"(redirected) to {other.url}: nothing was sent there" in told


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_bot_that_redirects(cli: Cli, tmp_path: Path, status: int) -> None:
    """On its own host, too."""
    with BotServer(lambda _: to("/moved", status)) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        cases = write_questions(tmp_path / "cases.jsonl", 30)
        options = ("--protocol", "respond", "--cases", cases, "--log-dir", "logs", *FEW)
        done = cli("run", "--target", path, *options, env=env_of(server))
        assert len(server.asked) <= CONNECTIONS
        assert all("moved" not in place for _, place, _ in server.asked)
        checked = cli("target", "check", path, env=env_of(server))
    assert (done.returncode, checked.returncode) == (2, 1)
    for text in (done.stderr, checked.stdout + checked.stderr):
        assert f"HTTP {status} (redirected) to /moved: nothing was sent" in " ".join(text.split())
