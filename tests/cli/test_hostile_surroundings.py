"""Encodings that lack characters, a home that can't be written, weights that are damaged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from support.fake_openai import FakeServer
from support.fault_runs import write_questions
from support.starts import Start
from support.weights import weights

FIRST = ("run", "--limit", "1", "--log-dir", "own")


def test_any_encoding(cli: Cli, tmp_path: Path) -> None:
    """Piped into a file, as a build does; the model and the cases are not ASCII."""
    cases = write_questions(tmp_path / "fälle–1.jsonl", 2)
    run = ("run", "-m", "openai-api/fake/m–é", "--protocol", "binary", "--cases", cases)
    with FakeServer(lambda _: '{"explanation": "fine", "judgement": "safe"}') as server:
        env = server.env
        done = cli(*run, "--log-dir", "a", env=env, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert "m-e on " in done.stderr
    for encoding, name in (("ascii", "m-e"), ("latin-1", "m-é")):
        assert name in cli("score", "a", encoding=encoding).stdout
    done = cli("score", "a", "--format", "json", encoding="ascii")
    assert "m–é" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_a_reader_that_goes_early(cli: Cli, tmp_path: Path) -> None:
    """As ``casewise ... | head`` may: the status is the command's own, and all is kept."""
    cases = write_questions(tmp_path / "cases.jsonl", 2)
    (tmp_path / "gate.yaml").write_text("rules: [{measure: unsafe_recall, at_least: .5}]")
    read, write = os.pipe()
    os.close(read)

    def to_nobody(*command: str | Path, **env: str) -> tuple[int, str]:
        start = [sys.executable, "-m", "casewise", *command]
        done = subprocess.run(
            start,
            cwd=tmp_path,
            env=clean_env() | env,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
        )
        return done.returncode, done.stderr

    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        env = server.env
        run = ("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", "binary")
        code, err = to_nobody(*run, "--log-dir", "logs", **env)
    assert (code, "casewise report logs" in err) == (0, True), err
    code, err = to_nobody("score", "logs", "--format", "json")
    assert (code, err) == (0, ""), err
    gate = ("gate", "logs", "--config", "gate.yaml")
    assert to_nobody(*gate)[0] == cli(*gate).returncode != 0
    os.close(write)


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
        env = server.env
        command = ("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", "binary")
        code, err = run(*command, "--log-dir", "logs", **env)
        assert code == 0, err
    code, err = run(*FIRST, CASEWISE_CACHE="")
    assert code == 2
    said = " ".join(err.split())
    assert "/home/.cache/casewise/models can't be written" in said
    assert "set CASEWISE_CACHE to a folder that can" in said


@pytest.mark.slow
def test_damaged_weights(tmp_path: Path) -> None:
    whole = weights()
    path = tmp_path / "cache" / "models" / whole.name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 8 + whole.read_bytes()[8:])
    env = clean_env() | {"CASEWISE_CACHE": str(tmp_path / "cache")}
    dead = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    start = Start(FIRST, tmp_path, env)
    assert f"{path} is damaged, delete it" in start.communicate()[1]
    assert start.wait() == 2
    path.write_bytes(whole.read_bytes()[:8])
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "nothing")}
    start = Start(FIRST, tmp_path, env | offline)
    assert "can't be fetched (pip download" in start.communicate()[1]
    assert start.wait() == 2
    path.write_bytes(whole.read_bytes())
    # At its own loopback address it is asked without a proxy.
    assert Start(FIRST, tmp_path, env | dead).wait() == 0
