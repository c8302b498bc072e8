"""Settings of a model's generation: on the wire, in the logs, and in what tells runs apart."""

import json
import re
from pathlib import Path
from typing import Any

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
        {name: value for name, value in request.items() if name != "messages"}
        for request in server.requests
    ]
    return [one for place, one in enumerate(found) if one not in found[:place]]


def options(folder: Path, *more: str) -> tuple[str | Path, ...]:
    cases = write_questions(folder / "cases.jsonl", CASES)
    return (
        *("run", "-m", MODEL, "--cases", cases, "--protocol", "binary", "--log-dir", "logs"),
        *more,
    )


def test_what_is_set_is_sent_and_recorded(cli: Cli, tmp_path: Path) -> None:
    given = (
        *(*SETTING, "--generate", "top_p=.9", "--generate", f"extra_body={json.dumps(BODY)}"),
        *("--generate", 'extra_headers={"X-Team": "safety"}'),
    )
    with FakeServer(answer) as server:
        cli.ok(*options(tmp_path, *given), env=server.env)
        assert bodies(server) == [GREEDY | {"reasoning_effort": "high", "top_p": 0.9} | BODY]
    (variant,) = variants(tmp_path / "logs")
    # What a header says stays between a person and a server.
    assert [re.sub("#.*", "#", part) for part in variant.split(";")] == [
        *("greedy", "extra_body=#", "extra_headers=#", "reasoning_effort=high", "top_p=0.9"),
    ]


def variants(logs: Path) -> list[str]:
    return sorted(cw.judgements(logs)["variant"].unique())


def test_other_settings_in_one_folder_are_other_runs(cli: Cli, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        env = server.env
        for given in ((), SETTING, ("--generate", "reasoning_effort=low")):
            before = len(server.requests)
            cli.ok(*options(tmp_path, *given), env=env)
            assert len(server.requests) - before == CASES
        for given in ((), SETTING):
            again = cli(*options(tmp_path, *given), env=env)
            assert f"going on: {CASES} of {CASES} were judged before" in again.stderr
        assert len(server.requests) == 3 * CASES
    assert variants(tmp_path / "logs") == [
        *("greedy", "greedy;reasoning_effort=high", "greedy;reasoning_effort=low"),
    ]
    rows = model_rows(cli("score", "logs", "--format", "json").stdout)
    assert sorted(row["safe_recall"] for row in rows) == [0, 0, 1]
