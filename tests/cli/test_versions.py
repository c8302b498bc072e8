"""Versions of a data set: given in its file, named by results, and never subtracted unasked."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.tables import random_table

import casewise as cw


@pytest.fixture
def mine(cli_inside: Cli, tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    assert cli_inside("cases", "convert", "starter", file).returncode == 0
    file.write_text("version: 1.0.0\ncases:\n" + file.read_text("utf-8"), "utf-8")
    return file


def test_results_name_the_version(cli: Cli, mine: Path, tmp_path: Path) -> None:
    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        run = ["run", "--model", "openai-api/local/m", "--cases", mine, "--protocol", "binary"]
        done = cli(*run, "--limit", "4", "--log-dir", "logs", env=env)
    assert done.returncode == 0, done.stderr
    hash = cw.load_cases(mine).hash
    assert f"Cases: version 1.0.0 (hash {hash})." in " ".join(done.stdout.split())
    (record,) = model_rows(cli("score", "logs", "--format", "json").stdout)
    assert (record["dataset_version"], record["dataset_hash"]) == ("1.0.0", hash)


@pytest.fixture
def two(tmp_path: Path) -> None:
    editions = {"old": ("h1", "1.0.0"), "new": ("h2", "1.1.0"), "again": ("h1", "1.0.0")}
    for seed, (name, (hash, version)) in enumerate(editions.items()):
        fields: dict[str, Any] = {"dataset_hash": hash, "dataset_version": version}
        table = random_table(40, 0, skill=0.5 + seed / 10, run_id=name, model=name, **fields)
        table.write_parquet(tmp_path / f"{name}.parquet")


@pytest.mark.usefixtures("two")
def test_runs_over_other_versions_are_not_compared(cli_inside: Cli) -> None:
    done = cli_inside("compare", "old.parquet", "new.parquet")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "old is over version 1.0.0 (hash h1) of its data, new over version 1.1.0" in said
    forced = cli_inside("compare", "old.parquet", "new.parquet", "--force")
    assert forced.returncode == 0, forced.stderr
    said = " ".join(forced.stdout.split())
    assert "Before is over version 1.0.0 (hash h1), after over version 1.1.0 (hash h2)" in said
    every = ["compare", "old.parquet", "new.parquet", "again.parquet", "--format", "json"]
    found = json.loads(cli_inside(*every).stdout)["comparisons"]
    assert [(one["before"], one["after"]) for one in found] == [("old", "again")]
    assert len(json.loads(cli_inside(*every, "--force").stdout)["comparisons"]) == 3


@pytest.mark.usefixtures("two")
def test_nor_gated_nor_reported_side_by_side(cli_inside: Cli, tmp_path: Path) -> None:
    for arguments in (
        ["gate", "new.parquet", "--baseline", "old.parquet"],
        ["report", "old.parquet", "new.parquet", "--compare", "--out", "p.md"],
    ):
        done = cli_inside(*arguments)
        assert done.returncode == 2
        assert "(hash h2)" in done.stderr
        assert cli_inside(*arguments, "--force").returncode in (0, 1, 3)
    gate = cli_inside("gate", "new.parquet", "--baseline", "old.parquet", "--force")
    assert "the change is that of both, model and data" in " ".join(gate.stdout.split())
