"""Answers that break off, are no HTTP or never come: each has its sentence, and no case is lost."""

from collections import Counter
from pathlib import Path

import pytest
from conftest import Cli
from support.broken import FAULTS, BrokenServer
from support.fault_runs import write_questions
from support.secret import KEY

import casewise as cw

CASES = 4

SAID = {
    "reset before the answer": "connection reset by peer at {}",
    "closed before the answer": "connection closed by {} before the answer was whole",
    "reset in the head": "connection reset by peer at {}",
    "closed in the head": "connection closed by {} before the answer was whole",
    "reset in the body": "connection closed by {} before the answer was whole",
    "half a body": "connection closed by {} before the answer was whole",
    "chunks cut off": "connection closed by {} before the answer was whole",
    "large head": "headers too large in the answer of {}",
    "no HTTP": "{} does not speak HTTP",
    "empty body": "unreadable answer from {}: the answer is empty",
    "silence": "timeout",
    "a body in drops": "timeout",
}
SILENT = ("silence", "a body in drops")


def met(cli: Cli, folder: Path, fault: str, client: str) -> str:
    """What is said of a fault that comes once, of a model or a target."""
    with BrokenServer(fault) as server:
        (folder / "target.yaml").write_text(
            f"name: bot\nurl: {server.url}/chat\nreply: choices[0].message.content\n"
            "body: {messages: '{messages}'}\n"
        )
        write_questions(folder / "cases.jsonl", CASES)
        asked = ["--model", "target.yaml"]
        if client != "target":
            asked = ["-m", "openai-api/fake/m"]
        done = cli(
            *("run", *asked, "--cases", "cases.jsonl", "--protocol", "binary"),
            *("--max-connections", "1"),
            *("--attempt-timeout", "1" if fault in SILENT else "60", "--log-dir", "logs"),
            env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url},
        )
        assert done.returncode == 0, done.stderr
        assert server.received == CASES + 1
        place = f"127.0.0.1:{server.port}"
    table = cw.judgements(folder / "logs")
    assert Counter(table["status"]) == {"ok": CASES}
    return " ".join(done.stderr.split()).replace(place, "{}")


@pytest.mark.parametrize(
    ("fault", "client"),
    [
        *((fault, "model") for fault in FAULTS if fault not in SILENT),
        ("no HTTP", "target"),
        *(pytest.param(fault, "model", marks=pytest.mark.slow) for fault in SILENT),
    ],
)
def test_each_has_its_sentence(
    cli: Cli, tmp_path: Path, fault: str, client: str, soon_again: None
) -> None:
    said = met(cli, tmp_path, fault, client)
    assert SAID[fault] in said
    assert "1 other" not in said
