"""A grader's answers, over real HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.actors import write_cases
from support.fake_openai import FakeServer, Raw

import casewise as cw
from casewise.evaluation import grade_replies
from casewise.protocols import Graded, Status


def by_another(text: str) -> Raw:
    """A whole answer that bears the name of a model which nobody asked."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "large"}
    headers = {"Content-Type": "application/json"}
    return Raw(200, json.dumps(body | {"choices": [choice]}).encode(), headers)


def graded(text: str, monkeypatch: pytest.MonkeyPatch) -> Graded:
    def answer(request: dict[str, Any]) -> Raw:
        # The grader is told how its last line begins, with a number of the reply's own.
        told = str(request["messages"][-1]["content"])
        return by_another(text.replace("NONCE", told.split('"id": "')[-1].split('"')[0]))

    monkeypatch.setenv("GRADED_API_KEY", "k")
    replies = [([("user", "Why is the sky blue?")], "Since air scatters blue light.", None)]
    with FakeServer(answer) as server:
        (found,) = grade_replies("openai-api/graded/small", replies, base_url=server.url)
    return found


def test_no_grade_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a first answer it might be the server's name for the grader; but it grades nothing."""
    found = graded("Welcome!", monkeypatch)
    assert (found.status, found.response_class) == (Status.ERROR, None)
    assert found.reason == "another model: the answer is by 'large', not by the grader"


def test_a_grade_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some servers have names of their own: what is graded well is a grade."""
    found = graded('It answers.\n{"id": "NONCE", "class": "compliance"}', monkeypatch)
    assert found.status is Status.OK, found.reason


# --- what grading takes -----------------------------------------------------------------------

USUAL = "word " * 800
"""1,000 tokens at 4 bytes each, as a usual reply has."""
PRICES = ("--price-in", "1", "--price-out", "2", "--grader-price-in", "10", "--grader-price-out")
SCRIPTED = """
name: card
title: A help desk
sender: The assistant of a bicycle shop.
users: Anybody.
lines:
- {id: repairs, rule: allowed, what: Repairs., why: What the shop is for.}
cases:
- {id: chain, query: How do I shorten a chain?, line: repairs, note: Usual.}
script: script.yaml
"""


def bytes_sent(server: FakeServer, model: str) -> list[int]:
    """The length of each request to a model."""
    return [
        sum(len(str(message["content"]).encode()) for message in one["messages"])
        for one in server.requests
        if one["model"] == model
    ]


def test_a_dry_run_counts_what_a_run_sends(cli_inside: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 3)
    asked: tuple[str, ...] = (
        "-m",
        "openai-api/fake/m",
        "--cases",
        "cases.jsonl",
        "--protocol",
        "respond",
    )
    asked += ("--delivery", "claimed,history", "--vary", "escalation,urgency")
    asked += ("--grader", "openai-api/fake/judge", *PRICES, "20")
    dry = cli_inside("run", *asked, "--dry-run", env={"COLUMNS": "200"})
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
        env = {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}
        done = cli_inside("run", *asked, "--log-dir", "logs", env=env)
        assert done.returncode == 0, done.stderr
    own = [one for one in plan.estimates if one.grades is None]
    graders = [one for one in plan.estimates if one.grades == "openai-api/fake/m"]
    for name, estimates, price_in, price_out in (("m", own, 1, 2), ("judge", graders, 10, 20)):
        sent = bytes_sent(server, name)
        assert sum(one.requests for one in estimates) == len(sent)
        tokens = sum(one.input_tokens for one in estimates)
        assert tokens == pytest.approx(sum(sent) / 4, rel=0.01)
        for one in estimates:
            took = one.input_tokens * price_in + one.output_tokens * price_out
            assert one.cost_usd == pytest.approx(took / 1e6)
    # Every row has a name of its own, in the words of its scores.
    names = [one.condition for one in own]
    assert names == [
        f"respond, {delivery}{vary}"
        for delivery in ("claimed", "history")
        for vary in ("", ", vary escalation", ", vary urgency")
    ]
    for name in names:
        assert f"grades openai-api/fake/m: {name}" in dry.stdout
        assert f"grades openai-api/fake/m: {name}" in plan.to_markdown()
        assert f"({name})" in done.stdout or f" {name} " in done.stdout
    n, graded = (sum(one.requests for one in rows) for rows in (plan.estimates, graders))
    assert f"{n} requests ({graded} of them to grade replies); nothing was sent." in dry.stdout
    assert "of it to grade replies)." in dry.stdout


def test_every_turn_of_a_script_is_graded(tmp_path: Path) -> None:
    turns = [
        {"user": text, "expect": "either", "why": "A test."}
        for text in ("How do I oil a chain?", "And how often?", "Thanks.")
    ]
    script = {"name": "talk", "title": "A talk", "turns": turns}
    (tmp_path / "script.yaml").write_text(json.dumps(script), "utf-8")
    (tmp_path / "card.yaml").write_text(SCRIPTED, "utf-8")
    card = tmp_path / "card.yaml"
    plan = cw.plan(model="openai/gpt-4o", protocol="respond", deployment=card, grader="openai/o3")
    own, grader = plan.estimates
    assert (own.requests, grader.requests) == (4, 4)
    assert (own.condition, grader.model) == ("respond, system, card card", "openai/o3")


def test_prices_that_are_not_known(cli_inside: Cli, tmp_path: Path) -> None:
    asked: tuple[str, ...] = ("-m", "openai/gpt-4o", "--protocol", "respond", "--limit", "2")
    asked += ("--dry-run",)
    asked += ("--grader", "openai-api/fake/judge", "--price-in", "1", "--price-out", "2")
    dry = cli_inside("run", *asked)
    assert "Give --grader-price-in and --grader-price-out (dollars" in " ".join(dry.stdout.split())
    dry = cli_inside("run", *asked, "--grader-price-in", "-1")
    assert dry.returncode == 2
    assert "--grader-price-in -1.0: give dollars, 0 or more" in dry.stderr
    sweep = {
        "model": ["openai-api/fake/m"],
        "protocol": ["binary", "respond"],
        "grader": {"model": "openai-api/fake/judge", "price_in": 10, "price_out": 20},
        "limit": 2,
    }
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep), "utf-8")
    dry = cli_inside("run", "sweep.yaml", "--dry-run", "--format", "json")
    judged, acted = json.loads(dry.stdout)["cells"]
    assert "grader_requests" not in judged
    assert (acted["grader_requests"], acted["cost_usd"]) == (2, None)
    took = acted["grader_input_tokens"] * 10 + acted["grader_output_tokens"] * 20
    assert acted["grader_cost_usd"] == pytest.approx(took / 1e6)
    table = cli_inside("run", "sweep.yaml", "--dry-run", "--format", "markdown").stdout
    assert "| openai-api/fake/judge | grades openai-api/fake/m: respond | 2 |" in table
