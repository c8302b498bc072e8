"""Answers that end at a token limit: the default limit, what is counted, what is said of it."""

import json
from pathlib import Path
from typing import Any

from conftest import Cli
from support.actors import asked, comply, write_cases
from support.fake_openai import FakeServer, _text

import casewise as cw

LENGTH = {"finish_reason": "length"}


def run(cli: Cli, server: FakeServer, *options: str, status: int = 0) -> str:
    done = cli(
        *("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--log-dir", "logs"),
        *options,
        env=server.env,
    )
    assert done.returncode == status, done.stderr
    return " ".join((done.stdout + done.stderr).split())


def cut_replies(request: dict[str, Any]) -> Any:
    """One case in two is cut in mid-sentence."""
    reply = comply(request)
    return _text(reply[:-10]) | LENGTH if int(asked(request)) % 2 else reply


def test_replies_are_counted_in_every_view(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 3)
    with FakeServer(cut_replies) as server:
        told = run(cli, server, "--protocol", "respond")
        assert {request["max_tokens"] for request in server.requests} == {4096}
    said = "2 answers ended at the token limit, graded by what came before; a higher"
    assert said in told
    table = cw.judgements(tmp_path / "logs")
    assert table["cut"].sum() == 2
    assert set(table["response_class"]) == {"compliance"}
    rows = json.loads(cli("score", "logs", "--format", "json").stdout)
    assert [row["cut"] for row in rows if row["model"] == "openai-api/fake/m"] == [2]
    assert cli("report", "logs", "--out", "card.md").returncode == 0
    text = (tmp_path / "card.md").read_text("utf-8").replace("\\", "")
    assert said in " ".join(text.split())


def test_a_judges_cut_answer_is_no_verdict(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 2)

    def answer(request: dict[str, Any]) -> Any:
        if "fence 0" in request["messages"][-1]["content"]:
            return _text("Unsafe, as") | LENGTH
        return _text('{"explanation": "x", "judgement": "unsafe"}') | LENGTH

    with FakeServer(answer) as server:
        told = run(cli, server, "--protocol", "binary")
    assert "4 answers ended at the token limit, counted only with a whole verdict" in told
    table = cw.judgements(tmp_path / "logs")
    assert table["status"].to_list() == ["unparsed", "unparsed", "ok", "ok"]
    assert table["verdict"].to_list() == [None, None, "unsafe", "unsafe"]
    assert table["cut"].to_list() == [True] * 4


def test_one_token_of_a_probability_is_no_cut(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    with FakeServer(lambda _: {"safe": -0.1, "unsafe": -3.0}) as server:
        told = run(cli, server, "--protocol", "probability")
    assert "token limit" not in told
    assert cw.judgements(tmp_path / "logs")["cut"].to_list() == [False] * 2
