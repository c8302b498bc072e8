"""Whatever a server does, nothing is lost, doubled or invented, and every kind is counted."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import (
    Outcome,
    by_patience,
    environment,
    generate_faults,
    run_faults,
    sweep_faults,
    write_questions,
)
from support.faulty import KINDS, FaultyServer, whole
from support.secret import KEY

from casewise.evaluation import Observers, RunRequest, RunResult, make_plan, run_cells
from casewise.scores import read_paths

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = 20
FAULTS = [
    ("1", "auto"),
    pytest.param("10", "inspect", marks=pytest.mark.slow),
    pytest.param("storm", "auto", marks=pytest.mark.slow),
]
"""How often each fault comes, and the client."""

PROTOCOLS = ("binary", "score", "probability", "guard", "respond")


def check(outcomes: list[Outcome]) -> None:
    assert [problem for one in outcomes for problem in one.problems] == []
    assert all(one.failed for one in outcomes)


def unsettled(outcomes: list[Outcome], cases: int) -> list[Outcome]:
    """Those with cases that were neither judged nor filtered.

    What a stranger answered before the model had said its own name is an error of the table; a
    turn without choices is an empty answer.
    """
    return [
        one
        for one in outcomes
        if one.judged + one.refused < cases
        and one.fault != "no-choices"
        and (one.fault != "other-model" or one.judged + sum(one.errors.values()) != cases)
    ]


@pytest.mark.parametrize(("how", "client"), FAULTS)
def test_every_fault(
    cli_inside: Cli, tmp_path: Path, how: str, client: str, request: pytest.FixtureRequest
) -> None:
    if how == "1":
        request.getfixturevalue("soon_again")
    models = [f"{fault}-{how}" for fault in KINDS]
    with FaultyServer() as server:
        found = run_faults(cli_inside, tmp_path, server, models, cases=CASES, client=client)
    check(found)
    # After the second start, all is judged but what a filter stops for good.
    assert unsettled(found, CASES) == []
    assert {one.fault for one in found if one.refused} <= {"filter"}


@pytest.mark.slow
def test_every_fault_under_every_protocol(cli_inside: Cli, tmp_path: Path) -> None:
    models = [f"{fault}-10" for fault in KINDS]
    with FaultyServer() as server:
        found = run_faults(cli_inside, tmp_path, server, models, cases=4, protocols=PROTOCOLS)
    check(found)
    assert unsettled(found, 4) == []


@pytest.mark.slow
def test_every_fault_in_a_sweep_and_of_a_grader(cli_inside: Cli, tmp_path: Path) -> None:
    entries = [(f"grader-{fault}-10", "respond") for fault in KINDS]
    entries += [(f"{fault}-10", PROTOCOLS[n % 5]) for n, fault in enumerate(KINDS)]
    with FaultyServer() as server:
        found = sweep_faults(cli_inside, tmp_path, server, entries, cases=4)
    check(found)
    assert unsettled(found, 4) == []


@pytest.mark.slow
def test_every_fault_while_contexts_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request fails the first time."""
    found = []
    for patience_s, models in by_patience([f"{fault}-10" for fault in KINDS]).items():
        with FaultyServer() as server:
            for name, value in environment(server, patience_s).items():
                monkeypatch.setenv(name, value)
            found += generate_faults(tmp_path, server, models, queries=2)
    check(found)
    # What a filter stops is kept aside; all else is made.
    assert {one.fault for one in found if one.refused} == {"filter"}


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
    cli_inside: Cli, tmp_path: Path, named: list[str], verdicts: int, errors: int, requests: int
) -> None:
    """Names that a server gives a model, and whose answers are the model's."""
    path = write_questions(tmp_path / "cases.jsonl", len(named))

    def answer(request: dict[str, Any]) -> Answer:
        place = int(str(request["messages"]).split("question ")[1].split("\\n")[0])
        body = whole(request, '{"judgement": "safe"}', model=named[place])
        return Raw(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    with FakeServer(answer) as server:
        done = cli_inside(
            *("run", "-m", f"openai-api/fake{server.port}/m", "--cases", path),
            *("--protocol", "binary", "--max-connections", "1", "--log-dir", "logs"),
            env={
                f"FAKE{server.port}_API_KEY": KEY,
                f"FAKE{server.port}_BASE_URL": server.url,
            },
        )
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == requests
    table = read_paths([tmp_path / "logs"]).table
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
    told: dict[str, list[str]] = {"busy": [], "broken": []}

    def failing(status: int) -> FakeServer:
        first = threading.Event()

        def answer(request: dict[str, Any]) -> Answer:
            if first.is_set():
                return '{"explanation": "fine", "judgement": "safe"}'
            first.set()
            both.wait(60)
            return status

        return FakeServer(answer)

    def run(name: str) -> RunResult:
        folder = tmp_path / name
        folder.mkdir()
        plan = make_plan(
            RunRequest(
                model=(f"openai-api/{name}/m",),
                cases=str(write_questions(folder / "cases.jsonl", 2)),
                protocol=("binary",),
            )
        )

        def tell(model: str, what: str) -> None:
            told[name].append(model)

        return run_cells(plan.cells, folder / "logs", observers=Observers(fault=tell))

    with failing(429) as busy, failing(500) as broken, ThreadPoolExecutor(2) as pool:
        for name, server in (("busy", busy), ("broken", broken)):
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)
            monkeypatch.setenv(f"{name.upper()}_API_KEY", KEY)
        first, second = pool.map(run, ("busy", "broken"))
    assert first.complete
    assert second.complete
    assert first.summary.faults == {"openai-api/busy/m": {"rate_limited": 1}}
    assert second.summary.faults == {"openai-api/broken/m": {"server_error": 1}}
    assert told == {"busy": ["openai-api/busy/m"], "broken": ["openai-api/broken/m"]}
