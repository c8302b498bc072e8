"""Answers that break off or are no HTTP: each has its own sentence, and no case is lost."""

from collections import Counter
from pathlib import Path

import pytest
from conftest import Cli
from support.broken import FAULTS, BrokenServer
from support.fault_runs import write_questions
from support.secret import KEY

from casewise.scores import read_paths

CASES = 4

SAID = {
    "reset before the answer": "connection reset by {} before an answer",
    "closed before the answer": "connection closed by {} before an answer",
    "reset in the head": "connection reset by {} before an answer",
    "closed in the head": "connection closed by {} before an answer",
    "reset in the body": "connection reset by {} in the middle of an answer",
    "half a body": "connection closed by {} in the middle of an answer",
    "chunks cut off": "connection closed by {} in the middle of an answer",
    "large head": "headers too large in the answer of {}",
    "no HTTP": "{} does not speak HTTP",
    "empty body": "unreadable answer from {}: the answer is empty",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_each_has_its_sentence(
    cli_inside: Cli, tmp_path: Path, client: str, fault: str, soon_again: None
) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", CASES)
    with BrokenServer(fault) as server:
        done = cli_inside(
            *("run", "-m", f"openai-api/fake{server.port}/m", "--cases", cases),
            *("--protocol", "binary", "--max-connections", "1", "--client", client),
            *("--log-dir", "logs"),
            env={f"FAKE{server.port}_API_KEY": KEY, f"FAKE{server.port}_BASE_URL": server.url},
        )
        place, received = f"127.0.0.1:{server.port}", server.received
    said = " ".join(done.stderr.split())
    assert done.returncode == 0, said
    told = SAID[fault].format(place)
    if fault == "reset in the body" and client == "auto":
        # Its client does not say how a body ended.
        told = told.replace("reset", "closed")
    assert told in said
    assert received == CASES + 1
    assert "1 other" not in said
    assert Counter(read_paths([tmp_path / "logs"]).table["status"]) == {"ok": CASES}


@pytest.mark.parametrize("fault", FAULTS)
def test_of_a_target(cli_inside: Cli, tmp_path: Path, fault: str, soon_again: None) -> None:
    """It has its own client, and the same sentences."""
    cases = write_questions(tmp_path / "cases.jsonl", CASES)
    with BrokenServer(fault) as server:
        (tmp_path / "target.yaml").write_text(
            f"name: bot{server.port}\nurl: {server.url}/chat\nreply: choices[0].message.content\n"
            "body: {messages: '{messages}'}\n"
        )
        done = cli_inside(
            *("run", "--target", "target.yaml", "--cases", cases, "--protocol", "respond"),
            *("--max-connections", "1", "--log-dir", "logs"),
        )
        place, received = f"127.0.0.1:{server.port}", server.received
    said = " ".join(done.stderr.split())
    assert done.returncode == 0, said
    assert SAID[fault].format(place) in said
    assert received == CASES + 1
    assert "1 other" not in said
