"""Versions of a data set: given once, named by results, and never subtracted unasked."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.tables import random_table

from casewise.cases import load_cases


@pytest.fixture
def mine(cli_inside: Cli, tmp_path: Path) -> Path:
    assert cli_inside("cases", "convert", "starter", "mine.jsonl").returncode == 0
    done = cli_inside("cases", "release", "mine.jsonl", "--version", "1.0.0", "--note", "First")
    assert done.returncode == 0, done.stderr
    return tmp_path / "mine.jsonl"


def shorten(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:-2]), "utf-8")


def test_a_version_is_bound_to_the_content(cli_inside: Cli, mine: Path, tmp_path: Path) -> None:
    assert load_cases(mine).version == "1.0.0"
    # The same cases in another form, with the releases beside them, are the same version.
    (tmp_path / "other").mkdir()
    assert cli_inside("cases", "convert", "mine.jsonl", "other/mine.yaml").returncode == 0
    releases = (tmp_path / "mine.releases.yaml").read_text("utf-8")
    (tmp_path / "other/mine.releases.yaml").write_text(releases, "utf-8")
    assert load_cases(tmp_path / "other/mine.yaml").version == "1.0.0"
    shorten(mine)
    changed = load_cases(mine)
    assert changed.version is None
    assert "mine.jsonl was changed since 1.0.0 was released" in changed.notes[0]
    done = cli_inside("cases", "release", mine, "--version", "1.1", "--note", "Less")
    assert done.returncode == 0, done.stderr
    assert load_cases(mine).version == "1.1"
    found = yaml.safe_load((tmp_path / "mine.releases.yaml").read_text("utf-8"))
    assert [(one["version"], one["cases"], one["queries"], one["note"]) for one in found] == [
        ("1.0.0", 56, 28, "First"),
        ("1.1", 54, 27, "Less"),
    ]
    assert releases.splitlines()[2:] == yaml.safe_dump(found[:1], sort_keys=False).splitlines()
    listed = cli_inside("cases", "release", mine)
    assert "First" in listed.stdout
    assert f"now: 54 cases, version 1.1, hash {changed.hash}" in listed.stdout


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.0.0", "nothing changed since 1.0.0"),
        ("2.0.0", "nothing changed since 1.0.0"),
        ("1", "write two or three numbers"),
        ("1.0.0rc1", "write two or three numbers"),
        ("01.2", "write two or three numbers"),
    ],
)
def test_versions_that_are_refused(
    cli_inside: Cli, mine: Path, tmp_path: Path, version: str, message: str
) -> None:
    before = (tmp_path / "mine.releases.yaml").read_bytes()
    done = cli_inside("cases", "release", mine, "--version", version)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert (tmp_path / "mine.releases.yaml").read_bytes() == before


@pytest.mark.parametrize("version", ["1.0", "0.9.9", "1.0.0"])
def test_versions_go_up(cli_inside: Cli, mine: Path, version: str) -> None:
    shorten(mine)
    done = cli_inside("cases", "release", mine, "--version", version)
    assert done.returncode == 2
    assert "the last release is 1.0.0" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {version: 1.10}", "field 'version': wrong value (found 1.1; expected text (quote it))"),
        ("- {version: '1.10'}", "field 'hash': the field is missing"),
        ("version: 1.0.0", "not a list of releases"),
        ("- [1.0.0]", "release 1: not a release"),
        ("- &a 1\n- *a", "a YAML alias"),
        (
            "- &q {version: '2.0', hash: 0123456789abcdef, date: 2026-01-01, cases: 1, "
            "queries: 1}\n- {version: '1.0', hash: 0123456789abcdee, date: 2026-01-01, "
            "cases: 1, queries: 1}",
            "release 2, field 'version': out of order",
        ),
    ],
)
def test_releases_that_cant_be_read(
    cli_inside: Cli, mine: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "mine.releases.yaml").write_text(text, "utf-8")
    for arguments in (["validate", mine], ["release", mine, "--version", "3.0"]):
        done = cli_inside("cases", *arguments)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())


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
