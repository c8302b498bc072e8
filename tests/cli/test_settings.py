"""Settings of a model's generation: on the wire, in the logs, and in what tells runs apart."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.fault_runs import write_questions
from support.scores import model_rows

import casewise as cw

CASES = 4
MODEL = "openai-api/fake/m"
GREEDY = {"model": "m", "max_tokens": 2048, "temperature": 0.0}
SETTING = ("--generate", "reasoning_effort=high")
BODY = {"chat_template_kwargs": {"enable_thinking": False}, "min_p": 0.1}


def answer(request: dict[str, Any]) -> Answer:
    """Who thinks hard says safe."""
    word = "safe" if request.get("reasoning_effort") == "high" else "unsafe"
    return f'{{"judgement": "{word}"}}'


def bodies(server: FakeServer) -> list[dict[str, Any]]:
    """What was sent, each once, without the prompts."""
    found = [
        {name: value for name, value in one.items() if name != "messages"}
        for one in server.requests
    ]
    return [one for place, one in enumerate(found) if one not in found[:place]]


def options(folder: Path, *more: str) -> tuple[str | Path, ...]:
    cases = write_questions(folder / "cases.jsonl", CASES)
    return (
        *("run", "-m", MODEL, "--cases", cases, "--protocol", "binary", "--log-dir", "logs"),
        *more,
    )


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}


def told(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_what_is_set_is_sent_and_recorded(cli: Cli, tmp_path: Path, client: str) -> None:
    given = (
        *(*SETTING, "--generate", "top_p=.9", "--generate", f"extra_body={json.dumps(BODY)}"),
        *("--generate", 'extra_headers={"X-Team": "safety"}', "--client", client),
    )
    with FakeServer(answer) as server:
        done = cli(*options(tmp_path, *given), env=environment(server))
        assert done.returncode == 0, done.stderr
        assert bodies(server) == [GREEDY | {"reasoning_effort": "high", "top_p": 0.9} | BODY]
    (log,) = (tmp_path / "logs").glob("*.eval")
    with ZipFile(log) as archive:
        header = json.loads(archive.read("header.json"))
    assert header["plan"]["config"]["extra_body"] == BODY
    assert header["eval"]["metadata"]["generate"] == {
        "extra_body": BODY,
        "extra_headers": {"X-Team": "safety"},
        "reasoning_effort": "high",
        "top_p": 0.9,
    }
    (variant,) = variants(tmp_path / "logs")
    first, *parts = variant.split(";")
    assert first == "greedy"
    assert [one for one in parts if not one.startswith("extra_headers")] == [
        "extra_body.chat_template_kwargs.enable_thinking=false",
        *("extra_body.min_p=0.1", "reasoning_effort=high", "top_p=0.9"),
    ]
    # What a header says stays between a person and a server.
    assert "safety" not in variant
    assert "extra_headers.X-Team=#" in variant


def variants(logs: Path) -> list[str]:
    return sorted(cw.judgements(logs)["variant"].unique())


def test_other_settings_in_one_folder_are_other_runs(cli: Cli, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        env = environment(server)
        for given in ((), SETTING, ("--generate", "reasoning_effort=low")):
            before = len(server.requests)
            done = cli(*options(tmp_path, *given), env=env)
            assert done.returncode == 0, done.stderr
            assert len(server.requests) - before == CASES
        for given in ((), SETTING):
            again = cli(*options(tmp_path, *given), env=env)
            assert f"going on: {CASES} of {CASES} were judged before" in again.stderr
        assert len(server.requests) == 3 * CASES
    assert variants(tmp_path / "logs") == [
        *("greedy", "greedy;reasoning_effort=high", "greedy;reasoning_effort=low"),
    ]
    rows = model_rows(cli("score", "logs", "--format", "json").stdout)
    assert sorted(one["safe_recall"] for one in rows) == [0, 0, 1]
    scores = cli("score", "logs", env={"COLUMNS": "120"})
    assert "binary, reasoning_effort high" in told(scores.stdout)
    card = cli("report", "logs", "--out", "card.md")
    assert card.returncode == 0, card.stderr
    text = (tmp_path / "card.md").read_text("utf-8")
    assert "| Set besides | reasoning_effort=high |" in text.replace("\\", "")


def test_a_grader_is_not_set(cli: Cli, tmp_path: Path) -> None:
    def act(request: dict[str, Any]) -> Answer:
        return "I can't help with that."

    given = ("--protocol", "respond", "--grader", "openai-api/fake/g", *SETTING)
    with FakeServer(act) as server:
        done = cli(*options(tmp_path, *given), env=environment(server))
        assert server.requests, done.stderr
        chatbot = [one for one in bodies(server) if one["model"] == "m"]
        grader = [one for one in bodies(server) if one["model"] == "g"]
    assert [one["reasoning_effort"] for one in chatbot] == ["high"]
    assert grader
    assert all("reasoning_effort" not in one for one in grader)
    assert variants(tmp_path / "logs") == ["greedy;reasoning_effort=high"]


SWEEP: dict[str, Any] = {
    "model": [
        {"model": MODEL, "name": "plain"},
        {"model": MODEL, "name": "hard", "generate": {"reasoning_effort": "high"}},
    ],
    "cases": "cases.jsonl",
    "protocol": "binary",
}


def write_sweep(folder: Path, sweep: dict[str, Any]) -> None:
    write_questions(folder / "cases.jsonl", CASES)
    (folder / "sweep.yaml").write_text(json.dumps(sweep), "utf-8")


def test_a_sweep_of_one_model_twice(cli: Cli, cli_inside: Cli, tmp_path: Path) -> None:
    lines = [{}, {"generate": {"top_p": 0.5, "reasoning_effort": "low"}}]
    write_sweep(tmp_path, SWEEP | {"grid": lines})
    plan = cli_inside("run", "sweep.yaml", "--dry-run", "--format", "json")
    assert plan.returncode == 0, plan.stderr
    cells = json.loads(plan.stdout)["cells"]
    low = "binary, reasoning_effort=low, top_p=0.5"
    assert [(one["name"], one["condition"], one["generate"]) for one in cells] == [
        ("plain", "binary", {}),
        ("plain", low, {"reasoning_effort": "low", "top_p": 0.5}),
        ("hard", "binary", {"reasoning_effort": "high"}),
        # What the model's entry says comes first.
        ("hard", low, {"reasoning_effort": "high", "top_p": 0.5}),
    ]
    with FakeServer(answer) as server:
        done = cli("run", "sweep.yaml", env=environment(server))
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 4 * CASES
        assert len(bodies(server)) == 4
    assert len(variants(tmp_path / "logs/sweep")) == 4
    # A changed setting is another run; the one before stays.
    changed = {"model": [{"model": MODEL, "name": "plain", "generate": {"top_p": 1}}]}
    write_sweep(tmp_path, SWEEP | changed)
    status = cli_inside("run", "sweep.yaml", "--status", "--format", "json")
    found = json.loads(status.stdout)
    assert [one["state"] for one in found["cells"]] == ["not begun"]
    assert any("reasoning_effort high" in one for one in found["not_in_the_file"])
