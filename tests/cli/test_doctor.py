"""What ``casewise doctor`` finds of a machine, and says to do; keys go to their own service."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.bots import BotServer
from support.fake_openai import Raw
from support.secret import KEY
from support.weights import weights

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


def serving(status: int, body: str = "", **headers: str) -> BotServer:
    return BotServer(lambda _: Raw(status, body.encode(), headers))


def test_a_machine_that_has_all(cli: Cli, tmp_path: Path) -> None:
    weights()
    code, facts = looked(cli)
    assert code == 0
    assert facts["models: casewise/smollm2"]["found"].endswith("is whole")
    assert facts["places on disk: working folder"]["found"] == str(tmp_path)
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
    assert not cache.exists()
    damaged = cache / "models" / weights().name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"x" * 1000)
    _, facts = looked(cli, CASEWISE_CACHE=str(cache))
    assert facts["models: casewise/smollm2"]["state"] == "wrong"
    shown = cli("doctor", env={"CASEWISE_CACHE": str(cache)}).stdout
    assert shown.startswith("For the first run, offline, see to: casewise/smollm2.\n")


def test_a_cache_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, facts = looked(cli, CASEWISE_CACHE=str(tmp_path / "file/cache"))
    assert code == 1
    assert facts["places on disk: cache"]["state"] == "wrong"


def test_extras_and_packages_that_are_missing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the wheel declares, held against what is installed."""
    from importlib.metadata import requires

    declared = [*(requires("casewise") or []), "absent-package>=1", "numpy>=900"]
    declared.append("another-absent>=2; extra == 'local'")
    monkeypatch.setattr("importlib.metadata.requires", lambda _: declared)
    code, facts = looked(cli)
    assert code == 1
    assert facts["versions: absent-package"]["found"] == "not installed"
    assert facts["versions: numpy"]["found"].endswith("where >=900 is required")
    assert facts["extras: local"]["found"] == "another-absent not installed"
    assert "pip install '.[local]'" in facts["extras: local"]["todo"]


def test_keys_are_named_and_never_shown(cli: Cli) -> None:
    env = {
        "LOCAL_API_KEY": KEY,
        "EMPTY_API_KEY": "",
        "HF_TOKEN": f" {KEY}\n",
        "GATEWAY_BASE_URL": "https://me:hidden-password@gateway.example.org/hidden-path",
        "ODD_BASE_URL": "127.0.0.1:8000/v1",
    }
    said = cli("doctor", env=NO_PROXIES | env).stdout
    assert "hidden" not in said
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


def test_a_server_on_this_machine_is_asked_without_its_key(cli: Cli) -> None:
    with serving(200, '{"data": [{"id": "a"}, {"id": "b"}]}') as server:
        env = {"LOCAL_BASE_URL": server.url, "LOCAL_API_KEY": KEY}
        _, facts = looked(cli, **env)
        looked(cli, "--reach", **env)
    assert facts["models: local"]["found"].endswith(", 2 models")
    (_, path, first), (_, _, second) = server.asked
    assert path == "/v1/models"
    assert KEY not in str(first)
    assert second["authorization"] == f"Bearer {KEY}"


def test_a_redirection_gets_no_key(cli: Cli) -> None:
    with serving(200) as other, serving(302, Location=other.url) as server:
        _, facts = looked(cli, "--reach", LOCAL_BASE_URL=server.url, LOCAL_API_KEY=KEY)
    assert "elsewhere, which was not followed" in facts["models: local"]["found"]
    assert (len(server.asked), other.asked) == (1, [])


def test_a_key_goes_through_no_proxy_in_the_clear(cli: Cli) -> None:
    with serving(200) as proxy:
        env = {"FAR_BASE_URL": "http://far.invalid/v1", "FAR_API_KEY": KEY}
        _, facts = looked(cli, "--reach", **env, http_proxy=proxy.root)
    ((_, path, headers),) = proxy.asked
    assert path == "http://far.invalid/v1/models"
    assert KEY not in str(headers)
    assert facts["models: far"]["state"] == "ok"
