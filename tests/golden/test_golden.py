"""A run gives the table that is kept of the same answers; a folder that is half done goes on.

What is kept is in this folder; ``make.py`` makes it.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZipFile

import polars as pl
import pytest
from conftest import clean_env
from polars.testing import assert_frame_equal
from support.fake_openai import FakeServer
from support.golden import ENVIRONMENT, FOLDER, INPUTS, RUNS, STOPPED, answers, kept_table, table_of
from support.starts import Start, inspect_eval

# A folder that is half done says so.
pytestmark = pytest.mark.filterwarnings("ignore:.*the run ended early")

JUDGED = 24
"""Judgements of the run that was stopped: 12 cases under two protocols."""

REQUESTS = 48
"""It takes: the protocol ``score`` asks three times."""


@pytest.fixture(scope="module")
def address() -> Iterator[FakeServer]:
    """One for all."""
    with FakeServer(answers()) as server:
        yield server


@pytest.fixture
def server(address: FakeServer) -> FakeServer:
    """As if it were new."""
    address.answer = answers()
    address.requests.clear()
    return address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in INPUTS:
        shutil.copy(FOLDER / name, tmp_path)
    return tmp_path


def environment(server: FakeServer) -> dict[str, str]:
    return ENVIRONMENT | {"FAKE_BASE_URL": server.url}


def run(arguments: Sequence[str | Path], folder: Path, server: FakeServer) -> None:
    """To the end, in a process of its own: a run in this one would find what the last has kept."""
    start = Start(["run", *arguments], folder, clean_env() | environment(server))
    _, err = start.communicate()
    assert start.returncode == 0, err


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_the_same_table(name: str, folder: Path, server: FakeServer) -> None:
    run((*RUNS[name], "--log-dir", "logs"), folder, server)
    table = table_of(folder / "logs")
    assert_kept(table, name)
    graded = [request for request in server.requests if request["model"].startswith("grader")]
    assert table["grader_input_tokens"].count() == len(graded)


def assert_kept(table: pl.DataFrame, name: str) -> None:
    """Row for row."""
    assert_same(table, kept_table(name, table))


def assert_same(table: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Row for row, but for the last digits of sums of dollars and of probabilities."""
    sums = ("cost_usd", "grader_cost_usd", "p_safe", "mass")
    assert_frame_equal(table.drop(sums), wanted.drop(sums), check_exact=True)
    assert_frame_equal(table.select(sums), wanted.select(sums), rel_tol=1e-12, abs_tol=0)


def unpacked(name: str, folder: Path) -> Path:
    """A folder of logs that is kept."""
    with ZipFile(FOLDER / "logs" / f"{name}.zip") as archive:
        archive.extractall(folder / "logs")
    return folder / "logs"


@pytest.mark.parametrize("name", ["whole", "shards"])
def test_a_folder_that_is_complete_asks_nothing(
    name: str, tmp_path: Path, server: FakeServer
) -> None:
    logs = unpacked(name, tmp_path)
    before = sorted(logs.rglob("*.eval"))
    run((*STOPPED, "--same-server", "--log-dir", logs), tmp_path, server)
    assert server.requests == []
    assert sorted(logs.rglob("*.eval")) == before
    assert_kept(table_of(logs), "whole")


def settled_requests(logs: Path) -> int:
    """Requests whose answers the logs hold."""
    table = table_of(logs)
    return sum(3 if protocol == "score" else 1 for protocol in table["protocol"])


def test_a_folder_that_was_left_half_done_goes_on(tmp_path: Path, server: FakeServer) -> None:
    logs = unpacked("killed", tmp_path)
    known = settled_requests(logs)
    assert 10 < known < REQUESTS - 10
    run((*STOPPED, "--same-server", "--log-dir", logs), tmp_path, server)
    assert len(server.requests) == REQUESTS - known
    assert table_of(logs).height == JUDGED
    assert_kept(table_of(logs), "whole")
    assert not list(logs.glob("*.running"))


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("judge", {"protocol": "score"}),
        pytest.param(
            "respond",
            {"delivery": "claimed", "grader": "openai-api/fake/grader"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_inspects_own_runner_gives_the_same_table(
    task: str, arguments: dict[str, str], folder: Path, server: FakeServer
) -> None:
    given = [f"-T{key}={value}" for key, value in ({"cases": "cases.yaml"} | arguments).items()]
    inspect_eval(
        [
            *(f"casewise/{task}", *given, "--model", "openai-api/fake/plain"),
            *("--log-dir", "inspect", "--display", "none"),
        ],
        folder,
        clean_env() | environment(server),
    )
    options = {"protocol": "respond"} | arguments
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    ours = ("-m", "openai-api/fake/plain", "--cases", "cases.yaml", *words)
    run((*ours, "--log-dir", "logs"), folder, server)
    wanted = table_of(folder / "logs")
    assert wanted.height == 8
    # Inspect keeps no count of what was planned, and cuts answers in its summaries.
    apart = ("planned", "answer")
    assert_same(table_of(folder / "inspect").drop(apart), wanted.drop(apart))
