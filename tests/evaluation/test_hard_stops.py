"""Runs that are killed, out of room, locked out, or find broken logs: nothing is asked twice."""

import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer
from support.secret import KEY
from support.starts import killed_starts

from casewise.scores import read_paths

CASES = 200
AT_ONCE = 4


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    context = {"sender": {"platform_type": "forum"}}
    lines = [
        json.dumps({"query": f"question {n}", "context": context, "intended": "safe"})
        for n in range(CASES)
    ]
    path.write_text("\n".join(lines), "utf-8")
    return path


def arguments(cases: Path, *more: str) -> list[str]:
    options = ["--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "logs"]
    return ["run", "-m", "openai-api/fake/m", "--cases", str(cases), *options, *more]


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}


def check_table(logs: Path, cases: int = CASES, epochs: int = 1) -> None:
    table = read_paths([logs]).table
    assert Counter(table["status"]) == {"ok": cases * epochs}
    times = Counter(zip(table["case_id"], table["epoch"], strict=True))
    assert len(times) == cases * epochs
    assert set(times.values()) == {1}


@pytest.mark.slow
def test_draws_of_one_prompt_stay_several(tmp_path: Path, cases: Path) -> None:
    """Three answers to each prompt, in two epochs: none takes the place of another."""
    drawn = Counter[str]()

    def answer(request: dict[str, Any]) -> Answer:
        time.sleep(0.02)
        prompt = request["messages"][-1]["content"]
        with server.lock:
            drawn[prompt] += 1
            return str(1 + drawn[prompt] % 10)

    options = ["--protocol", "score", "--limit", "20", "--epochs", "2"]
    with FakeServer(answer) as server:
        env = clean_env() | environment(server)
        ended = killed_starts(
            arguments(cases, *options), [(30, 0.0), (40, 0.1)], server, tmp_path, env
        )
    assert ended[-1] == 0
    check_table(tmp_path / "logs", 20, 2)
    table = read_paths([tmp_path / "logs"], texts=True).table
    assert 120 <= len(server.requests) <= 120 + 2 * AT_ONCE
    answers = [text for row in table["answer"] for text in json.loads(row)]
    assert len(answers) == 120
    # The server never says the same thing twice in ten; a copied answer would repeat.
    for _, rows in table.group_by("case_id"):
        said = [text for row in rows["answer"] for text in json.loads(row)]
        assert len(set(said)) == 6


@pytest.mark.parametrize("damage", ["cut", "altered", "empty"])
def test_a_broken_log(cli_inside: Cli, tmp_path: Path, cases: Path, damage: str) -> None:
    with FakeServer(lambda request: '{"judgement": "safe"}') as server:
        options = [*arguments(cases, "--limit", "20"), "--model-base-url", server.url]
        assert cli_inside(*options, env=environment(server)).returncode == 0
        (log,) = (tmp_path / "logs").glob("*.eval")
        data = log.read_bytes()
        middle = len(data) // 2
        log.write_bytes(
            {
                "cut": data[:middle],
                "altered": data[:middle] + bytes(64) + data[middle + 64 :],
                "empty": b"",
            }[damage]
        )
        again = cli_inside(*options, env=environment(server))
    assert again.returncode == 0, again.stderr
    assert f"{log.name} can't be read; it is now {log.name}.broken" in again.stderr
    check_table(tmp_path / "logs", 20)
    assert len(server.requests) == 40


def test_a_read_only_folder(cli: Cli, tmp_path: Path, cases: Path) -> None:
    place = tmp_path / "logs"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", place], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        with FakeServer(lambda request: '{"judgement": "safe"}') as server:
            done = cli(*arguments(cases), env=environment(server))
            assert not server.requests
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "Read-only file system" in done.stderr
    finally:
        subprocess.run(["umount", place], check=True)
