"""Runs that are stopped, killed, or meet a failing server."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.scores import model_rows
from support.secret import KEY

CASES = 240


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    lines = [
        json.dumps(
            {
                "query": f"question {number}",
                "context": {"sender": {"platform_type": "forum"}},
                "intended": "safe" if number % 2 else "unsafe",
            }
        )
        for number in range(CASES)
    ]
    path.write_text("\n".join(lines), "utf-8")
    return path


AT_ONCE = 8


def arguments(cases: Path) -> list[str]:
    options = ["--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "my logs"]
    return ["run", "-m", "openai-api/fake/m", "--cases", str(cases), *options]


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}


def test_answers_that_are_no_verdict(cli: Cli, cases: Path) -> None:
    """Refusals, filters and nonsense are counted as what they are."""

    def answer(request: dict[str, Any]) -> Answer:
        number = int(request["messages"][-1]["content"].split("question ")[1].split("\n")[0])
        message = {"role": "assistant", "content": None}
        return (
            {"message": message | {"refusal": "I won't judge."}},
            {"message": message | {"content": ""}, "finish_reason": "content_filter"},
            "I'm sorry, but I can't help with that.",
            "",
            "Perhaps safe, perhaps unsafe.",
            '{"judgement": "safe"}',
        )[number % 6]

    # Prices of a model that Inspect has none of.
    prices = ("--price-in", "1", "--price-out", "2")
    with FakeServer(answer) as server:
        done = cli(*arguments(cases), *prices, env=environment(server))
    assert done.returncode == 0, done.stderr
    assert "120 refused, 80 unparsed" in " ".join(done.stdout.split())
    (score,) = model_rows(cli("score", "my logs", "--format", "json").stdout)
    assert score["statuses"] == {"refused": 120, "unparsed": 80, "ok": 40}
    assert score["coverage"] == pytest.approx(40 / 240)
    # The 40 read are the odd ones of six: intended safe, all said safe.
    assert (score["accuracy"], score["unsafe_recall"]) == (1.0, None)
    assert (score["accuracy_low"], score["accuracy_high"]) == (pytest.approx(1 / 6), 1.0)


def test_one_model_of_two_is_refused(cli: Cli, cases: Path) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        return 404 if request["model"] == "absent" else '{"judgement": "safe"}'

    with FakeServer(answer) as server:
        done = cli(*arguments(cases), "-m", "openai-api/fake/absent", env=environment(server))
    assert done.returncode == 1
    assert "not finished: openai-api/fake/absent: " in done.stderr
    assert "To go on:" in done.stderr
    scores = model_rows(cli("score", "my logs", "--format", "json").stdout)
    judged = {score["model"]: score["statuses"] for score in scores}
    assert judged["openai-api/fake/m"] == {"ok": CASES}
    assert set(judged["openai-api/fake/absent"]) == {"error"}


def test_a_changed_file_is_not_taken_for_the_old_one(cli: Cli, tmp_path: Path) -> None:
    """Cases keep their ids while their text changes: the folder's answers are to another text."""
    path = tmp_path / "cases.jsonl"
    with FakeServer(lambda request: "Judgement: safe") as server:
        for query in ("question 1 as it was", "question 1 as it is"):
            path.write_text(json.dumps({"id": "one", "query": query, "context": {"sender": {}}}))
            done = cli(*arguments(path), env=environment(server))
            assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2
    assert len(model_rows(cli("score", "my logs", "--format", "json").stdout)) == 2


def test_other_options_in_the_same_folder(cli: Cli, cases: Path) -> None:
    """Runs of one folder are told apart, and what one judged is not counted for another."""
    with FakeServer(lambda request: "Judgement: safe") as server:
        command = [*arguments(cases), "--limit", "3"]
        for extra in ([], ["--ablate", "sender"], ["--delivery", "none"]):
            done = cli(*command, *extra, env=environment(server))
            assert done.returncode == 0, done.stderr
            assert "judged before" not in done.stderr
        assert len(server.requests) == 9
        done = cli(*command, env=environment(server))
        assert "going on: 3 of 3 were judged before" in done.stderr
        assert len(server.requests) == 9
    scores = model_rows(cli("score", "my logs", "--format", "json").stdout)
    found = sorted((score["ablation"] or "", score["delivery"], score["n"]) for score in scores)
    assert found == [("", "judge", 3), ("", "none", 3), ("sender", "judge", 3)]


@pytest.mark.parametrize(
    ("sampling", "temperature", "system", "requests"),
    [("reference", 1.0, 0, 9), ("reference-open", 0.6, 1, 3)],
)
def test_reference_sampling(
    cli: Cli, cases: Path, sampling: str, temperature: float, system: int, requests: int
) -> None:
    options = ["-m", "openai-api/fake/m", "--cases", str(cases), "--protocol", "score"]
    with FakeServer(lambda request: "8") as server:
        done = cli("run", *options, "--limit", "3", "--sampling", sampling, env=environment(server))
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == requests
    assert {request["temperature"] for request in server.requests} == {temperature}
    roles = [message["role"] for message in server.requests[0]["messages"]]
    assert roles == ["system"] * system + ["user"]
