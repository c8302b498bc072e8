"""Servers that can't be reached: said at once, given up soon, and met where they are only late."""

import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from conftest import clean_env
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY

from casewise.analysis import read_paths
from casewise.errors import ModelError
from casewise.evaluation import (
    GenerateRequest,
    RunRequest,
    RunResult,
    generate_contexts,
    make_plan,
    plan_generation,
    run_cells,
)

SHORT = 2.0
"""Seconds of patience, where a test need not wait for the usual."""

SAFE = '{"explanation": "fine", "judgement": "safe"}'

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def free_port() -> int:
    """A port at which nobody listens."""
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Met:
    """What was said of faults."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, model: str, what: str) -> None:
        self.lines.append(f"{model}: {what}")


def start(
    folder: Path,
    models: Mapping[str, str],
    *,
    client: str = "auto",
    patience: float = SHORT,
    met: Met | None = None,
    questions: int = 3,
    grader: str | None = None,
) -> RunResult:
    """Run models, each a service at an address."""
    for name, url in models.items():
        os.environ[f"{name.upper()}_BASE_URL"] = url
        os.environ[f"{name.upper()}_API_KEY"] = KEY
    cases = write_questions(folder / "cases.jsonl", questions)
    plan = make_plan(
        RunRequest(
            models=tuple(f"openai-api/{name}/m" for name in models if name != "judge"),
            cases=str(cases),
            protocols=("binary" if grader is None else "respond",),
            client=client,
            grader=grader,
        )
    )
    return run_cells(plan.cells, folder / "logs", tell=met, unreachable_s=patience)


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """What a test sets goes when it ends, and clients that it left are closed."""
    before = dict(os.environ)
    for name in before:
        if name.lower().endswith("_proxy"):
            del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)
    gc.collect()


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_nobody_listens(tmp_path: Path, client: str) -> None:
    port, met = free_port(), Met()
    service = f"closed{client}"
    began = time.monotonic()
    with pytest.raises(ModelError, match="given up after 2 s without any answer") as error:
        start(tmp_path, {service: f"http://127.0.0.1:{port}/v1"}, client=client, met=met)
    assert time.monotonic() - began < 30
    assert met.lines == [f"openai-api/{service}/m: connection refused at 127.0.0.1:{port}"]
    for part in (f"at 127.0.0.1:{port}.", f"{service.upper()}_BASE_URL", "--model-base-url", "up?"):
        assert part in str(error.value)


def test_a_host_that_does_not_exist(tmp_path: Path) -> None:
    met = Met()
    with pytest.raises(ModelError, match="no-such-host.invalid"):
        start(tmp_path, {"nohost": "http://no-such-host.invalid/v1"}, met=met)
    assert "host: no-such-host.invalid" in met.lines[0]


def test_a_dead_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("HTTP_PROXY", f"http://someone:{KEY}@127.0.0.1:{port}")
    with pytest.raises(ModelError) as error:
        start(tmp_path, {"proxied": "http://models.example.invalid/v1"})
    assert f"connection refused by the proxy 127.0.0.1:{port} (HTTP_PROXY)" in str(error.value)
    assert KEY not in str(error.value)


def test_no_tls_there(tmp_path: Path) -> None:
    with (
        FakeServer(lambda _: SAFE) as server,
        pytest.raises(ModelError, match="does not speak TLS"),
    ):
        start(tmp_path, {"tls": server.url.replace("http:", "https:")})


@pytest.mark.parametrize(
    "address", ["127.0.0.1:9/v1", "htp://127.0.0.1:9/v1", "http://[bad/v1", "http://h:999999/v1"]
)
def test_addresses_that_are_none(tmp_path: Path, address: str) -> None:
    """Refused before anything is sent."""
    with pytest.raises(ModelError, match="no request can be sent to the address") as error:
        start(tmp_path, {"malformed": address})
    assert "MALFORMED_BASE_URL or --model-base-url" in str(error.value)
    assert not list(tmp_path.glob("logs/*.eval"))


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    page = Raw(404, b"<html>nothing here</html>", {"Content-Type": "text/html"})
    with FakeServer(lambda _: page) as server, pytest.raises(ModelError) as error:
        start(tmp_path, {"nopath": server.url})
    assert "HTTP 404" in str(error.value)
    assert f"its address is {server.url}" in str(error.value)
    assert "--model-base-url" in str(error.value)
    assert "<html>" not in str(error.value)


def test_one_of_two_servers_is_dead(tmp_path: Path) -> None:
    with FakeServer(lambda _: SAFE) as server:
        dead = f"http://127.0.0.1:{free_port()}/v1"
        result = start(tmp_path, {"living": server.url, "dead": dead})
    assert not result.complete
    assert [line.split(":")[0] for line in result.failures] == ["openai-api/dead/m"]
    rows = read_paths([tmp_path / "logs"]).table
    assert rows.filter(model="openai-api/living/m")["status"].to_list() == ["ok"] * 3


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_a_late_server_is_met(tmp_path: Path, client: str) -> None:
    """The first requests are refused; the server starts, and is slow for longer than we wait."""
    port, service = free_port(), f"late{client}"

    def answer(request: object) -> Answer:
        time.sleep(SHORT + 4)
        return SAFE

    server = FakeServer(answer, port=port)

    def serve() -> None:
        time.sleep(1)
        server.__enter__()

    later = threading.Thread(target=serve)
    later.start()
    try:
        # Inspect asks again after some 3 s, and 6 s later.
        result = start(
            tmp_path,
            {service: f"http://127.0.0.1:{port}/v1"},
            client=client,
            patience=SHORT + 8,
            questions=2,
        )
    finally:
        later.join()
        server.__exit__()
    assert result.complete


def test_an_overloaded_server_is_alive(tmp_path: Path) -> None:
    """Longer than we wait for one that can't be reached."""
    until: list[float] = []

    def answer(request: object) -> Answer:
        until.append(time.monotonic())
        return 503 if time.monotonic() < until[0] + SHORT + 1 else SAFE

    met = Met()
    with FakeServer(answer) as server:
        result = start(tmp_path, {"busy": server.url}, met=met)
        assert result.complete
        assert met.lines == [
            f"openai-api/busy/m: HTTP 503 (server error) from 127.0.0.1:{server.port}"
        ]


def test_nothing_is_lost_when_it_is_started_again(tmp_path: Path) -> None:
    """Most cases are judged, the server goes, and comes back: only what was open is asked."""
    refuse = {"question 7"}

    def answer(request: dict[str, object]) -> Answer:
        return 400 if any(one in str(request["messages"]) for one in refuse) else SAFE

    port = free_port()
    with FakeServer(answer, port=port) as server:
        assert not start(tmp_path, {"gone": server.url}, questions=8).complete
    with pytest.raises(ModelError, match="given up"):
        start(tmp_path, {"gone": server.url}, questions=8)
    refuse.clear()
    with FakeServer(answer, port=port) as server:
        assert start(tmp_path, {"gone": server.url}, questions=8).complete
        asked = len(server.requests)
    table = read_paths([tmp_path / "logs"]).table
    assert table["status"].to_list() == ["ok"] * 8
    assert asked <= 2


def test_few_open_cases_stay_open(tmp_path: Path) -> None:
    """Fewer than stop a task: a log that holds them is not taken for done."""
    fails = {"question 39"}

    def answer(request: dict[str, object]) -> Answer:
        return 400 if any(one in str(request["messages"]) for one in fails) else SAFE

    ports = free_port(), free_port()
    most, never = (f"http://127.0.0.1:{port}/v1" for port in ports)
    with FakeServer(answer, port=ports[0]):
        result = start(tmp_path, {"most": most, "never": never}, questions=40)
    assert not result.complete
    fails.clear()
    with FakeServer(answer, port=ports[0]), FakeServer(answer, port=ports[1]):
        assert start(tmp_path, {"most": most, "never": never}, questions=40).complete
    assert read_paths([tmp_path / "logs"]).table["status"].to_list() == ["ok"] * 80


def test_a_dead_grader(tmp_path: Path) -> None:
    """The replies are there for the next start."""
    with FakeServer(lambda _: "Sure, here are the steps: measure, then cut.") as server:
        dead = f"http://127.0.0.1:{free_port()}/v1"
        with pytest.raises(ModelError, match="openai-api/judge/m: given up"):
            start(
                tmp_path,
                {"actor": server.url, "judge": dead},
                grader="openai-api/judge/m",
            )
        # Nothing more was asked once the grader was given up.
        assert len(server.requests) == 3


def test_contexts_for_which_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRITER_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")
    monkeypatch.setenv("WRITER_API_KEY", KEY)
    (tmp_path / "q.txt").write_text("Who waters the garden?\n", "utf-8")
    request = GenerateRequest(
        queries=tmp_path / "q.txt", out=tmp_path / "c.jsonl", model="openai-api/writer/m"
    )
    met = Met()
    with pytest.raises(ModelError, match="given up after 2 s"):
        generate_contexts(plan_generation(request), lambda _: None, met, SHORT)
    assert len(met.lines) == 1
    assert "connection refused" in met.lines[0]


def test_the_command_ends_in_half_a_minute(tmp_path: Path) -> None:
    """A real process, and the real limit: the first fault at once, the end in time."""
    cases = write_questions(tmp_path / "cases.jsonl", 3)
    port = free_port()
    local = {"LOCAL_BASE_URL": f"http://127.0.0.1:{port}/v1", "LOCAL_API_KEY": KEY}
    command = [sys.executable, "-m", "casewise", "run", "-m", "openai-api/local/m"]
    command += ["--cases", str(cases), "--protocol", "binary", "--log-dir", "logs"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=clean_env() | local, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append((time.monotonic(), line))
        assert process.wait(timeout=240) == 2
    (first,) = (at for at, line in lines if "connection refused at" in line and "only" in line)
    (last,) = (at for at, line in lines if "given up after 30 s" in line)
    assert 25 < last - first < 90
    assert json.loads((tmp_path / "logs" / "faults.json").read_text())["starts"][0]["faults"]
