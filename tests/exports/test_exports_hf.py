"""The data set folder: ``datasets`` loads it, and its card says what it holds."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import Cli, clean_env
from support.tables import random_table

import casewise as cw

LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
found = {}
for name in get_dataset_config_names(sys.argv[1]):
    data = load_dataset(sys.argv[1], name, split="test")
    found[name] = {"rows": data.num_rows, "features": list(data.features), "first": data[0]}
print(json.dumps(found))
"""


def loaded(folder: Path) -> dict[str, Any]:
    home = folder.parent / "hf-home"
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LOAD, str(folder)],
        env=clean_env() | offline,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "malformed" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write_table(path: Path) -> Any:
    """Judgements of the first starter cases, over two models; one has no cases here."""
    cases = cw.load_cases("starter")[:6]
    rows = random_table(3, 1, model="provider/m|1").with_columns(
        pl.Series("case_id", [case.id for case in cases]),
        pl.Series("query_id", [case.query_id for case in cases]),
        pl.lit("The reply.").alias("answer"),
        pl.lit("casewise/probability-judge-1@8f97e05c").alias("prompt_version"),
    )
    rows.write_parquet(path)
    return cases


def header(folder: Path) -> dict[str, Any]:
    text = (folder / "README.md").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


@pytest.mark.slow
def test_withheld_and_revealed_folders_load(cli_inside: Cli, tmp_path: Path) -> None:
    cases = write_table(tmp_path / "t.parquet")
    command = ["export", "t.parquet", "--to", "hf", "--cases", "starter"]
    for options, out in (((), "shut"), (("--reveal",), "open")):
        done = cli_inside(*command, "--out", out, *options)
        assert done.returncode == 0, done.stderr
    shut, shown = loaded(tmp_path / "shut"), loaded(tmp_path / "open")
    for found in (shut, shown):
        assert found["judgements"]["rows"] == found["cases"]["rows"] == 6
        assert found["cases"]["first"]["query_length"] == len(cases[0].query)
    assert {"answer", "explanation", "error"} <= set(shown["judgements"]["features"])
    assert shown["cases"]["first"]["query"] == cases[0].query
    assert cases[0].context is not None
    assert json.loads(shown["cases"]["first"]["context"]) == cases[0].context.root
    assert "query" not in shut["cases"]["features"]
    assert shut["judgements"]["first"]["answer_length"] == len("The reply.")
    assert {"answer", "explanation", "error"}.isdisjoint(shut["judgements"]["features"])


def test_the_card_says_what_the_folder_holds(cli_inside: Cli, tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet")
    command = ["export", "t.parquet", "--to", "hf", "--cases", "starter", "--out"]
    assert cli_inside(*command, "shut").returncode == 0
    assert cli_inside(*command, "open", "--reveal").returncode == 0
    shut, shown = header(tmp_path / "shut"), header(tmp_path / "open")
    assert (shut["license"], shown["license"]) == ("other", "cc0-1.0")
    assert shown["language"] == ["en"]
    assert "not-for-all-audiences" in shown["tags"]
    assert "not-for-all-audiences" not in shut["tags"]
    for folder in ("shut", "open"):
        card = (tmp_path / folder / "README.md").read_text("utf-8")
        for info in header(tmp_path / folder)["dataset_info"]:
            data = tmp_path / folder / "data" / f"{info['config_name']}.parquet"
            assert [one["name"] for one in info["features"]] == pl.read_parquet(data).columns
            assert info["download_size"] == data.stat().st_size
        assert ("Content warning" in card) == (folder == "open")
        about = json.loads(pl.read_parquet_metadata(data)["casewise"])
        assert about["texts"] == ("included" if folder == "open" else "withheld")
        assert ("content warning" in about) == (folder == "open")
        for words in ("| votes |", "casewise/probability-judge-1@8f97e05c"):
            assert words in card
        # A name with a bar is none that is shown unasked; revealed, it breaks no table.
        assert (r"| provider/m\|1 |" in card) == (folder == "open")
    assert "The reply." not in (tmp_path / "open" / "README.md").read_text("utf-8")
