"""Whose answers are a model's."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw, whole
from support.fault_runs import write_questions

import casewise as cw

SAFE = '{"explanation": "fine", "judgement": "safe"}'


@pytest.mark.parametrize(
    ("named", "verdicts", "errors", "requests"),
    [
        # A server with a name of its own for the model; a fallback, before and after the model.
        (["alias"] * 6, 6, 0, 6),
        # Known for another's only when the run is read: nothing is asked again.
        (["fallback", "fallback", "m", "m", "m", "m"], 4, 2, 6),
        # Asked three times more.
        ([*["m"] * 5, "fallback", *["m"] * 24], 29, 1, 33),
        (["m-2026-01-31", "m", "models/M", "m-latest", "m", "m"], 6, 0, 6),
    ],
)
@pytest.mark.usefixtures("soon_again")
def test_names_of_models(
    cli: Cli, tmp_path: Path, named: list[str], verdicts: int, errors: int, requests: int
) -> None:
    """Names that a server gives a model, and whose answers are the model's."""
    path = write_questions(tmp_path / "cases.jsonl", len(named))

    def answer(request: dict[str, Any]) -> Answer:
        place = int(str(request["messages"]).split("question ")[1].split("\\n")[0])
        body = whole(request, SAFE, model=named[place])
        return Raw(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    with FakeServer(answer) as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--cases", path, "--protocol", "binary"),
            *("--max-connections", "1", "--log-dir", "logs"),
            env=server.env,
        )
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == requests
    table = cw.judgements(tmp_path / "logs")
    assert table["verdict"].drop_nulls().to_list() == ["safe"] * verdicts
    told = table.filter(status="error")["error"].to_list()
    assert told == ["another model: the answer is by 'fallback', not by the model"] * errors
    strange = sum(name in ("alias", "fallback") for name in named)
    assert (f"{strange} another model" in done.stderr) == bool(strange)
