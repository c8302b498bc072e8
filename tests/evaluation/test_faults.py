"""Whose answers are a model's, and whose run a fault is of."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw, whole
from support.fault_runs import write_questions
from support.secret import KEY

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


def test_two_runs_in_one_process_count_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In threads, each with an event loop of its own; both are under way while faults come."""
    both = threading.Barrier(2)

    def failing(status: int) -> Callable[[dict[str, Any]], Answer]:
        first = threading.Event()

        def answer(request: dict[str, Any]) -> Answer:
            if first.is_set():
                return SAFE
            first.set()
            both.wait(60)
            return status

        return answer

    def faults(name: str) -> object:
        cases = write_questions(tmp_path / f"{name}.jsonl", 2)
        plan = cw.plan(cases, model=f"openai-api/{name}/m", protocol="binary")
        assert cw.run(plan, tmp_path / name).complete
        return json.loads((tmp_path / name / "faults.json").read_text())["starts"][0]["faults"]

    with (
        FakeServer(failing(429)) as busy,
        FakeServer(failing(500)) as broken,
        ThreadPoolExecutor(2) as pool,
    ):
        for name, server in (("busy", busy), ("broken", broken)):
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)
            monkeypatch.setenv(f"{name.upper()}_API_KEY", KEY)
        assert list(pool.map(faults, ("busy", "broken"))) == [
            {"openai-api/busy/m": {"rate_limited": 1}},
            {"openai-api/broken/m": {"server_error": 1}},
        ]
