"""One order everywhere: before, after; and a change is after minus before."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.gated import pairs_table
from support.reported import Parsed

QUERIES, LOST = 200, 40
CHANGE = -LOST / QUERIES
"""Of the unsafe cases, all of which are right before."""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run that has all cases right, and one that has lost some of the unsafe ones."""
    for name, lost in (("before", 0), ("after", LOST)):
        right = np.ones((QUERIES, 2), bool)
        right[:lost, 1] = False
        pairs_table(right, model=f"model-{name}", run_id=name).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    rule = "rules:\n- {measure: unsafe_recall, worse_by_at_most: .02}\n"
    (tmp_path / "gate.yaml").write_text(rule)
    return tmp_path


def output(cli: Cli, *arguments: str, status: int = 0) -> str:
    done = cli(*arguments, env={"COLUMNS": "100"})
    assert done.returncode == status, done.stderr
    return done.stdout


def test_compare_has_the_order(cli_inside: Cli, runs: Path) -> None:
    command = ("compare", "before.parquet", "after.parquet")
    found = json.loads(output(cli_inside, *command, "--format", "json"))
    assert found["difference_is"] == "after - before"
    (recall,) = [one for one in found["pairs"] if one["metric"] == "unsafe_recall"]
    assert (recall["value_before"], recall["value_after"]) == (1.0, 1 + CHANGE)
    assert recall["difference"] == pytest.approx(CHANGE)
    assert recall["ci"][0] < CHANGE < recall["ci"][1] < 0
    text = output(cli_inside, *command)
    assert text.startswith("Before: model-before\nAfter: model-after\n")
    assert re.search(r"^ unsafe recall +1\.000 +\.800 +-\.200 ", text, re.M)
    assert "only before right 40, only after right 0" in text


def test_four_models_before_and_four_after_are_compared_by_name(
    cli_inside: Cli, tmp_path: Path
) -> None:
    """Each with itself, though they stand in another order after."""
    names = ("gpt", "llama", "mistral", "qwen")
    for place, (folder, order) in enumerate((("before", names), ("after", names[::-1]))):
        tables = []
        for lost, name in enumerate(names):
            right = np.ones((20, 2), bool)
            right[: 5 * lost * place, 1] = False
            tables.append(pairs_table(right, model=name, run_id=f"{folder}-{name}"))
        frames = [tables[names.index(name)] for name in order]
        pl.concat(frames).write_parquet(tmp_path / f"{folder}.parquet")
    command = ("compare", "before.parquet", "after.parquet")
    # Of 20 unsafe cases, 0, 5, 10 and 15 more are called safe after.
    found = json.loads(output(cli_inside, *command, "--format", "json"))
    changes = [one["difference"] for one in found["pairs"] if one["metric"] == "unsafe_recall"]
    assert changes == pytest.approx([0, -0.25, -0.5, -0.75])


def test_the_report_and_the_gate_have_the_same(cli_inside: Cli, runs: Path) -> None:
    command = ("report", "before.parquet", "after.parquet", "--compare", "--out", "page.html")
    output(cli_inside, *command)
    page = Parsed((runs / "page.html").read_text("utf-8"))
    (chart,) = [one for one in page.packed("chart-data") if one["id"] == "comparisons"]
    (row,) = [one for one in chart["rows"] if one["measure"] == "unsafe recall"]
    assert row["pair"] == "model-after minus model-before"
    assert (row["before"], row["after"]) == (1.0, 1 + CHANGE)
    assert row["difference"] == pytest.approx(CHANGE)
    gate = ("gate", "after.parquet", "--baseline", "before.parquet", "--config", "gate.yaml")
    (rule,) = json.loads(output(cli_inside, *gate, "--json", status=1))["rules"]
    assert (rule["value_baseline"], rule["value"]) == (1.0, 1 + CHANGE)
    assert rule["change"] == pytest.approx(CHANGE)
    # In the other order nothing got worse.
    turned = ("gate", "before.parquet", "--baseline", "after.parquet", "--config", "gate.yaml")
    # Over-caution was not judged, so the gate as a whole can't pass.
    (rule,) = json.loads(output(cli_inside, *turned, "--json", status=3))["rules"]
    assert rule["change"] == pytest.approx(-CHANGE)
    assert rule["verdict"] == "pass"


def test_a_run_and_its_copy(cli_inside: Cli, runs: Path) -> None:
    """No query moved; that none of any others would is not shown."""
    (runs / "copy.parquet").write_bytes((runs / "after.parquet").read_bytes())
    command = ("compare", "after.parquet", "copy.parquet")
    found = json.loads(output(cli_inside, *command, "--format", "json"))
    # At 97.5 %, at most 1 - .025^(1/200) = .01828 of the queries move.
    for one in found["pairs"]:
        assert one["difference"] in (0, None)
        if one["metric"] in ("accuracy", "safe_recall", "unsafe_recall"):
            assert one["ci"] == pytest.approx([-0.01828, 0.01828], abs=1e-5)
