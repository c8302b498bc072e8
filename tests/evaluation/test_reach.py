"""Servers that can't be reached: said at once, given up soon, and met where they are only late."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.certificates import TlsServer, write_certificate
from support.fake_openai import FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY

SAFE = '{"explanation": "fine", "judgement": "safe"}'
MODEL = "openai-api/fake/m"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who can't be reached is given up after a fifth of a second."""
    monkeypatch.setattr("casewise.models.patience.UNREACHABLE_S", 0.2)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def run(
    cli: Cli,
    folder: Path,
    url: str,
    *more: str,
    status: int = 2,
    questions: int = 3,
    protocol: str = "binary",
    env: dict[str, str] | None = None,
) -> str:
    """What a run against an address says."""
    cases = write_questions(folder / "cases.jsonl", questions)
    done = cli(
        *("run", "-m", MODEL, "--cases", str(cases), "--protocol", protocol, *more),
        *("--log-dir", "logs"),
        env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": url, **(env or {})},
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which nobody listens, and which nobody else is given meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_nobody_listens(cli: Cli, tmp_path: Path, port: int) -> None:
    said = run(cli, tmp_path, f"http://127.0.0.1:{port}/v1")
    assert f"{MODEL}: connection refused at 127.0.0.1:{port}" in said
    _, last = said.split("error: ")
    assert "given up after" in last
    for part in (f"at 127.0.0.1:{port}.", "FAKE_BASE_URL", "--model-base-url", "up?"):
        assert part in last


def test_places_where_nobody_is(cli: Cli, tmp_path: Path, port: int) -> None:
    said = run(cli, tmp_path, "http://no-such-host.invalid/v1")
    assert "host: no-such-host.invalid" in said
    proxy = f"http://someone:{KEY}@127.0.0.1:{port}"
    said = run(cli, tmp_path, "http://models.example.invalid/v1", env={"HTTP_PROXY": proxy})
    assert (
        f"connection refused at models.example.invalid:80 through the proxy 127.0.0.1:{port}"
        in said
    )
    with FakeServer(lambda _: SAFE) as server:
        said = run(cli, tmp_path, server.url.replace("http:", "https:"))
    assert "does not speak TLS" in said
    page = Raw(404, b"<html>nothing here</html>", {"Content-Type": "text/html"})
    with FakeServer(lambda _: page) as server:
        said = run(cli, tmp_path, server.url)
    assert "HTTP 404" in said
    assert f"its address is {server.url}" in said
    assert "<html>" not in said


@pytest.mark.parametrize(
    ("certificate", "trusted", "parts"),
    [
        ({}, False, ("self-signed certificate", "SSL_CERT_FILE")),
        ({"days": -1}, True, ("certificate has expired", "renewed")),
        ({"address": "127.0.0.2"}, True, ("IP address mismatch", "correct the address")),
        ({}, True, ()),
    ],
    ids=["untrusted", "expired", "other-host", "trusted"],
)
def test_certificates(
    cli: Cli,
    tmp_path: Path,
    certificate: dict[str, Any],
    trusted: bool,
    parts: tuple[str, ...],
) -> None:
    file = write_certificate(tmp_path / "server.pem", **certificate)
    trust = {"SSL_CERT_FILE": str(file)} if trusted else {}
    with TlsServer(lambda _: SAFE, certificate=file) as server:
        status = 2 if parts else 0
        said = run(cli, tmp_path, server.url, status=status, env=trust)
        assert len(server.requests) == (0 if parts else 3)
    assert (f"the certificate of 127.0.0.1:{server.port} is not trusted (" in said) == bool(parts)
    assert all(part in said for part in parts)
    assert "given up after" not in said


def test_a_dead_grader(cli: Cli, tmp_path: Path, port: int) -> None:
    """Nothing more is asked once the grader is given up."""
    dead = {"JUDGE_BASE_URL": f"http://127.0.0.1:{port}/v1", "JUDGE_API_KEY": KEY}
    with FakeServer(lambda _: "Sure, here are the steps: measure, then cut.") as server:
        grader = ("--grader", "openai-api/judge/m")
        told = run(cli, tmp_path, server.url, *grader, protocol="respond", env=dead)
        assert "openai-api/judge/m: given up" in told
        assert len(server.requests) <= 3


def dry(cli: Cli, *options: str, env: dict[str, str] | None = None) -> str:
    """What a dry run says of models that can't be asked."""
    done = cli("run", *options, "--protocol", "binary", "--dry-run", env=env)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    return done.stderr


def test_a_dry_run_tells_of_names_and_addresses(cli: Cli) -> None:
    local = ("-m", MODEL)
    assert "which provider? Write PROVIDER/gpt-4o, such as openai/gpt-4o" in dry(
        cli, "-m", "gpt-4o"
    )
    assert "nowhere/m: no provider 'nowhere': a server that speaks" in dry(
        cli, "-m", "nowhere/m", *local
    )
    assert "fake: write openai-api/SERVICE/MODEL" in dry(cli, "-m", "openai-api/fake")
    for address in ("127.0.0.1:9/v1", "htp://127.0.0.1:9/v1", "http://[bad/v1", "http://h:999999"):
        said = dry(cli, *local, "--model-base-url", address)
        assert f"no request can be sent to the address '{address}'" in said
        assert "--model-base-url" in said
    said = dry(cli, *local, env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": "htp://h"})
    assert "check FAKE_BASE_URL" in said


def test_a_file_of_certificates_that_cannot_be_used(cli: Cli, tmp_path: Path) -> None:
    trust = {"SSL_CERT_FILE": str(tmp_path / "absent.pem"), "OPENAI_API_KEY": KEY}
    said = run(cli, tmp_path, "https://127.0.0.1:9/v1", env=trust)
    assert "absent.pem: no certificates (No such file or directory)" in said
    assert "absent.pem: no certificates" in dry(cli, "-m", "openai/gpt-4o", env=trust)


def test_a_dry_run_loads_no_weights_and_starts_no_server(cli: Cli) -> None:
    done = cli("run", "-m", "sglang/m", "-m", "vllm/m", "--protocol", "binary", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "server" not in done.stdout + done.stderr


def test_a_dry_run_names_a_package_that_is_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    env = {"ANTHROPIC_API_KEY": KEY}
    command = ("run", "-m", "anthropic/claude-x", "--protocol", "binary")
    done = cli(*command, "--dry-run", env=env)
    said = " ".join(done.stderr.split())
    assert done.returncode == 0, said
    assert "note: a run would end here: anthropic/claude-x: " in said
    assert "pip install anthropic" in said
