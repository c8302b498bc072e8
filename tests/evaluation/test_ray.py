"""Runs in shards on a real Ray cluster of several nodes, some of which are lost."""

import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer
from support.fault_runs import write_questions
from support.ray_cluster import RayCluster, ray_cluster
from support.secret import KEY
from support.starts import Start, until

import casewise as cw

pytest.importorskip("ray", reason="Ray is not installed")

CASES = 30
ENV = {"FAKE_API_KEY": KEY}
SWEEP = """
- {{model: [{a}, {b}], protocol: binary, delivery: [judge, none], {common}}}
- {{model: {a}, protocol: binary, ablate: sender, {common}}}
- {{model: {b}, protocol: respond, limit: 20, {common}}}
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(2, clean_env() | ENV) as started:
        yield started


@pytest.fixture(autouse=True)
def cases(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "cases.jsonl", CASES)


def answer(request: dict[str, Any]) -> Answer:
    """Some are safe, some unsafe, some not to be read; the same to the same question."""
    time.sleep(0.15)
    number = question(request)
    if number % 10 == 0:
        return "Perhaps."
    return f'{{"judgement": "{"safe" if number % 3 else "unsafe"}", "reason": "forum {number}"}}'


def question(request: dict[str, Any]) -> int:
    return int(str(request["messages"][-1]["content"]).split("question ")[1].split()[0])


def table(folder: Path) -> pl.DataFrame:
    """A folder's judgements, in the order in which they are read, but for what is of one run."""
    return cw.judgements(folder).drop("run_id", "latency_s")


def options(server: FakeServer, folder: str) -> list[str]:
    given = ["-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--protocol", "binary"]
    given += ["--model-base-url", server.url, "--max-connections", "4", "--log-dir", folder]
    return ["run", *given]


def start(folder: Path, *arguments: str) -> Start:
    return Start(arguments, folder, clean_env() | ENV)


def succeed(cli: Cli, *arguments: str, env: dict[str, str] = ENV) -> str:
    done = cli(*arguments, env=env)
    assert done.returncode == 0, done.stderr
    return done.stderr


def scores(stdout: str) -> list[dict[str, Any]]:
    return [{**record, "run_id": None} for record in json.loads(stdout)]


@pytest.mark.slow
@pytest.mark.cluster
def test_a_node_is_lost_half_way(
    cli_process: Cli, cli: Cli, tmp_path: Path, cluster: RayCluster
) -> None:
    """A sweep of two models, a node of two lost in its middle, goes on: one table of it all."""
    with FakeServer(answer) as server:
        common = f"cases: cases.jsonl, model_base_url: '{server.url}', max_connections: 4"
        models = {name: f"openai-api/fake/{name}" for name in "ab"}
        (tmp_path / "sweep.yaml").write_text(SWEEP.format(common=common, **models), "utf-8")
        succeed(cli_process, "run", "sweep.yaml", "--log-dir", "alone")
        wanted = len(server.requests)
        assert wanted == 5 * CASES + 20
        on_ray = ("--engine", "ray", "--address", cluster.address)
        process = start(tmp_path, "run", "sweep.yaml", "--log-dir", "shards", *on_ray)
        until(lambda: len(server.requests) >= wanted + wanted // 2, process)
        assert cluster.tell("kill") == 1
        _, err = process.communicate()
        # Ray begins a shard again that had not begun; one that had begun stays open, and the same
        # command asks what it had not written.
        assert process.returncode == ("a node or a process is lost" in err), err
        again = succeed(cli_process, "run", "sweep.yaml", "--log-dir", "shards", *on_ray)
        assert "of 170 were judged before" in again
        assert len(server.requests) <= 2 * wanted + 20
        whole = table(tmp_path / "shards")
        assert whole.equals(table(tmp_path / "alone"))
        assert len(whole) == wanted
        assert set(whole["status"]) == {"ok", "unparsed"}
        shards, alone = (
            scores(cli("score", name, "--format", "json").stdout) for name in ("shards", "alone")
        )
        assert shards == alone
        # A shard's log counts once, however often it is there.
        one = next((tmp_path / "shards/shards").rglob("*.eval"))
        shutil.copy(one, tmp_path / "shards" / one.name)
        assert table(tmp_path / "shards").equals(whole)
        # What is done is not asked again, by either engine.
        before = len(server.requests)
        again = succeed(cli_process, "run", "sweep.yaml", "--log-dir", "shards")
        assert "going on: 170 of 170 were judged before" in again
        assert len(server.requests) == before
    cluster.tell("add")


@pytest.mark.slow
@pytest.mark.cluster
def test_a_stopped_run_goes_on_in_one_process(
    cli_process: Cli, tmp_path: Path, cluster: RayCluster
) -> None:
    with FakeServer(answer) as server:
        command = options(server, "mixed")
        on_ray = ("--max-connections", "1", "--engine", "ray", "--address", cluster.address)
        process = start(tmp_path, *command, *on_ray)
        until(lambda: len(server.requests) >= CASES // 3, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        # Ray's own code may abort the process as its tasks are cancelled; the run goes on then too.
        if "discovered a bug in Ray" not in err:
            assert process.returncode == 130, err
            assert f"--engine ray --address {cluster.address}" in err.split("To go on:")[1]
        assert len(server.requests) < CASES
        assert "were judged before" in succeed(cli_process, *command)
        # At most what was in flight is asked twice.
        assert len(server.requests) - CASES <= 2
        succeed(cli_process, *options(server, "alone"))
        assert table(tmp_path / "mixed").equals(table(tmp_path / "alone"))
        # And on in shards: of another epoch, that alone is asked.
        before = len(server.requests)
        succeed(cli_process, *command, *on_ray, "--epochs", "2")
        assert len(server.requests) - before == CASES
    assert table(tmp_path / "mixed")["epoch"].to_list() == [1, 2] * CASES


@pytest.mark.slow
@pytest.mark.cluster
def test_errors_of_shards(cli_process: Cli, tmp_path: Path, cluster: RayCluster) -> None:
    with FakeServer(answer) as server:
        on_ray = ("--engine", "ray", "--address", cluster.address)
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/shards").touch()
        done = cli_process(*options(server, "logs"), *on_ray, env=ENV)
        assert done.returncode == 1
        assert "not finished: openai-api/fake/m: [Errno " in done.stderr
        assert "is lost" not in done.stderr


def test_without_ray(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = cli("run", "--cases", "cases.jsonl", "--limit", "2", "--engine", "ray")
    assert done.returncode == 2
    assert "pip install '.[cluster]'" in done.stderr
