"""What ``casewise doctor`` finds of a machine, and says to do; keys go to their own service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import serving_thread
from support.secret import KEY
from support.starts import free_port

from casewise.errors import install_hint
from casewise.evaluation.models._smollm2 import fetch_weights

NO_PROXIES = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"), "")


def looked(cli: Cli, *options: str, **env: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and facts by part and name."""
    done = cli("doctor", *options, "--format", "json", env=NO_PROXIES | env)
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["ready"] else 1)
    assert "Traceback" not in done.stderr
    for fact in report["facts"]:
        # What is wrong or absent, and needed, always has something to be done.
        assert fact["todo"] or not fact["needed"] or fact["state"] == "ok"
    return done.returncode, {f"{one['part']}: {one['name']}": one for one in report["facts"]}


@contextmanager
def serving(status: int, body: str = "", **headers: str) -> Iterator[tuple[str, list[Any]]]:
    """A server that answers all requests alike, and keeps what they were."""
    met: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            met.append((self.path, dict(self.headers)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving_thread(server)
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", met
    finally:
        server.shutdown()
        server.server_close()


def test_a_machine_that_has_all(cli: Cli, tmp_path: Path) -> None:
    fetch_weights()
    code, facts = looked(cli)
    assert code == 0
    assert facts["versions: packages"]["state"] == "ok"
    assert facts["extras: local"]["state"] == "ok"
    assert facts["models: casewise/smollm2"]["found"].endswith("is whole")
    assert facts["places on disk: working folder"]["found"] == str(tmp_path)
    assert list(Path(facts["versions: documents"]["found"]).rglob("your-machine.md"))
    assert facts["keys and addresses: keys"]["state"] == "absent"
    assert not list(tmp_path.iterdir())
    done = cli("doctor")
    assert "The first run (casewise run) works here, offline." in done.stdout


def test_weights_that_are_absent_or_damaged(cli: Cli, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    code, facts = looked(cli, CASEWISE_CACHE=str(cache))
    assert code == 1
    model = facts["models: casewise/smollm2"]
    assert (model["state"], model["needed"]) == ("absent", True)
    assert model["todo"].startswith("casewise run fetches it")
    assert "not there yet" in facts["places on disk: cache"]["found"]
    assert not cache.exists()
    damaged = cache / "models" / fetch_weights().name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"x" * 1000)
    code, facts = looked(cli, CASEWISE_CACHE=str(cache))
    assert code == 1
    assert facts["models: casewise/smollm2"]["state"] == "wrong"
    first, wrong, *_ = cli("doctor", env={"CASEWISE_CACHE": str(cache)}).stdout.splitlines()
    assert first == "For the first run, offline, see to: casewise/smollm2."
    assert wrong.startswith(" - models, casewise/smollm2: ")


def test_a_cache_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, facts = looked(cli, CASEWISE_CACHE=str(tmp_path / "file/cache"))
    assert code == 1
    assert facts["places on disk: cache"]["state"] == "wrong"
    assert "CASEWISE_CACHE chooses it" in facts["places on disk: cache"]["todo"]


def test_extras_and_packages_that_are_missing(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By what the wheel declares, held against what is installed."""
    from importlib.metadata import requires

    declared = [*(requires("casewise") or []), "absent-package>=1", "numpy>=900"]
    declared.append("another-absent>=2; extra == 'local'")
    monkeypatch.setattr("importlib.metadata.requires", lambda _: declared)
    code, facts = looked(cli)
    assert code == 1
    assert facts["versions: absent-package"]["found"] == "not installed"
    assert facts["versions: numpy"]["found"].endswith("where >=900 is required")
    assert install_hint() in facts["versions: numpy"]["todo"]
    assert facts["extras: local"]["found"] == "another-absent not installed"
    assert install_hint("local") in facts["extras: local"]["todo"]


def test_keys_are_named_and_never_shown(cli: Cli) -> None:
    env = {
        "LOCAL_API_KEY": KEY,
        "EMPTY_API_KEY": "",
        "HF_TOKEN": f" {KEY}\n",
        "GATEWAY_BASE_URL": "https://me:hidden-password@gateway.example.org/hidden-path",
        "ODD_BASE_URL": "127.0.0.1:8000/v1",
        "UNRELATED": KEY,
    }
    for form in ("json", "table", "markdown"):
        said = cli("doctor", "--format", form, env=NO_PROXIES | env).stdout
        assert "hidden" not in said
        assert "UNRELATED" not in said
    _, facts = looked(cli, **env)
    found = {
        name.removeprefix("keys and addresses: "): (one["state"], one["found"])
        for name, one in facts.items()
        if one["part"] == "keys and addresses" and one["name"] not in NO_PROXIES
    }
    assert found == {
        "LOCAL_API_KEY": ("ok", "set"),
        "EMPTY_API_KEY": ("wrong", "set, and empty"),
        "HF_TOKEN": ("wrong", "set, with spaces around it"),
        "GATEWAY_BASE_URL": ("wrong", "gateway.example.org:443"),
        "ODD_BASE_URL": ("wrong", "no address"),
    }
    # Nothing elsewhere is asked unless a person says so.
    assert facts["models: gateway"]["found"] == "gateway.example.org:443: not asked"
    assert "--reach" in facts["models: gateway"]["todo"]


def test_a_server_on_this_machine_is_asked_without_its_key(cli: Cli) -> None:
    with serving(200, '{"data": [{"id": "a"}, {"id": "b"}]}') as (url, met):
        env = {"LOCAL_BASE_URL": url, "LOCAL_API_KEY": KEY}
        code, facts = looked(cli, **env)
        assert facts["models: local"]["state"] == "ok"
        assert facts["models: local"]["found"].endswith(", 2 models")
        looked(cli, "--reach", **env)
    assert code == 0
    (path, first), (_, second) = met
    assert path == "/v1/models"
    assert "Authorization" not in first
    assert second["Authorization"] == f"Bearer {KEY}"


def test_a_redirection_gets_no_key(cli: Cli) -> None:
    with serving(200) as (other, seen), serving(302, Location=other) as (url, met):
        _, facts = looked(cli, "--reach", LOCAL_BASE_URL=url, LOCAL_API_KEY=KEY)
    assert "elsewhere, which was not followed" in facts["models: local"]["found"]
    assert len(met) == 1
    assert not seen


def test_a_key_goes_through_no_proxy_in_the_clear(cli: Cli) -> None:
    with serving(200) as (proxy, met):
        address = proxy.removesuffix("/v1")
        env = {"FAR_BASE_URL": "http://far.invalid/v1", "FAR_API_KEY": KEY, "http_proxy": address}
        _, facts = looked(cli, "--reach", **env)
    ((path, headers),) = met
    assert path == "http://far.invalid/v1/models"
    assert KEY not in str(headers)
    assert facts["models: far"]["state"] == "ok"


def test_nobody_listens(cli: Cli) -> None:
    code, facts = looked(cli, LOCAL_BASE_URL=f"http://127.0.0.1:{free_port()}/v1")
    assert code == 0
    found = facts["models: local"]
    assert found["state"] == "wrong"
    assert "connection refused" in found["found"]
    assert "start the server, or check LOCAL_BASE_URL" in found["todo"]
