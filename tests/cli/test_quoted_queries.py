"""A provider whose error quotes the query: the text stays in the log, and is printed nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY, found_in

CANARY = "marmalade-canary-7731"


def quoting(request: dict[str, Any]) -> Answer:
    """Refuses half of the requests, and repeats what was asked; judges the others."""
    said = str(request["messages"][-1]["content"])
    if "question 1" not in said:
        return '{"explanation": "fine", "judgement": "safe"}'
    told = {"error": {"message": f"{CANARY}: can't take this prompt: {said}", "type": "invalid"}}
    return Raw(400, json.dumps(told).encode(), {"Content-Type": "application/json"})


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}


@pytest.mark.parametrize("protocol", ["binary", "respond"])
def test_a_run(cli: Cli, tmp_path: Path, protocol: str) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", 4)
    with FakeServer(quoting) as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", protocol),
            *("--log-dir", "logs"),
            env=environment(server),
        )
    assert done.returncode == 1, done.stderr
    shown = " ".join(done.stderr.split())
    assert f"HTTP 400 (request refused) from 127.0.0.1:{server.port}" in shown
    assert "not finished: openai-api/fake/m: request refused" in shown
    assert "inspect view --log-dir logs" in shown
    printed = [done.stdout + done.stderr]
    for command in (
        ("score", "logs", "--format", "json"),
        ("report", "logs", "--out", "page.html"),
        ("report", "logs", "--out", "card.md"),
        ("export", "logs", "--to", "redacted-logs", "--out", "redacted"),
        ("gate", "logs", "--config", "gate.yaml", "--junit", "junit.xml"),
    ):
        (tmp_path / "gate.yaml").write_text("rules: [{measure: coverage, at_least: 0.1}]\n")
        later = cli(*command)
        printed.append(later.stdout + later.stderr)
    assert not [text for text in printed if CANARY in text or "question 1" in text]
    for name in ("page.html", "card.md", "redacted", "junit.xml"):
        assert (tmp_path / name).exists(), printed
    found = [Path(place.split("!")[0]) for place in found_in(tmp_path, CANARY)]
    places = {place.relative_to(tmp_path) for place in found}
    # It can be read where the answers are.
    assert places
    assert {place.parts[0] for place in places} == {"logs"}
    assert any(place.suffix == ".eval" for place in places)


def test_a_sweep(cli: Cli, tmp_path: Path) -> None:
    write_questions(tmp_path / "cases.jsonl", 4)
    (tmp_path / "s.yaml").write_text(
        "cases: cases.jsonl\nmodels: [openai-api/fake/m]\nprotocols: [binary, respond]\n"
    )
    with FakeServer(quoting) as server:
        done = cli("run", "s.yaml", "--log-dir", "logs", env=environment(server))
    assert done.returncode == 1, done.stderr
    assert "not finished" in done.stderr
    assert CANARY not in done.stdout + done.stderr
    assert found_in(tmp_path / "logs", CANARY)


@pytest.mark.parametrize("some", [False, True])
def test_making_contexts(cli: Cli, tmp_path: Path, some: bool) -> None:
    """Where every request fails, and where one does."""
    queries = ["Tell me question 1, please."] * (not some) or ["Who waters the garden?"]
    lines = [*queries, "Now tell me question 1."]
    texts = [json.dumps({"query": one}) for one in lines]
    (tmp_path / "q.jsonl").write_text("\n".join(texts), "utf-8")
    with FakeServer(quoting) as server:
        done = cli(
            *("contexts", "generate", "q.jsonl", "--out", "c.jsonl", "-m", "openai-api/fake/m"),
            *("--critic", "none"),
            env=environment(server),
        )
    assert done.returncode in (1, 2), done.stderr
    shown = " ".join(done.stderr.split())
    assert "HTTP 400 (request refused)" in shown
    assert "c.making/failed.jsonl" in shown
    assert CANARY not in done.stdout + done.stderr
    assert CANARY in (tmp_path / "c.making" / "failed.jsonl").read_text("utf-8")
    assert {Path(one).name for one in found_in(tmp_path, CANARY)} == {"failed.jsonl"}


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "_API_KEY"), (403, "permission"), (404, "name")]
)
def test_what_to_do_is_still_said(cli: Cli, tmp_path: Path, status: int, hint: str) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", 2)
    told = json.dumps({"error": {"message": CANARY}}).encode()
    with FakeServer(lambda _: Raw(status, told, {"Content-Type": "application/json"})) as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", "binary"),
            *("--log-dir", "logs"),
            env=environment(server),
        )
    assert done.returncode == 2
    (error,) = (one for one in " ".join(done.stderr.split()).split("error: ")[1:])
    assert f"HTTP {status}" in error
    assert hint in error
    assert server.url in error
    assert CANARY not in done.stderr
    assert found_in(tmp_path / "logs", CANARY)
