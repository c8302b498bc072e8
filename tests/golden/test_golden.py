"""A run gives the table that the version before gives of the same answers; its logs go on.

What that version made is in this folder; ``make.py`` says how.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest
from conftest import clean_env
from polars.testing import assert_frame_equal
from support.fake_openai import FakeServer
from support.golden import ENVIRONMENT, FOLDER, INPUTS, RUNS, STOPPED, answers, kept_table, table_of
from support.starts import Start, inspect_eval

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
    assert_same(as_before(table), kept_table(name))
    graded = [one for one in server.requests if one["model"].startswith("grader")]
    assert table["grader_input_tokens"].count() == len(graded)


NEW = (
    *("planned", "stopped", "no_context", "other_labels", "cut", "doubt", "numbers"),
    *("twin_id", "twin_intended", "twin_votes_safe", "twin_votes_unsafe"),
    *("twin_published_safe_rate", "mentions", "parameters"),
)
"""The version before did not count what was planned, nor say why a run did not end, which cases
have no context or labels that make none, which answers were cut, nor how much a grade is doubted;
it asked of no pairs, and read what an answer names of its context from any text."""


def assert_same(table: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Row for row, but for the last digits of sums of dollars."""
    costs = ("cost_usd", "grader_cost_usd")
    table, wanted = table.drop(NEW), wanted.drop(NEW)
    assert_frame_equal(table.drop(costs), wanted.drop(costs), check_exact=True)
    assert_frame_equal(table.select(costs), wanted.select(costs), rel_tol=1e-12, abs_tol=0)


def as_before(table: pl.DataFrame) -> pl.DataFrame:
    """A table as the version before wrote it.

    It counted the grader's tokens with those of the model that it grades, and did not know who
    graded the earlier turns of a script that the provider ended.
    """
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        own, grader = pl.col(name), pl.col(f"grader_{name}")
        both = pl.when(grader.is_null()).then(own).otherwise(own.fill_null(0) + grader)
        table = table.with_columns(
            both.alias(name), pl.lit(None, table.schema[name]).alias(f"grader_{name}")
        )
    by, script = pl.col("graded_by"), pl.col("case_id").str.extract(r"(.*):turn-")
    ended = (by == "provider").any().over("model", "variant", "epoch", script)
    unknown = script.is_not_null() & ended & (by != "provider")
    return table.with_columns(pl.when(unknown).then(None).otherwise(by).alias("graded_by"))


def test_the_golden_set_is_rich() -> None:
    """What a table could get wrong is in it."""
    table = pl.concat(kept_table(name) for name in RUNS)

    def values(column: str) -> set[Any]:
        return set(table[column].drop_nulls())

    assert values("protocol") == {"binary", "score", "probability", "guard", "respond"}
    assert values("delivery") == {"judge", "none", "system", "claimed", "history"}
    assert values("status") == {"ok", "unparsed", "refused", "error"}
    assert values("verdict") == {"safe", "unsafe"}
    assert values("graded_by") == {
        "provider",
        "rules",
        "openai-api/fake/grader",
        "openai-api/fake/grader-of-sweep",
    }
    assert values("epoch") == {1, 2}
    for column in table.drop(NEW).columns:
        # The version before kept no grader's apart; see ``as_before``.
        assert column.startswith("grader_") or table[column].n_unique() > 1, column


def unpacked(name: str, folder: Path) -> Path:
    """A folder of logs that the version before has left."""
    with ZipFile(FOLDER / "logs" / f"{name}.zip") as archive:
        archive.extractall(folder / "logs")
    return folder / "logs"


@pytest.mark.parametrize("name", ["whole", "shards"])
def test_old_logs_are_read(name: str, tmp_path: Path) -> None:
    logs = unpacked(name, tmp_path)
    assert_same(table_of(logs), kept_table("whole"))


@pytest.mark.parametrize("name", ["whole", "shards"])
def test_a_folder_that_is_complete_asks_nothing(
    name: str, tmp_path: Path, server: FakeServer
) -> None:
    logs = unpacked(name, tmp_path)
    before = sorted(logs.rglob("*.eval"))
    run((*STOPPED, "--same-server", "--log-dir", logs), tmp_path, server)
    assert server.requests == []
    assert sorted(logs.rglob("*.eval")) == before
    assert_same(table_of(logs), kept_table("whole"))


def answers_kept(logs: Path) -> int:
    """Answers that stand in the journal of a folder."""
    return len((logs / ".casewise" / "answers.jsonl").read_bytes().splitlines())


def settled_requests(logs: Path) -> int:
    """Requests whose answers the logs themselves hold."""
    table = table_of(logs)
    return sum(3 if protocol == "score" else 1 for protocol in table["protocol"])


@pytest.mark.parametrize("name", ["killed", "interrupted"])
@pytest.mark.parametrize("journal", ["kept", "lost"])
def test_a_folder_that_was_left_half_done_goes_on(
    name: str, journal: str, tmp_path: Path, server: FakeServer
) -> None:
    logs = unpacked(name, tmp_path)
    known = answers_kept(logs)
    assert 10 < known < REQUESTS - 10
    if journal == "lost":
        (logs / ".casewise" / "answers.jsonl").unlink()
        known = settled_requests(logs)
        assert known < REQUESTS - 10
    run((*STOPPED, "--same-server", "--log-dir", logs), tmp_path, server)
    assert len(server.requests) == REQUESTS - known
    assert table_of(logs).height == JUDGED
    assert_same(table_of(logs), kept_table("whole"))
    assert not (logs / ".casewise" / "answers.jsonl").exists()
    if journal == "lost":
        return
    run((*STOPPED, "--same-server", "--log-dir", logs), tmp_path, server)
    assert len(server.requests) == REQUESTS - known


def test_a_log_that_was_interrupted_is_read(tmp_path: Path) -> None:
    table = table_of(unpacked("interrupted", tmp_path))
    assert 0 < table.height < JUDGED
    same = table.drop(NEW).columns
    assert table.join(kept_table("whole"), on=same, how="anti", nulls_equal=True).is_empty()


def test_a_shard_that_is_missing_is_made_again(tmp_path: Path, server: FakeServer) -> None:
    logs = unpacked("shards", tmp_path)
    shards = sorted((logs / "shards").rglob("*.eval"))
    lost = table_of(shards[0])
    shards[0].unlink()
    assert table_of(logs).height == JUDGED - lost.height
    run((*STOPPED, "--same-server", "--log-dir", logs), tmp_path, server)
    times = 3 if lost["protocol"][0] == "score" else 1
    assert len(server.requests) == lost.height * times
    assert_same(table_of(logs), kept_table("whole"))


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
    assert_same(table_of(folder / "inspect"), wanted)
