"""Runs that are sent in batches, against OpenAI's Files and Batches interface on loopback."""

import hashlib
import json
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, clean_env
from polars.testing import assert_frame_equal
from support.fake_batches import BatchServer
from support.fake_openai import Answer, Raw
from support.fault_runs import write_questions
from support.secret import KEY
from support.starts import Start, until

import casewise as cw

pytestmark = [
    # Of Inspect and of what it stands on: elsewhere it runs in processes of its own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = 12
MODEL = "openai/gpt-4o"

SOON = """
import inspect_ai.model._providers.util.batch as batch
batch.DEFAULT_BATCH_TICK = batch.DEFAULT_SEND_DELAY = 0.05
"""
"""What the fixture ``fast`` does, for a process of its own."""


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, soon_again: None) -> None:
    batch = "inspect_ai.model._providers.util.batch"
    monkeypatch.setattr(f"{batch}.DEFAULT_BATCH_TICK", 0.05)
    monkeypatch.setattr(f"{batch}.DEFAULT_SEND_DELAY", 0.05)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "cases.jsonl", CASES)


def safe(_: dict[str, Any]) -> Answer:
    return '{"judgement": "safe"}'


def mixed(request: dict[str, Any]) -> Answer:
    """The same for the same request, whoever sends it and when."""
    digit = int(hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest(), 16) % 5
    message = {"role": "assistant", "content": None}
    return (
        '{"explanation": "The platform asks for it – and more.", "verdict": "safe"}',
        '{"verdict": "unsafe"}',
        {"message": message | {"refusal": "I won't judge."}},
        {"message": message | {"content": ""}, "finish_reason": "content_filter"},
        {"message": message | {"content": "Unsafe, as"}, "finish_reason": "length"},
    )[digit]


def test_all_cases_as_live(cli: Cli, tmp_path: Path, casebench: Path) -> None:
    """Row for row, refusals and filters among them; and no live request."""
    command = ["run", "-m", MODEL, "--cases", str(casebench / "CASEBench_data.json")]
    command += ["--limit", "40", "--protocol", "binary", "--log-dir"]

    def run(server: BatchServer, folder: str, *more: str) -> pl.DataFrame:
        done = cli(*command, folder, *more, env=environment(server))
        assert done.returncode == 0, done.stderr
        return cw.judgements(tmp_path / folder).sort("case_id")

    with BatchServer(mixed) as server:
        live = run(server, "live")
        assert (len(server.requests), server.batches) == (40, {})
    with BatchServer(mixed) as server:
        # A limit on the attempt ends no batch.
        batched = run(server, "batched", "--batch", "--attempt-timeout", "1")
        assert (len(server.requests), len(server.sent)) == (0, 40)
        assert len(server.batches) < 40
        # What is judged is not asked again, in whatever way.
        run(server, "batched")
        assert server.requests == []
    assert set(live["status"].unique()) == {"ok", "refused", "unparsed"}
    # Of this run alone; and what it cost.
    own = ["run_id", "latency_s", "cost_usd"]
    assert_frame_equal(live.drop(own), batched.drop(own))
    assert batched["cost_usd"].sum() == pytest.approx(live["cost_usd"].sum() / 2)


def arguments(cases: Path, *more: str) -> list[str]:
    options = ["--protocol", "binary", "--batch", "--log-dir", "logs"]
    return ["run", "-m", MODEL, "--cases", str(cases), *options, *more]


def environment(server: BatchServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}


UNMADE = {
    "authentication": Raw(
        401,
        b'{"error": {"message": "the question was told", "code": "invalid_api_key"}}',
        {"Content-Type": "application/json"},
    ),
    "a batch failed": Raw(200, b"<html>busy</html>", {"Content-Type": "text/html"}),
}


@pytest.mark.parametrize("words", UNMADE)
def test_a_batch_that_cannot_be_created_ends_the_run(
    cli: Cli, tmp_path: Path, cases: Path, words: str
) -> None:
    """Nothing waits for ever, and the same command goes on."""
    with BatchServer(safe, misanswered={"POST /v1/batches": UNMADE[words]}, once=True) as server:
        done = cli(*arguments(cases), env=environment(server))
        said = " ".join(done.stderr.split())
        assert done.returncode == 2, said
        assert words in said
        assert "or whose run is stopped or killed, may be paid again" in said
        assert "the question was told" not in said
        assert cli(*arguments(cases), env=environment(server)).returncode == 0
    assert set(cw.judgements(tmp_path / "logs")["status"]) == {"ok"}


@pytest.mark.slow
def test_a_killed_run_sends_again_what_was_out(cases: Path) -> None:
    def start(server: BatchServer) -> Start:
        env = clean_env() | environment(server)
        return Start(arguments(cases), cases.parent, env, first=SOON)

    with BatchServer(safe) as server:
        server.open.clear()
        process = start(server)
        until(lambda: "GET /v1/batches/batch_1" in server.calls, process)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        out = len(server.sent)
        assert out > 0
        server.open.set()
        again = start(server)
        _, err = again.communicate()
        said = " ".join(err.split())
        assert again.returncode == 0, said
        assert len(server.sent) == out + CASES
    assert set(cw.judgements(cases.parent / "logs")["status"]) == {"ok"}


def test_a_cap_holds_the_first_batch_to_what_it_allows(
    cli: Cli, tmp_path: Path, cases: Path
) -> None:
    """Nothing has told yet what a judgement costs: its estimate says how many may go out."""
    (row,) = cw.plan(
        cases, model=MODEL, protocol="binary", batch=True, price_in=1000, price_out=1000
    ).estimates
    cap = (row.cost_usd or 0.0) / CASES * 3.5
    options = ("--price-in", "1000", "--price-out", "1000", "--max-cost", f"{cap:.4f}")
    with BatchServer(safe) as server:
        done = cli(*arguments(cases, *options), env=environment(server))
        assert done.returncode == 1, done.stderr
        asked = len(server.sent)
    assert 3 <= asked < CASES
    # Each took 105 tokens at half of a thousandth.
    assert f"${asked * 105 * 0.0005:.2f} were spent" in " ".join(done.stderr.split())


def test_refusals(cli: Cli, tmp_path: Path, cases: Path) -> None:
    for model in ("openai-api/fake/m", "openai/azure/gpt-4o"):
        done = cli(*arguments(cases, "-m", model))
        assert done.returncode == 2
        assert f"no batch interface is known for {model}" in " ".join(done.stderr.split())
    done = cli(*arguments(cases, "--engine", "ray"))
    assert done.returncode == 2
    assert "--engine ray takes no --max-cost and no --batch" in " ".join(done.stderr.split())
    assert not (tmp_path / "logs").exists()


def test_a_chatbot_and_its_grader(cli: Cli, cases: Path) -> None:
    """Each turn is a batch; the grader's requests go in batches as well."""

    def answer(request: dict[str, Any]) -> Answer:
        return '{"response_class": "full_compliance"}' if request["model"] == "gpt-4.1" else "Sure."

    options = ("--protocol", "respond", "--grader", "openai/gpt-4.1", "--limit", "4")
    with BatchServer(answer) as server:
        cli(*arguments(cases, *options), env=environment(server))
        assert server.requests == []
        asked = {line["body"]["model"] for batch in server.batches.values() for line in batch.lines}
        assert asked == {"gpt-4o", "gpt-4.1"}
