"""Versions of a data set: given in its file, named by results, and never subtracted unasked."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.tables import random_table

from casewise.cases import load_cases
from casewise.errors import InputError


@pytest.fixture
def mine(cli_inside: Cli, tmp_path: Path) -> Path:
    file = tmp_path / "mine.yaml"
    assert cli_inside("cases", "convert", "starter", file).returncode == 0
    file.write_text("version: 1.0.0\ncases:\n" + file.read_text("utf-8"), "utf-8")
    return file


def test_a_file_of_yaml_or_json_gives_a_version(mine: Path, tmp_path: Path) -> None:
    loaded = load_cases(mine)
    assert (len(loaded), loaded.version) == (56, "1.0.0")
    other = tmp_path / "mine.json"
    other.write_text(json.dumps({"version": "1.0", "cases": loaded.to_dicts()}), "utf-8")
    assert (load_cases(other).version, load_cases(other).hash) == ("1.0", loaded.hash)
    mine.write_text(mine.read_text("utf-8").replace("1.0.0", "1.10", 1), "utf-8")
    with pytest.raises(InputError, match=r"field 'version': wrong value.*text \(quote it\)"):
        load_cases(mine)


def test_results_name_the_version(cli: Cli, mine: Path, tmp_path: Path) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        return '{"judgement": "safe"}'

    with FakeServer(answer) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        run = ["run", "--model", "openai-api/local/m", "--cases", mine, "--protocol", "binary"]
        done = cli(*run, "--limit", "4", "--log-dir", "logs", env=env)
    assert done.returncode == 0, done.stderr
    hash = load_cases(mine).hash
    assert f"Cases: version 1.0.0 (hash {hash})." in " ".join(done.stdout.split())
    (record,) = [
        one
        for one in json.loads(cli("score", "logs", "--format", "json").stdout)
        if not one["model"].startswith("baseline:")
    ]
    assert (record["dataset_version"], record["dataset_hash"]) == ("1.0.0", hash)


@pytest.fixture
def two(tmp_path: Path) -> None:
    editions = {"old": ("h1", "1.0.0"), "new": ("h2", "1.1.0"), "again": ("h1", "1.0.0")}
    for seed, (name, (hash, version)) in enumerate(editions.items()):
        fields: dict[str, Any] = {"dataset_hash": hash, "dataset_version": version}
        table = random_table(40, 0, skill=0.5 + seed / 10, run_id=name, model=name, **fields)
        table.write_parquet(tmp_path / f"{name}.parquet")


REFUSED = (
    "old is over version 1.0.0 (hash h1) of its data, new over version 1.1.0 (hash h2): a "
    "difference would be that of the data too"
)


@pytest.mark.usefixtures("two")
def test_runs_over_other_versions_are_not_compared(cli_inside: Cli) -> None:
    done = cli_inside("compare", "old.parquet", "new.parquet")
    assert done.returncode == 2
    assert REFUSED in " ".join(done.stderr.split())
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


def test_published_outputs_are_over_the_published_data(cli_inside: Cli, casebench: Path) -> None:
    # Shortened contexts, too, are of the data that they were shortened from.
    data = load_cases(casebench / "CASEBench_data.json")
    assert data.version == "135f221"
    scored = cli_inside("score", casebench / "exp/safety_llama370B", "--format", "json")
    records = [one for one in json.loads(scored.stdout) if "baseline" not in one["model"]]
    assert {(one["dataset_version"], one["dataset_hash"]) for one in records} == {
        ("135f221", data.hash)
    }
    assert len({one["ablation"] for one in records}) > 1
