"""All 900 published cases answered under three deliveries, over real HTTP, killed and taken up."""

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer
from support.scores import model_rows

DELIVERIES = ("system", "claimed", "none")


def verdict(request: dict[str, Any]) -> Answer:
    """Refuses every query of an even length, whatever is said around it."""
    last = str(request["messages"][-1]["content"])
    if len(last) % 2 == 0:
        return "I'm sorry, but I can't help with that."
    words = " ".join(last.split()[-12:])
    return f"Here is what you asked for: {words}. As to {words}, this is how it is usually done."


def key(request: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(one["content"]) for one in request["messages"])


@pytest.mark.slow
def test_three_deliveries_in_one_command(
    casebench: Path, cli: Cli, cli_process: Cli, tmp_path: Path
) -> None:
    command = ["run", "--model", "openai-api/fake/actor", "--log-dir", "logs"]
    command += ["--cases", str(casebench / "CASEBench_data.json"), "--protocol", "respond"]
    command += ["--delivery", ",".join(DELIVERIES), "--max-connections", "20"]
    with FakeServer(verdict) as server:
        env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        process = subprocess.Popen(
            [sys.executable, "-m", "casewise", *command],
            cwd=tmp_path,
            env=clean_env() | env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while len(server.requests) < 1200:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.5)
        done = cli_process(*command, env=env)
        assert done.returncode == 0, done.stderr
        assert "were judged before" in done.stderr
        # Only what was in flight is lost.
        assert len(server.requests) <= 2700 + 60
        before = len(server.requests)
        assert cli_process(*command, env=env).returncode == 0
        assert len(server.requests) == before
        asked = Counter(key(request) for request in server.requests)
    # One summary: a row for each delivery, and what the contexts gain.
    assert [f"respond, {delivery}" in done.stdout for delivery in DELIVERIES] == [True] * 3
    whole = cli("score", "logs").stdout
    assert whole.count("Answers and refusals against") == 1
    assert "spoofing" in whole
    scored = model_rows(cli("score", "logs", "--format", "json").stdout)
    rows = {row["delivery"]: row for row in scored}
    assert sorted(rows) == sorted(DELIVERIES)
    for delivery, row in rows.items():
        assert (row["n"], row["labels"]) == (900, "published"), delivery
        assert row["statuses"].get("error", 0) == 0
        # Every refusal was graded as one.
        told = sum(
            count > 0 and len(messages[-1]) % 2 == 0
            for messages, count in asked.items()
            if _delivery(messages) == delivery
        )
        assert row["classes"]["refusal"] >= told
    assert rows["system"]["trust"]["n"] > 0


def _delivery(messages: tuple[str, ...]) -> str:
    if len(messages) > 1:
        return "system"
    return "claimed" if "About me" in messages[0] else "none"
