"""Servers that can't be reached: said at once, given up soon, and met where they are only late."""

import gc
import json
import os
import re
import resource
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.certificates import TlsServer, write_certificate
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY
from support.starts import free_port, nobody_at

from casewise.errors import ModelError
from casewise.evaluation import (
    GenerateRequest,
    Observers,
    RunRequest,
    RunResult,
    generate_contexts,
    make_plan,
    plan_generation,
    run_cells,
)
from casewise.evaluation.models._reachability import UNREACHABLE_S
from casewise.scores import read_paths

SHORT = 1.0
"""Seconds of patience, where a test need not wait for the usual."""


SAFE = '{"explanation": "fine", "judgement": "safe"}'

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


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
    outages: Met | None = None,
    connections: int | None = None,
) -> RunResult:
    """Run models, each a service at an address."""
    for name, url in models.items():
        os.environ[f"{name.upper()}_BASE_URL"] = url
        os.environ[f"{name.upper()}_API_KEY"] = KEY
    cases = write_questions(folder / "cases.jsonl", questions)
    plan = make_plan(
        RunRequest(
            model=tuple(f"openai-api/{name}/m" for name in models if name != "judge"),
            cases=str(cases),
            protocol=("binary" if grader is None else "respond",),
            client=client,
            grader=grader,
            max_connections=connections,
        )
    )
    observers = Observers(fault=met, outage=outages)
    return run_cells(plan.cells, folder / "logs", observers=observers, unreachable_s=patience)


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
    with pytest.raises(ModelError, match="given up after 1 s without any answer") as error:
        start(tmp_path, {service: f"http://127.0.0.1:{port}/v1"}, client=client, met=met)
    assert time.monotonic() - began < 30
    assert met.lines == [f"openai-api/{service}/m: connection refused at 127.0.0.1:{port}"]
    for part in (f"at 127.0.0.1:{port}.", f"{service.upper()}_BASE_URL", "--model-base-url", "up?"):
        assert part in str(error.value)


def test_a_host_that_does_not_exist(tmp_path: Path) -> None:
    met = Met()
    with pytest.raises(ModelError, match=r"no-such-host\.invalid"):
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


@pytest.mark.parametrize("client", ["auto", "inspect"])
@pytest.mark.parametrize(
    ("certificate", "trusted", "said"),
    [
        ({}, False, ("self-signed certificate", "SSL_CERT_FILE")),
        ({"days": -1}, True, ("certificate has expired", "renewed")),
        ({"address": "127.0.0.2"}, True, ("IP address mismatch", "write the address")),
    ],
    ids=["untrusted", "expired", "other-host"],
)
def test_a_certificate_that_is_refused(
    tmp_path: Path,
    client: str,
    certificate: dict[str, Any],
    trusted: bool,
    said: tuple[str, str],
) -> None:
    # A service of its own: within a process, Inspect opens a model once.
    met, name = Met(), f"tls{len(said[1])}{client}"
    file = write_certificate(tmp_path / "server.pem", **certificate)
    if trusted:
        os.environ["SSL_CERT_FILE"] = str(file)
    with TlsServer(lambda _: SAFE, certificate=file) as server, pytest.raises(ModelError) as error:
        start(tmp_path, {name: server.url}, client=client, met=met)
    (line,) = met.lines
    assert f"the certificate of 127.0.0.1:{server.port} is not trusted (" in line
    for part in said:
        assert part in line
        assert part in str(error.value)
    assert "given up after" not in str(error.value)
    assert server.requests == []


def test_an_authority_that_is_named_is_trusted(tmp_path: Path) -> None:
    file = write_certificate(tmp_path / "server.pem")
    os.environ["SSL_CERT_FILE"] = str(file)
    with TlsServer(lambda _: SAFE, certificate=file) as server:
        start(tmp_path, {"company": server.url})
    assert len(server.requests) == 3


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_a_small_reply_that_unpacks_to_half_a_gigabyte(
    tmp_path: Path, client: str, soon_again: None
) -> None:
    """Its case alone is lost, and no more than a part of it is ever unpacked."""
    packer = zlib.compressobj(wbits=31)
    zeros = bytes(1 << 20)
    bomb = b"".join(packer.compress(zeros) for _ in range(512)) + packer.flush()
    kinds = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    def answer(request: dict[str, Any]) -> Answer:
        is_first = request["messages"][-1]["content"] == server.prompts[0]
        return Raw(200, bomb, kinds) if is_first else SAFE

    met = Met()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with FakeServer(answer) as server:
        models = {f"bomb{client}": server.url}
        result = start(tmp_path, models, client=client, met=met, questions=24)
        assert len(server.requests) == 24
    more_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert met.lines == [f"openai-api/bomb{client}/m: answer too long from 127.0.0.1:{server.port}"]
    table = read_paths([Path(log) for log in result.logs]).table
    assert sorted(table["status"].to_list()) == ["error", *["ok"] * 23], table
    assert more_kib < 300_000


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


def test_an_overloaded_server_is_alive(tmp_path: Path, soon_again: None) -> None:
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
    # The last one, and one after the other: a start ends early at one error in twenty cases.
    refuse = {"question 7"}

    def answer(request: dict[str, object]) -> Answer:
        return 400 if any(one in str(request["messages"]) for one in refuse) else SAFE

    port = free_port()
    with FakeServer(answer, port=port) as server:
        assert not start(tmp_path, {"gone": server.url}, questions=8, connections=1).complete
    with nobody_at(port), pytest.raises(ModelError, match="given up"):
        start(tmp_path, {"gone": server.url}, questions=8, connections=1)
    refuse.clear()
    with FakeServer(answer, port=port) as server:
        assert start(tmp_path, {"gone": server.url}, questions=8, connections=1).complete
        asked = len(server.requests)
    table = read_paths([tmp_path / "logs"]).table
    assert table["status"].to_list() == ["ok"] * 8
    assert asked <= 2


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
    (tmp_path / "q.jsonl").write_text('{"query": "Who waters the garden?"}', "utf-8")
    request = GenerateRequest(
        queries=tmp_path / "q.jsonl", out=tmp_path / "c.jsonl", model="openai-api/writer/m"
    )
    met = Met()
    with pytest.raises(ModelError, match="given up after 1 s"):
        generate_contexts(plan_generation(request), lambda _: None, Observers(fault=met), SHORT)
    assert len(met.lines) == 1
    assert "connection refused" in met.lines[0]


def test_the_command_gives_up(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With less patience than it has."""
    usual = run_cells.__kwdefaults__
    assert usual is not None
    assert usual["unreachable_s"] == UNREACHABLE_S
    monkeypatch.setitem(usual, "unreachable_s", SHORT)
    cases = write_questions(tmp_path / "cases.jsonl", 3)
    local = {"LOCAL_BASE_URL": f"http://127.0.0.1:{free_port()}/v1", "LOCAL_API_KEY": KEY}
    command = ("run", "-m", "openai-api/local/m", "--cases", cases, "--protocol", "binary")
    done = cli_inside(*command, "--log-dir", "logs", env=local)
    assert done.returncode == 2
    first, last = (done.stderr.find(one) for one in ("connection refused at", "given up after 1 s"))
    assert 0 <= first < last
    assert json.loads((tmp_path / "logs" / "faults.json").read_text())["starts"][0]["faults"]


class Leaving:
    """A server that answers a few requests, is gone for a while, and comes back."""

    def __init__(self, answers: int) -> None:
        self.left = answers
        self.gone, self.back = threading.Event(), threading.Event()
        self.server = FakeServer(self.answer)
        self.lock = threading.Lock()

    def answer(self, request: object) -> Answer:
        with self.lock:
            self.left -= 1
            if self.left >= 0 or self.back.is_set():
                return SAFE
        self.gone.set()
        return Raw(None)

    def leave_until(self, told: threading.Event) -> None:
        """Close the port, and open it again once something was told."""
        assert self.gone.wait(60)
        self.server.__exit__()
        assert told.wait(60)
        self.back.set()
        self.server.__enter__()


class Outages(Met):
    """What was said of outages, and that something was."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def __call__(self, model: str, what: str) -> None:
        super().__call__(model, what)
        self.told.set()


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_an_outage_is_told_once_and_its_end(
    tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch, soon_again: None
) -> None:
    monkeypatch.setattr("casewise.evaluation.models._reachability.OUTAGE_S", 1.0)
    leaving, outages, met, service = Leaving(3), Outages(), Met(), f"leaves{client}"
    with leaving.server as server:
        away = threading.Thread(target=leaving.leave_until, args=[outages.told])
        away.start()
        result = start(
            tmp_path, {service: server.url}, client=client, met=met, outages=outages, questions=12
        )
        away.join()
    assert result.complete
    clock = r"\d\d:\d\d:\d\d"
    reason = f"connection (refused at|closed by) 127.0.0.1:{server.port}( before an answer)?"
    begun, ended = outages.lines
    assert re.fullmatch(
        rf"openai-api/{service}/m: no connection to {server.url} since {clock} \({reason}\); "
        "its requests wait, and are sent again until it answers",
        begun,
    )
    assert re.fullmatch(
        rf"openai-api/{service}/m: answers again, after \d+ s without a connection "
        rf"\(since {clock}\)",
        ended,
    )
    assert re.findall(clock, begun) == re.findall(clock, ended)
    assert len(met.lines) == 1


def test_cut_connections_are_no_outage(tmp_path: Path) -> None:
    """The next attempt is answered within seconds."""
    cut: set[str] = set()

    def answer(request: dict[str, object]) -> Answer:
        question = str(request["messages"])
        if "question 1" not in question or question in cut:
            return SAFE
        cut.add(question)
        return Raw(None)

    outages = Outages()
    with FakeServer(answer) as server:
        assert start(tmp_path, {"cutting": server.url}, outages=outages, questions=12).complete
    assert cut
    assert outages.lines == []


def dry(cli_inside: Cli, *options: str, env: dict[str, str] | None = None) -> str:
    """What a dry run says of models that can't be asked."""
    done = cli_inside("run", *options, "--protocol", "binary", "--dry-run", env=env)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_a_dry_run_tells_of_names_and_addresses(cli_inside: Cli, tmp_path: Path) -> None:
    key = {"LOCAL_API_KEY": KEY}
    local = ("-m", "openai-api/local/m")
    assert "which provider? Write openai/gpt-4o" in dry(cli_inside, "-m", "gpt-4o")
    assert "nowhere/m: Model API nowhere" in dry(cli_inside, "-m", "nowhere/m", *local)
    assert "m: which provider?" in dry(cli_inside, "-m", "nowhere/m", "-m", "m", *local)
    said = dry(cli_inside, *local, "--model-base-url", "127.0.0.1:9/v1")
    assert "no request can be sent to the address '127.0.0.1:9/v1'" in said
    assert "--model-base-url" in dry(
        cli_inside, "-m", "vllm/Qwen/Qwen3-8B", "--model-base-url", "htp://127.0.0.1:9/v1"
    )
    said = dry(cli_inside, *local, env=key | {"LOCAL_BASE_URL": "htp://h"})
    assert "check LOCAL_BASE_URL" in said
    (tmp_path / "sweep.yaml").write_text(
        "name: s\nmodel: [nowhere/m, nowhere/n]\ngrid: [{protocol: [binary]}]\n", "utf-8"
    )
    done = cli_inside("run", "sweep.yaml", "--dry-run")
    assert done.returncode == 2
    assert "nowhere/m: Model API" in done.stderr
    assert "nowhere/n: Model API" in done.stderr
    (tmp_path / "q.jsonl").write_text('{"query": "Who waters the garden?"}', "utf-8")
    given = ("q.jsonl", "--out", "c.jsonl", "-m", "nowhere/m", "--dry-run")
    done = cli_inside("contexts", "generate", *given)
    assert (done.returncode, "nowhere/m: Model API" in done.stderr) == (2, True)


def test_a_dry_run_needs_no_key(cli_inside: Cli) -> None:
    done = cli_inside("run", "-m", "openai-api/local/m", "--protocol", "binary", "--dry-run")
    assert done.returncode == 0
    assert "a run would end here: openai-api/local/m: " in done.stderr
    assert "LOCAL_API_KEY" in done.stderr
    assert "nothing was sent" in done.stdout


def test_a_dry_run_connects_to_the_proxy_and_to_nothing_else(cli_inside: Cli) -> None:
    given = {"LOCAL_API_KEY": KEY, "LOCAL_BASE_URL": "http://models.example.invalid/v1"}
    options = ("run", "-m", "openai-api/local/m", "--protocol", "binary", "--dry-run")
    with FakeServer(lambda _: SAFE) as proxy:
        alive = {"http_proxy": f"http://someone:{KEY}@127.0.0.1:{proxy.port}"}
        assert cli_inside(*options, env=given | alive).returncode == 0
        there = {"LOCAL_BASE_URL": proxy.url}
        assert cli_inside(*options, env=given | there).returncode == 0
        assert proxy.requests == []
    said = dry(cli_inside, *options[1:3], env=given | alive)
    assert f"connection refused by the proxy 127.0.0.1:{proxy.port} (http_proxy)" in said
    assert "Check http_proxy" in said
    # The server itself may start later: what is on the way to it is not asked.
    assert cli_inside(*options, env=given | there).returncode == 0
    said = dry(cli_inside, *options[1:3], env=given | {"http_proxy": "http://no-such.invalid:1"})
    assert "no such host: no-such.invalid, the proxy that http_proxy names" in said
