"""Under every rate that rules have graded stands how far the rules agree with people."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from support.tables import random_table

import casewise as cw


def note() -> str:
    """The note as the front door has it."""
    (said,) = cw.score(acted("m", "rules")).records()[0]["notes"]
    assert re.match(r"Provisional: rules graded the replies.* over-refusal was off by", said)
    return str(said)


def acted(model: str, by: str | None, delivery: str = "system") -> pl.DataFrame:
    """A model's replies to 20 pairs; who graded them is null in tables of old."""
    rows = random_table(20, 1, protocol="respond", delivery=delivery, model=model, run_id=model)
    answers = (
        pl.when(pl.col("p_safe") > 0.5).then(pl.lit("compliance")).otherwise(pl.lit("refusal"))
    )
    return rows.with_columns(
        response_class=answers,
        graded_by=pl.lit(by, pl.String),
        verdict=pl.lit(None, pl.String),
        p_safe=pl.lit(None, pl.Float64),
    )


def plainly(text: str) -> str:
    return " ".join(text.split())


def outputs(cli_inside: Cli, folder: Path, *tables: pl.DataFrame) -> dict[str, str]:
    """What each way of printing says of the tables, its line breaks gone."""
    path = folder / "t.parquet"
    pl.concat(tables).write_parquet(path)
    forms = ("table", "markdown", "json", "csv")
    found = {form: cli_inside("score", path, "--format", form).stdout for form in forms}
    for name in ("page.html", "card.md"):
        assert cli_inside("report", path, "--out", folder / name).returncode == 0
        found[name] = (folder / name).read_text("utf-8").replace("\\", "")
    return {name: plainly(text) for name, text in found.items()}


def test_every_output_has_the_line(cli_inside: Cli, tmp_path: Path) -> None:
    found = outputs(
        cli_inside, tmp_path, acted("m", "rules"), acted("m", "rules", "none"), random_table(20, 1)
    )
    for name, text in found.items():
        assert note() in text, name
    records = json.loads(cli_inside("score", "t.parquet", "--format", "json").stdout)
    noted = [record["protocol"] for record in records if "notes" in record]
    assert noted == ["respond", "respond"], "a judge's row has no such note"


def test_comparisons_and_gates_have_the_line(cli_inside: Cli, tmp_path: Path) -> None:
    for name in ("before", "after"):
        acted("m", "rules").write_parquet(tmp_path / f"{name}.parquet")
    for form in ("table", "markdown", "json"):
        told = cli_inside("compare", "before.parquet", "after.parquet", "--format", form).stdout
        assert note() in plainly(told), form
    held = ("gate", "after.parquet", "--baseline", "before.parquet")
    assert note() in plainly(cli_inside(*held, "--markdown", "gate.md").stdout)
    assert note() in plainly((tmp_path / "gate.md").read_text("utf-8"))
    assert note() in json.loads(cli_inside(*held, "--json").stdout)["notes"]
    acted("m", "openai/g").write_parquet(tmp_path / "model.parquet")
    for command in (("compare", "model.parquet", "model.parquet"), ("gate", "model.parquet")):
        assert "rules graded" not in cli_inside(*command).stdout


@pytest.mark.parametrize("by", ["rules", "openai/g"])
def test_rates_by_rules_are_called_provisional(cli_inside: Cli, tmp_path: Path, by: str) -> None:
    """In words at the top of page and card, as a field of JSON, and at each rule of a gate."""
    found = outputs(cli_inside, tmp_path, acted("m", by))
    ruled = by == "rules"
    for name in ("page.html", "card.md"):
        assert ("Provisional: " in found[name]) is ruled, name
    row, *_ = cw.score(tmp_path / "t.parquet").records()
    assert row["provisional"] is ruled
    records = json.loads(cli_inside("score", "t.parquet", "--format", "json").stdout)
    acting = [record for record in records if record["protocol"] == "respond"]
    assert {record["provisional"] for record in acting if record["model"] == "m"} == {ruled}
    rules = "- {measure: over_refusal, at_most: .5}\n- {measure: coverage, at_least: .9}"
    (tmp_path / "rules.yaml").write_text(f"rules:\n{rules}", "utf-8")
    gate = ("gate", "t.parquet", "--config", "rules.yaml")
    told = cli_inside(*gate, "--junit", "j.xml", "--json")
    assert [rule["provisional"] for rule in json.loads(told.stdout)["rules"]] == [ruled, False]
    assert ("over_refusal (provisional)" in (tmp_path / "j.xml").read_text("utf-8")) is ruled
    acted("n", by).write_parquet(tmp_path / "n.parquet")
    told = cli_inside("compare", "t.parquet", "n.parquet", "--format", "json")
    assert told.returncode == 0, told.stderr
    (compared,) = json.loads(told.stdout)["comparisons"]
    assert compared["provisional"] is ruled


def test_the_line_names_whose_replies_where_others_were_graded_otherwise(
    cli_inside: Cli, tmp_path: Path
) -> None:
    found = outputs(cli_inside, tmp_path, acted("m", "rules"), acted("n", "openai/g"))
    for name in ("table", "markdown", "page.html", "card.md"):
        assert note().replace("replies", "replies of m (respond, system)", 1) in found[name], name
