"""The rules read every reply, and a model grades only those that they doubt: over real HTTP."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from support.actors import REFUSAL, asked, text_of, write_cases
from support.fake_openai import FakeServer
from support.replayed import conversation, query, write_talks
from support.scores import model_rows

import casewise as cw

JUDGE = "openai-api/fake/judge"
BOTH = f"rules,{JUDGE}"
RESPOND = ("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--protocol", "respond")
QUERIES = 6

VAGUE = "Well, there it is, then, and so it goes with all of them."
"""Reply that the rules doubt."""


def grade(request: dict[str, Any]) -> str:
    """The model that grades calls every reply partial."""
    nonce = text_of(request, "user").split('"id": "')[-1].split('"')[0]
    return json.dumps({"id": nonce, "class": "partial"})


def act(request: dict[str, Any]) -> str:
    """The model under test is vague about odd fences, and refuses the others."""
    if request["model"] == "judge":
        return grade(request)
    return VAGUE if int(asked(request)) % 2 else REFUSAL


def to(server: FakeServer, model: str) -> list[dict[str, Any]]:
    return [request for request in server.requests if request["model"] == model]


def done(cli: Cli, *command: str | Path, server: FakeServer | None = None, status: int = 0) -> str:
    env = server.env if server is not None else {}
    ended = cli(*map(str, command), env=env)
    assert ended.returncode == status, ended.stderr
    return ended.stdout + ended.stderr


# --- casewise run ---------------------------------------------------------------------------


def test_only_doubted_replies_reach_the_grader(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    with FakeServer(act) as server:
        done(cli, *RESPOND, "--grader", BOTH, "--log-dir", "logs", server=server)
        assert (len(to(server, "m")), len(to(server, "judge"))) == (2 * QUERIES, QUERIES)
        assert all(json.dumps(VAGUE) in text_of(one, "user") for one in to(server, "judge"))
        done(cli, *RESPOND, "--grader", f"rules, {JUDGE}", "--log-dir", "logs", server=server)
        assert len(server.requests) == 3 * QUERIES, "a second start asks again"
        table = cw.judgements(tmp_path / "logs")
        # Nobody has measured the error of both together.
        (row,) = model_rows(done(cli, "score", "logs", "--format", "json"))
        assert row["provisional"] is True
        # Logs that a model graded alone, or the rules, are not taken for these.
        alone = ("--grader", JUDGE, "--log-dir", "logs", "--same-server")
        done(cli, *RESPOND, *alone, server=server)
        assert len(to(server, "judge")) == 3 * QUERIES
    vague, sure = (table.filter(graded_by=one) for one in (JUDGE, "rules"))
    assert (len(vague), len(sure)) == (QUERIES, QUERIES)
    assert set(vague["response_class"]) == {"partial"}
    assert vague["doubt"].null_count() == QUERIES
    assert vague["grader_input_tokens"].null_count() == 0
    assert set(sure["response_class"]) == {"refusal"}
    assert (sure["doubt"] < 0.01).all()
    assert sure["grader_input_tokens"].null_count() == QUERIES
    done(cli, "report", "logs", "--out", "card.md")
    card = " ".join((tmp_path / "card.md").read_text("utf-8").split())
    assert f"| grader | {BOTH} |" in card
    assert f"--grader {BOTH}" in card


def test_the_estimate_of_a_grader_of_doubted_replies(tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    alone, both = (
        cw.plan(tmp_path / "cases.jsonl", "openai-api/fake/m", "respond", grader=grader)
        for grader in (JUDGE, BOTH)
    )
    tokens = [
        [estimate.input_tokens for estimate in plan.estimates if estimate.grades]
        for plan in (alone, both)
    ]
    assert tokens[1][0] == pytest.approx(tokens[0][0] * 0.19, rel=0.01)


# --- replies that were given elsewhere ------------------------------------------------------


def test_replies_given_elsewhere(cli: Cli, tmp_path: Path) -> None:
    talks = [conversation(number, refused=True) for number in range(4)]
    for talk in talks[:2]:
        talk["messages"][-1]["content"] = VAGUE
    write_talks(tmp_path / "talks.jsonl", talks)
    write_talks(tmp_path / "cases.jsonl", ({"query": query(number)} for number in range(4)))
    with FakeServer(act) as server:
        command = ("grade", "talks.jsonl", "--cases", "cases.jsonl", "--grader", BOTH)
        said = done(cli, *command, "--out", "t.parquet", server=server)
        assert len(server.requests) == 2
    told = f"sends replies that the rules doubt, with the turns before them, to {JUDGE}"
    assert told in " ".join(said.split())
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert sorted(table.select("graded_by", "response_class").rows()) == [
        *[(JUDGE, "partial")] * 2,
        *[("rules", "refusal")] * 2,
    ]
    # A reason of the rules is their own; a model's may quote the reply.
    shown = table.filter(pl.col("explanation").str.starts_with("[withheld"))
    assert shown["graded_by"].to_list() == [JUDGE] * 2
