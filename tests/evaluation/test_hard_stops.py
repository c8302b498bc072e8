"""Runs that are killed, out of room, locked out, or find broken logs: nothing is asked twice."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer
from support.fault_runs import write_questions
from support.starts import killed_starts

import casewise as cw

CASES = 200
AT_ONCE = 4


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "cases.jsonl", CASES)


def arguments(cases: Path, *more: str, protocol: str = "binary") -> list[str]:
    options = ["--protocol", protocol, "--max-connections", str(AT_ONCE), "--log-dir", "logs"]
    return ["run", "-m", "openai-api/fake/m", "--cases", str(cases), *options, *more]


@pytest.mark.slow
def test_draws_of_one_prompt_stay_several(tmp_path: Path, cases: Path) -> None:
    """Three answers to each prompt, in two epochs: none takes the place of another."""
    drawn = Counter[str]()

    def answer(request: dict[str, Any]) -> Answer:
        prompt = request["messages"][-1]["content"]
        with server.lock:
            drawn[prompt] += 1
            return str(drawn[prompt])

    options = ["--limit", "20", "--epochs", "2"]
    with FakeServer(answer) as server:
        env = clean_env() | server.env
        ended = killed_starts(
            arguments(cases, *options, protocol="score"),
            [(30, 0.0), (40, 0.1)],
            server,
            tmp_path,
            env,
        )
        # A case whose answers had not all come is asked anew; two wait for each connection.
        assert 120 <= len(server.requests) <= 120 + 2 * 3 * 2 * AT_ONCE
    assert ended[-1] == 0
    # Of 1 to 6, or of later ones where a kill cost an answer: never the same twice.
    for _, rows in cw.judgements(tmp_path / "logs").group_by("case_id"):
        assert len(rows) == 2
        assert rows["raw_score"].n_unique() == 2


@pytest.mark.parametrize("damage", ["cut", "altered"])
def test_a_broken_log(cli: Cli, tmp_path: Path, cases: Path, damage: str) -> None:
    with FakeServer(lambda request: '{"judgement": "safe"}') as server:
        options = [*arguments(cases, "--limit", "20"), "--model-base-url", server.url]
        assert cli(*options, env=server.env).returncode == 0
        (log,) = (tmp_path / "logs").glob("*.eval")
        data = log.read_bytes()
        middle = len(data) // 2
        after = b"" if damage == "cut" else bytes(64) + data[middle + 64 :]
        log.write_bytes(data[:middle] + after)
        again = cli(*options, env=server.env)
        assert again.returncode == 2
        assert f"{log.name}: can't be read: move it away, and what it held" in again.stderr
        assert len(server.requests) == 20
        log.unlink()
        assert cli(*options, env=server.env).returncode == 0
        assert len(server.requests) == 40
