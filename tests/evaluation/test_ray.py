"""Runs in shards on a real Ray cluster of several nodes, some of which are lost."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer
from support.ray_cluster import RayCluster, ray_cluster
from support.s3 import s3_server

from casewise.scores import read_paths

pytest.importorskip("ray", reason="Ray is not installed")

CASES = 60
KEY = {"FAKE_API_KEY": "k"}
SWEEP = """
name: both
cases: cases.jsonl
grid:
  - {protocol: binary, delivery: [judge, none]}
  - {protocol: binary, ablate: sender, model: a}
  - {protocol: respond, model: b, limit: 20}
model:
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(2, clean_env() | KEY) as started:
        yield started


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    lines = [
        json.dumps(
            {
                "id": f"case {number}",
                "query": f"question {number}",
                "context": {"sender": {"platform_type": f"forum {number % 7}"}},
                "intended": "safe" if number % 2 else "unsafe",
            }
        )
        for number in range(CASES)
    ]
    path.write_text("\n".join(lines), "utf-8")
    return path


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
    return read_paths([folder]).table.drop("run_id", "latency_s")


def options(server: FakeServer, cases: Path, folder: str) -> list[str]:
    given = ["-m", "openai-api/fake/m", "--cases", str(cases), "--protocol", "binary"]
    given += ["--model-base-url", server.url, "--max-connections", "4", "--log-dir", folder]
    return ["run", *given]


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "casewise", *arguments],
        cwd=folder,
        env=clean_env() | KEY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test runner in the background may have told its children to ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def wait_for(server: FakeServer, count: int, process: "subprocess.Popen[str]") -> None:
    end = time.monotonic() + 90
    while len(server.requests) < count:
        assert process.poll() is None, process.communicate()[1]
        if time.monotonic() > end:
            process.kill()
            pytest.fail(f"{len(server.requests)} requests came: {process.communicate()[1]}")
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.cluster
def test_a_node_is_lost_half_way(
    cli_process: Cli, cli_inside: Cli, tmp_path: Path, cases: Path, cluster: RayCluster
) -> None:
    """A sweep of two models, a node of two lost in its middle: the table is the single one's."""
    with FakeServer(answer) as server:
        models = [
            f"  - {{model: openai-api/fake/{name}, name: {name}, model_base_url: '{server.url}', "
            "max_connections: 4}\n"
            for name in "ab"
        ]
        (tmp_path / "sweep.yaml").write_text(SWEEP + "".join(models), "utf-8")
        alone = cli_process("run", "sweep.yaml", "--log-dir", "alone", env=KEY)
        assert alone.returncode == 0, alone.stderr
        wanted = len(server.requests)
        assert wanted == 5 * CASES + 20
        on_ray = ("--engine", "ray", "--address", cluster.address, "--shard-size", "20")
        process = start(tmp_path, "run", "sweep.yaml", "--log-dir", "shards", *on_ray)
        wait_for(server, wanted + wanted // 2, process)
        assert cluster.tell("kill") == 1
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "6 of 6 done; 320 of 320 judgements." in out
        assert "Traceback" not in err
        # Of the lost node's shard, what it had not written was asked again.
        assert len(server.requests) <= 2 * wanted + 20
        whole = table(tmp_path / "shards")
        assert whole.equals(table(tmp_path / "alone"))
        assert len(whole) == wanted
        assert set(whole["status"]) == {"ok", "unparsed"}
        found = read_paths([tmp_path / "shards"])
        assert found.notes == ()
        assert found.table["run_id"].n_unique() == 6
        scores = [
            json.loads(cli_inside("score", name, "--format", "json").stdout)
            for name in ("shards", "alone")
        ]
        for record in scores[0] + scores[1]:
            record.pop("run_id", None)
        assert scores[0] == scores[1]
        # A shard's log counts once, however often it is there.
        one = next((tmp_path / "shards/shards").rglob("*.eval"))
        shutil.copy(one, one.with_name(f"again-{one.name}"))
        shutil.copy(one, tmp_path / "shards" / one.name)
        assert table(tmp_path / "shards").equals(whole)
        # What is done is not asked again, by either engine.
        before = len(server.requests)
        again = cli_process("run", "sweep.yaml", "--log-dir", "shards", env=KEY)
        assert again.returncode == 0, again.stderr
        assert "going on: 320 of 320 were judged before" in again.stderr
        assert len(server.requests) == before
    cluster.tell("add")


HALF, ANSWERED = 30, 12
"""Cases of a shard, and how many of them are answered before the server holds the others."""
ORDER = sorted(range(CASES), key=str)
"""Questions in the order of their cases, which is that of the ids."""


@pytest.fixture
def held() -> Iterator[tuple[FakeServer, threading.Event]]:
    """A server that answers the first cases of each half, and the others once it is freed."""
    free = threading.Event()

    def answer_first(request: dict[str, Any]) -> Answer:
        if ORDER.index(question(request)) % HALF >= ANSWERED:
            free.wait(120)
        return '{"judgement": "safe"}'

    with FakeServer(answer_first) as server:
        try:
            yield server, free
        finally:
            free.set()


@contextmanager
def told(
    folder: Path, *arguments: str
) -> Iterator[tuple["subprocess.Popen[str]", Callable[[str], str]]]:
    """A run, and a function that waits until it has said something, and gives all it has said."""
    err = folder / "err.txt"
    with err.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "casewise", *arguments],
            cwd=folder,
            env=clean_env() | KEY,
            stdout=subprocess.DEVNULL,
            stderr=file,
            text=True,
        )

    def until(words: str) -> str:
        end = time.monotonic() + 120
        while words not in (said := err.read_text("utf-8")):
            assert process.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.05)
        return said

    try:
        yield process, until
    finally:
        process.kill()
        process.wait()


def last_start(folder: Path) -> dict[str, Any]:
    starts = json.loads((folder / "faults.json").read_text("utf-8"))["starts"]
    return starts[-1]  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.cluster
def test_a_lost_head_is_told(
    cli_process: Cli, tmp_path: Path, cases: Path, held: tuple[FakeServer, threading.Event]
) -> None:
    """Without one, Ray ends the process after a minute, with its own words alone."""
    server, free = held
    command = options(server, cases, "logs")
    with ray_cluster(2, clean_env() | KEY) as cluster:
        on_ray = ("--engine", "ray", "--address", cluster.address, "--shard-size", str(HALF))
        with told(tmp_path, *command, *on_ray) as (process, until):
            until(f"{2 * ANSWERED}/{CASES} judged")
            while len(server.requests) < 2 * ANSWERED + 4:
                time.sleep(0.05)
            cluster.tell("behead")
            said = until("To go on:")
            assert process.wait(60) == 1
    assert "stopped: the cluster's head does not answer (" in said
    assert f"kept: 0 of {CASES} judgements, in logs" in said
    ending = last_start(tmp_path / "logs")["ending"]
    assert (ending["reason"], ending["judged"]) == ("lost cluster", 0)
    assert ending["in_flight"] == len(server.requests)
    free.set()
    done = cli_process(*command, env=KEY)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize(("way", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_goes_on_in_one_process(
    cli_process: Cli, tmp_path: Path, cases: Path, cluster: RayCluster, way: int, status: int
) -> None:
    with FakeServer(answer) as server:
        command = options(server, cases, "mixed")
        on_ray = ("--engine", "ray", "--address", cluster.address, "--shard-size", "15")
        process = start(tmp_path, *command, *on_ray)
        wait_for(server, CASES // 2, process)
        process.send_signal(way)
        _, err = process.communicate(timeout=60)
        assert process.returncode == status, err
        assert "Traceback" not in err
        assert f"--engine ray --address {cluster.address}" in err.split("To go on:")[1]
        time.sleep(0.5)
        before = len(server.requests)
        assert before < CASES
        done = cli_process(*command, env=KEY)
        assert done.returncode == 0, done.stderr
        assert "were judged before" in done.stderr
        # At most what was in flight is asked twice.
        assert len(server.requests) - CASES <= 8
        alone = cli_process(*options(server, cases, "alone"), env=KEY)
        assert alone.returncode == 0, alone.stderr
    whole = table(tmp_path / "mixed")
    assert whole.equals(table(tmp_path / "alone"))


@pytest.mark.slow
@pytest.mark.cluster
def test_a_run_of_one_process_goes_on_in_shards(
    cli_process: Cli, tmp_path: Path, cases: Path, cluster: RayCluster
) -> None:
    """Another epoch, of which only that is asked; and a cap that stops it before."""
    with FakeServer(answer) as server:
        command = options(server, cases, "more")
        done = cli_process(*command, env=KEY)
        assert done.returncode == 0, done.stderr
        on_ray = ("--engine", "ray", "--address", cluster.address, "--epochs", "2")
        # A request of the fake server takes 100 tokens in and 5 out: $0.11.
        priced = ("--price-in", "1000", "--price-out", "2000", "--max-cost", "9.90")
        capped = cli_process(*command, *on_ray, *priced, env=KEY)
        assert capped.returncode == 1, capped.stderr
        assert "not finished: the cap of $9.90 is reached" in capped.stderr
        # The estimate is not exact; shards are made to fit what is left.
        assert CASES + 20 <= len(server.requests) <= CASES + 30
        done = cli_process(*command, *on_ray, env=KEY)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2 * CASES
    whole = table(tmp_path / "more")
    assert whole["epoch"].to_list() == [1, 2] * CASES
    assert Counter(map(question, server.requests)) == dict.fromkeys(range(CASES), 2)


@pytest.mark.slow
@pytest.mark.cluster
def test_a_folder_that_is_elsewhere(cli_process: Cli, tmp_path: Path, cases: Path) -> None:
    """Shards of a cluster of this machine's own, on S3's protocol; gone on by one process."""
    with FakeServer(answer) as server, s3_server() as s3:
        env = KEY | s3.env
        few = [*options(server, cases, "s3://bucket/run"), "--limit", "20"]
        done = cli_process(*few, "--engine", "ray", env=env)
        assert done.returncode == 0, done.stderr
        assert "casewise score s3://bucket/run" in done.stderr
        logs = [name for name in s3.objects if name.endswith(".eval")]
        assert logs
        assert all(name.startswith("bucket/run/shards/000-1-") for name in logs)
        del s3.objects[logs[0]]
        left = len(server.requests)
        again = cli_process(*few, env=env)
        assert again.returncode == 0, again.stderr
        assert left < len(server.requests) <= 2 * left
        far = cli_process("score", "s3://bucket/run", "--format", "json", env=env)
        alone = cli_process(*options(server, cases, "alone"), "--limit", "20", env=KEY)
        assert alone.returncode == 0, alone.stderr
        near = cli_process("score", "alone", "--format", "json")
    scores = [json.loads(one.stdout) for one in (far, near)]
    for record in scores[0] + scores[1]:
        record.pop("run_id", None)
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--engine", "ray", "--address", "here"), "write HOST:PORT"),
        (("--engine", "ray", "--address", "127.0.0.1:1"), "no Ray cluster can be reached at "),
        (("--shard-size", "10"), "--shard-size is for --engine ray"),
    ],
)
def test_wrong_options(cli_inside: Cli, cases: Path, given: tuple[str, ...], said: str) -> None:
    done = cli_inside("run", "--cases", str(cases), "--limit", "2", *given)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_ray(cli_inside: Cli, cases: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = cli_inside("run", "--cases", str(cases), "--limit", "2", "--engine", "ray")
    assert done.returncode == 2
    assert "pip install '.[cluster]'" in done.stderr
