"""Results as records of Every Eval Ever."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
from conftest import Cli
from support.climbers import rung_table
from support.scores import model_rows
from support.tables import random_table

LOWER = {"accuracy": False, "brier": True, "false_changes": True, "follows": False}
"""Whether less is better."""
DATA = Path(__file__).parent.parent / "data"


def check(found: Any, schema: str) -> None:
    text = (DATA / f"{schema}.schema.json").read_text("utf-8")
    jsonschema.validate(found, json.loads(text), jsonschema.Draft7Validator)


def write_runs(path: Path) -> None:
    """A judge, and a model that one of two proofs moves: 8 safe cases, 6, 4 and 0 refusals."""
    refused = {"0": (1,) * 6 + (0,) * 2, "1": (1,) * 4 + (0,) * 4, "5": (0,) * 8}
    climber = rung_table(refused, model="hf/lab/climber")
    judge = random_table(20, 3, model="openai/judge")
    pl.concat([judge, climber], how="diagonal_relaxed").write_parquet(path)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("data/**/*.json"))]


def test_records_hold_every_figure(cli_inside: Cli, tmp_path: Path) -> None:
    write_runs(tmp_path / "runs.parquet")
    command = ("export", "runs.parquet", "--to", "every-eval-ever", "--evaluator", "Our lab")
    done = cli_inside(*command, "--out", "records")
    assert (done.returncode, done.stderr) == (0, "records: 4 runs in 4 files\n")
    found = records(tmp_path / "records")
    for record in found:
        check(record, "every_eval_ever")
    assert {record["model_info"]["id"] for record in found} == {"openai/judge", "lab/climber"}
    assert {record["source_metadata"]["source_organization_name"] for record in found} == {
        "Our lab"
    }
    scored = cli_inside("score", "runs.parquet", "--format", "json")
    (row,) = (one for one in model_rows(scored.stdout) if one["model"] == "openai/judge")
    (judge,) = (record for record in found if record["model_info"]["id"] == "openai/judge")
    for result in judge["evaluation_results"]:
        name = result["evaluation_result_id"].rpartition(".")[2]
        details = result["score_details"]
        assert details["score"] == row.get(name), name
        metric = result["metric_config"]
        assert metric["lower_is_better"] is LOWER.get(name, metric["lower_is_better"])
        interval = details["uncertainty"].get("confidence_interval")
        if name in row:
            assert (interval and [interval["lower"], interval["upper"]]) == row[f"{name}_ci"]
        if "score_type" in metric:
            assert metric["min_score"] <= details["score"] <= metric["max_score"]
