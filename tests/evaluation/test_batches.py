"""Runs that are sent in batches, against OpenAI's Files and Batches interface on loopback."""

import hashlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, clean_env
from inspect_ai.log import read_eval_log
from inspect_ai.model._providers.util import batch
from polars.testing import assert_frame_equal
from support.fake_batches import BatchServer
from support.fake_openai import Answer, Raw
from support.fault_runs import write_questions
from support.secret import KEY
from support.starts import PATIENCE_S, Start

from casewise.evaluation import (
    Prices,
    RunRequest,
    make_budget,
    make_plan,
    read_done,
    run_cells,
)
from casewise.evaluation.models import _batches
from casewise.evaluation.plan._plan import Cell
from casewise.scores import read_paths

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
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
    monkeypatch.setattr(batch, "DEFAULT_BATCH_TICK", 0.05)
    monkeypatch.setattr(batch, "DEFAULT_SEND_DELAY", 0.05)
    monkeypatch.setattr(_batches, "_AGAIN_S", 0.05)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


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


def cells(server: BatchServer, cases: str | Path, **more: Any) -> tuple[Cell, ...]:
    options: dict[str, Any] = {"batch": True, "protocols": ("binary",)} | more
    request = RunRequest(model=(MODEL,), cases=str(cases), model_base_url=server.url, **options)
    return make_plan(request).cells


def run_in(folder: Path, server: BatchServer, cases: str | Path, **more: Any) -> pl.DataFrame:
    """Run to the end, and give the table."""
    result = run_cells(cells(server, cases, **more), folder)
    assert result.complete, result.failures
    return read_paths([folder]).table


def test_all_cases_as_live(tmp_path: Path, casebench: Path) -> None:
    """Row for row, refusals and filters among them; and no live request."""
    data = casebench / "CASEBench_data.json"
    with BatchServer(mixed) as server:
        live = run_in(tmp_path / "live", server, data, batch=False, limit=100)
        assert len(server.requests) == 100
        assert not server.batches
    with BatchServer(mixed) as server:
        # A limit on the attempt ends no batch.
        batched = run_in(tmp_path / "batched", server, data, limit=100, attempt_timeout=1)
        assert server.requests == []
        assert len(server.sent) == 100
        assert len(server.batches) < 10
        # What is judged is not asked again, in whatever way.
        run_in(tmp_path / "batched", server, data, batch=False, limit=100)
        assert server.requests == []
    assert set(live["status"].unique()) == {"ok", "refused", "unparsed"}
    # Of this run alone; and what it cost.
    own = ["run_id", "latency_s", "cost_usd"]
    order = ["case_id"]
    assert_frame_equal(live.drop(own).sort(order), batched.drop(own).sort(order))
    assert batched["cost_usd"].sum() == pytest.approx(live["cost_usd"].sum() / 2)
    (path,) = (tmp_path / "batched").glob("*.eval")
    assert read_eval_log(str(path), header_only=True).plan.config.batch is True


def arguments(cases: Path, *more: str) -> list[str]:
    options = ["--protocol", "binary", "--batch", "--log-dir", "logs"]
    return ["run", "-m", MODEL, "--cases", str(cases), *options, *more]


def environment(server: BatchServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}


def test_the_start_and_each_batch_are_told(cli_inside: Cli, cases: Path) -> None:
    with BatchServer(safe) as server:
        done = cli_inside(*arguments(cases), env=environment(server))
    said = " ".join(done.stderr.split())
    assert done.returncode == 0, said
    assert "or whose run is stopped or killed, may be paid again" in said
    assert f"batches: Created batch batch_1 with {CASES} requests" in said
    assert "Current batches" not in done.stdout


def test_a_wrong_key_ends_the_run(cli_inside: Cli, cases: Path) -> None:
    words = b'{"error": {"message": "the question was told", "code": "invalid_api_key"}}'
    refused = Raw(401, words, {"Content-Type": "application/json"})
    with BatchServer(safe, misanswered={"POST /v1/batches": refused}) as server:
        done = cli_inside(*arguments(cases), env=environment(server))
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert f"batches: Error creating batch, failing all {CASES} requests" in said
    assert "authentication" in said
    assert "the question was told" not in said


def test_after_a_creation_that_fails_batches_go_on(tmp_path: Path, cases: Path) -> None:
    page = Raw(200, b"<html>busy</html>", {"Content-Type": "text/html"})
    with BatchServer(safe, misanswered={"POST /v1/batches": page}, once=True) as server:
        table = run_in(tmp_path / "logs", server, cases)
    assert set(table["status"]) == {"ok"}


def test_a_killed_run_sends_again_what_was_out(cases: Path) -> None:
    def start(server: BatchServer) -> Start:
        env = clean_env() | environment(server)
        return Start(arguments(cases), cases.parent, env, first=SOON)

    with BatchServer(safe) as server:
        server.open.clear()
        process = start(server)
        latest = time.monotonic() + PATIENCE_S
        while "GET /v1/batches/batch_1" not in server.calls and time.monotonic() < latest:
            assert process.poll() is None, process.stderr
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        server.open.set()
        again = start(server)
        _, err = again.communicate()
        said = " ".join(err.split())
        assert again.returncode == 0, said
        assert "what was in flight then was sent again, and may be paid twice" in said
        assert len(server.sent) == 2 * CASES
    assert set(read_paths([cases.parent / "logs"]).table["status"]) == {"ok"}


def test_the_dry_run_halves_the_price(cli_inside: Cli, cases: Path) -> None:
    def cost(*more: str) -> float:
        options = ("--dry-run", "--price-in", "1000", "--price-out", "2000", *more)
        done = cli_inside(*[one for one in arguments(cases) if one != "--batch"], *options)
        assert done.returncode == 0, done.stderr
        return float(done.stdout.split("About $")[1].split()[0].rstrip("."))

    assert cost("--batch") == pytest.approx(cost() / 2, abs=0.01)


def test_a_cap_holds_the_first_batch_to_what_it_allows(tmp_path: Path, cases: Path) -> None:
    """Nothing has told yet what a judgement costs: its estimate says how many may go out."""
    with BatchServer(safe) as server:
        found = cells(server, cases, prices=Prices(1000.0, 1000.0))
        (cell,) = found
        each = (cell.estimate.cost_usd or 0.0) / CASES
        budget = make_budget(found, read_done(found, tmp_path / "logs"), each * 3.5)
        result = run_cells(found, tmp_path / "logs", budget=budget)
        assert result.capped
        # Each took 105 tokens at half of a thousandth.
        assert budget.spent == pytest.approx(len(server.sent) * 105 * 0.0005)
        assert len(server.sent) < CASES


@pytest.mark.parametrize("model", ["openai-api/fake/m", "openai/azure/gpt-4o"])
def test_models_without_a_batch_interface(cli_inside: Cli, cases: Path, model: str) -> None:
    done = cli_inside(*arguments(cases, "-m", model))
    assert done.returncode == 2
    assert f"no batch interface is known for {model}" in " ".join(done.stderr.split())
    assert not (cases.parent / "logs").exists()


def test_other_refusals(cli_inside: Cli, tmp_path: Path, cases: Path) -> None:
    done = cli_inside(*arguments(cases, "--engine", "ray"))
    assert done.returncode == 2
    assert "a cluster has none to share" in " ".join(done.stderr.split())
    done = cli_inside(
        *("run", "-m", MODEL, "--protocol", "respond", "--grader", "mockllm/model"),
        *("--batch", "--dry-run"),
    )
    assert done.returncode == 2
    assert "for mockllm/model" in " ".join(done.stderr.split())
    assert not (tmp_path / "logs").exists()


def test_sweeps(cli_inside: Cli, tmp_path: Path, cases: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(
        "cases: cases.jsonl\nprotocols: binary\nbatch: true\nmodels:\n"
        f"- {{model: {MODEL}, name: a}}\n- {{model: openai/gpt-4.1, batch: false}}\n"
    )
    with BatchServer(safe) as server:
        done = cli_inside("run", str(sweep), "--log-dir", "logs", env=environment(server))
        assert done.returncode == 0, done.stderr
        assert {one["model"] for one in server.requests} == {"gpt-4.1"}
        assert len(server.sent) == len(server.requests) == CASES


def test_a_chatbot_and_its_grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn is a batch; the grader's requests go in batches as well."""

    def answer(request: dict[str, Any]) -> Answer:
        return '{"response_class": "full_compliance"}' if request["model"] == "gpt-4.1" else "Sure."

    with BatchServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        request = RunRequest(
            model=(MODEL,), protocol=("respond",), limit=4, grader="openai/gpt-4.1", batch=True
        )
        run_cells(make_plan(request).cells, tmp_path / "logs")
        assert server.requests == []
        asked = {line["body"]["model"] for one in server.batches.values() for line in one.lines}
        assert asked == {"gpt-4o", "gpt-4.1"}
