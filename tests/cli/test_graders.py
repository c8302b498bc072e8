"""``casewise graders check`` as a person runs it: offline, and with a model."""

import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.labelled import REPLIES, write, write_completions


def done(run: subprocess.CompletedProcess[str]) -> str:
    assert run.returncode == 0, run.stderr
    assert "Warning" not in run.stderr
    return run.stdout


def test_the_table_fits_a_terminal(cli: Cli, tmp_path: Path) -> None:
    path = write(tmp_path, [*REPLIES, ("[bold]q", "I can't help with that.", "compliance")])
    text = done(cli("graders", "check", path.name, env={"COLUMNS": "80"}))
    assert max(map(len, text.splitlines())) <= 80
    for part in ("kappa", "precision", "recall", "string match"):
        assert part in text
    assert "1 classed otherwise than by hand" in " ".join(text.split())
    markdown = done(cli("graders", "check", path.name, "--format", "markdown"))
    assert "| grader | n | graded | accuracy | kappa | refusal or not |" in markdown


# --- a model --------------------------------------------------------------------------------


def asked(request: dict[str, Any]) -> tuple[str, str]:
    """The reply to be graded, and the id that its verdict must bear."""
    lines = request["messages"][-1]["content"].rstrip().split("\n")
    return json.loads(lines[lines.index("Reply:") + 1]), json.loads(lines[-1])["id"]


def grade(request: dict[str, Any]) -> Answer:
    reply, nonce = asked(request)
    if "tides" in request["messages"][-1]["content"]:
        return "I can't help with grading this."
    name = "refusal" if "can" in reply else "compliance"
    return f"It says so.\n{json.dumps({'id': nonce, 'class': name})}"


def check_with(
    cli: Cli, path: Path, server: FakeServer, *options: str
) -> subprocess.CompletedProcess[str]:
    command = ("graders", "check", path, "--grader", "openai-api/fake/m", "--format", "json")
    return cli(*command, *options, env=server.env)


def test_a_model_grades(cli: Cli, tmp_path: Path) -> None:
    with FakeServer(grade) as server:
        record = json.loads(done(check_with(cli, write(tmp_path), server)))
    # The empty reply is undetermined without a request.
    assert len(server.requests) == 4
    assert {request["temperature"] for request in server.requests} == {0}
    own = record["agreement"][0]
    assert (own["grader"], own["graded"], own["accuracy"]) == ("openai-api/fake/m", 0.8, 1)
    reason = "the grader's answer ends in no verdict"
    assert record["mistakes"] == [
        {"id": "r1", "label": "compliance", "said": None, "reason": reason}
    ]


def test_the_providers_own_refusal(cli: Cli, tmp_path: Path) -> None:
    def filtered(request: dict[str, Any]) -> Answer:
        if "poem" in asked(request)[0]:
            return grade(request)
        message = {"role": "assistant", "content": grade(request)}
        return {"message": message, "finish_reason": "content_filter"}

    with FakeServer(filtered) as server:
        record = json.loads(done(check_with(cli, write(tmp_path), server)))
    assert {mistake["reason"] for mistake in record["mistakes"]} == {"the grader declined"}
    assert record["agreement"][0]["graded"] == 0.2


def test_requests_that_fail(cli: Cli, tmp_path: Path) -> None:
    def some(request: dict[str, Any]) -> Answer:
        return 400 if "tides" in request["messages"][-1]["content"] else grade(request)

    with FakeServer(some) as server:
        record = json.loads(done(check_with(cli, write(tmp_path), server)))
    (mistake,) = record["mistakes"]
    assert (mistake["id"], mistake["said"]) == ("r1", None)
    assert "400" in mistake["reason"]
    assert "tides" not in mistake["reason"], "the request stays out of the reasons"


def test_a_model_that_can_not_be_used(cli: Cli, tmp_path: Path) -> None:
    path = write(tmp_path, REPLIES[:2])
    with FakeServer(lambda request: 401) as server:
        found = check_with(cli, path, server)
    assert found.returncode == 2
    assert "openai-api/fake/m: " in found.stderr
    assert "401" in found.stderr
    assert "Traceback" not in found.stderr
    found = cli("graders", "check", path, "--grader", "nowhere/m")
    assert found.returncode == 2
    assert "nowhere/m" in found.stderr


# --- replies that people labelled -----------------------------------------------------------


def test_xstest_in_one_command(cli: Cli, tmp_path: Path) -> None:
    path = write_completions(tmp_path / "one.csv")
    text = done(cli("graders", "check", path.name, env={"COLUMNS": "80"}))
    assert max(map(len, text.splitlines())) <= 80
    for part in ("rules", "string match", "two people", "refusal"):
        assert part in text
    again = write_completions(tmp_path / "two.csv")
    record = json.loads(done(cli("graders", "check", path, again, "--format", "json")))
    assert {one["n"] for one in record["agreement"]} == {8}
    assert record["file"] == f"{path}, {again}"
