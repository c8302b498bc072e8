"""What ``casewise doctor`` finds of a machine, and says to do; no value of a key is shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.secret import KEY
from support.weights import weights


def looked(cli: Cli, **env: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and facts by part and name."""
    done = cli("doctor", "--format", "json", env=env)
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["ready"] else 1)
    assert "Traceback" not in done.stderr
    return done.returncode, {f"{fact['part']}: {fact['name']}": fact for fact in report["facts"]}


def test_a_machine_that_has_all(cli: Cli, tmp_path: Path) -> None:
    weights()
    code, facts = looked(cli)
    assert code == 0
    assert facts["cache: casewise/smollm2"]["found"].endswith("is whole")
    assert not list(tmp_path.iterdir())
    done = cli("doctor")
    assert "The first run (casewise run) works here, offline." in done.stdout


def test_weights_that_are_absent_or_damaged(cli: Cli, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    code, facts = looked(cli, CASEWISE_CACHE=str(cache))
    assert code == 1
    assert facts["cache: casewise/smollm2"]["todo"].startswith("casewise run fetches it")
    assert not cache.exists()
    damaged = cache / "models" / weights().name
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"x" * 1000)
    shown = cli("doctor", env={"CASEWISE_CACHE": str(cache)}).stdout
    assert shown.startswith("For the first run, offline, see to: casewise/smollm2.\n")
    assert "is damaged" in shown


def test_a_cache_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, facts = looked(cli, CASEWISE_CACHE=str(tmp_path / "file/cache"))
    assert code == 1
    assert "set CASEWISE_CACHE" in facts["cache: folder"]["todo"]


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
    env = {"LOCAL_API_KEY": KEY, "EMPTY_API_KEY": "", "FAR_BASE_URL": "http://me:hidden-word@x"}
    assert "hidden" not in cli("doctor", env=env).stdout
    _, facts = looked(cli, **env)
    found = {name: facts[f"keys: {name}"]["found"] for name in env}
    assert found == {"LOCAL_API_KEY": "set", "EMPTY_API_KEY": "empty", "FAR_BASE_URL": "set"}
    assert KEY not in str(facts)
    assert "hidden" not in str(facts)
