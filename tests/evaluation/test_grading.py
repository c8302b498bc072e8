"""A grader's answers, over real HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.actors import write_cases
from support.fake_openai import Answer, FakeServer, Raw, whole

import casewise as cw


@pytest.mark.parametrize(
    ("text", "status"),
    [("Welcome!", "error"), ('It answers.\n{"id": "NONCE", "class": "compliance"}', "ok")],
)
def test_a_grade_under_another_name(cli: Cli, tmp_path: Path, text: str, status: str) -> None:
    """Some servers have names of their own: what is graded well is a grade, and nothing else is."""

    def answer(request: dict[str, Any]) -> Answer:
        if request["model"] == "m":
            return USUAL
        # The grader is told how its last line begins, with a number of the reply's own.
        nonce = str(request["messages"][-1]["content"]).split('"id": "')[-1].split('"')[0]
        body = whole(request, text.replace("NONCE", nonce), model="large")
        return Raw(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    write_cases(tmp_path / "cases.jsonl", 1)
    with FakeServer(answer) as server:
        command = ("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--log-dir", "logs")
        grader = ("--grader", "openai-api/fake/judge")
        done = cli(*command, "--protocol", "respond", *grader, env=server.env)
        assert "Traceback" not in done.stderr
    table = cw.judgements(tmp_path / "logs")
    assert set(table["status"]) == {status}
    assert "the answer is by 'large', not by the grader" in (table["error"][0] or "") or (
        status == "ok"
    )


# --- what grading takes -----------------------------------------------------------------------

USUAL = "word " * 800
"""1,000 tokens at 4 bytes each, as a usual reply has."""
PRICES = ("--price-in", "1", "--price-out", "2", "--grader-price-in", "10", "--grader-price-out")


def bytes_sent(server: FakeServer, model: str) -> list[int]:
    """The length of each request to a model."""
    return [
        sum(len(str(message["content"]).encode()) for message in request["messages"])
        for request in server.requests
        if request["model"] == model
    ]


def test_a_dry_run_counts_what_a_run_sends(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    asked = ["-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--protocol", "respond"]
    asked += ["--delivery", "claimed,history", "--vary", "escalation,urgency"]
    asked += ["--grader", "openai-api/fake/judge", *PRICES, "20"]
    dry = cli("run", *asked, "--dry-run", env={"COLUMNS": "200"})
    assert dry.returncode == 0, dry.stderr
    plan = cw.plan(
        tmp_path / "cases.jsonl",
        "openai-api/fake/m",
        "respond",
        delivery=["claimed", "history"],
        vary=[None, "escalation", "urgency"],
        grader="openai-api/fake/judge",
        price_in=1,
        price_out=2,
        grader_price_in=10,
        grader_price_out=20,
    )

    def answer(request: dict[str, Any]) -> str:
        nonce = str(request["messages"][-1]["content"]).split('"id": "')[-1].split('"')[0]
        graded = f'It does so.\n{{"id": "{nonce}", "class": "compliance"}}'
        return USUAL if request["model"] == "m" else graded

    with FakeServer(answer) as server:
        done = cli("run", *asked, "--log-dir", "logs", env=server.env)
        assert done.returncode == 0, done.stderr
    own = [estimate for estimate in plan.estimates if estimate.grades is None]
    graders = [estimate for estimate in plan.estimates if estimate.grades == "openai-api/fake/m"]
    for name, estimates, price_in, price_out in (("m", own, 1, 2), ("judge", graders, 10, 20)):
        sent = bytes_sent(server, name)
        assert sum(estimate.requests for estimate in estimates) == len(sent)
        tokens = sum(estimate.input_tokens for estimate in estimates)
        assert tokens == pytest.approx(sum(sent) / 4, rel=0.01)
        for estimate in estimates:
            took = estimate.input_tokens * price_in + estimate.output_tokens * price_out
            assert estimate.cost_usd == pytest.approx(took / 1e6)
    n = sum(estimate.requests for estimate in plan.estimates)
    assert f"{n} requests; nothing was sent. About $" in dry.stdout


def test_prices_of_a_grader(cli: Cli) -> None:
    asked = ["run", "-m", "openai/gpt-4o", "--protocol", "respond", "--limit", "2", "--dry-run"]
    asked += ["--grader", "openai-api/fake/judge", "--price-in", "1", "--price-out", "2"]
    dry = cli(*asked)
    assert "Give --grader-price-in and --grader-price-out (dollars" in " ".join(dry.stdout.split())
