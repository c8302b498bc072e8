"""Figures that the design of the cases fixes have no interval, in any command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from support.gated import pairs_table

QUERIES = 60
BY_DESIGN = "the design of the cases fixes it"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A judge that reads contexts, and two runs of one that reads none."""
    rng = np.random.default_rng(1)
    parts = {"reads": ("judge", rng.random((QUERIES, 2)) < 0.8)}
    for name in ("alone", "again"):
        says_safe = rng.random(QUERIES) < 0.6
        parts[name] = ("none", np.stack([says_safe, ~says_safe], axis=1))
    for name, (delivery, right) in parts.items():
        made = pairs_table(right, model="m", run_id=name, delivery=delivery)
        made.write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def printed(cli: Cli, *arguments: str) -> Any:
    done = cli.ok(*arguments, "--format", "json")
    return json.loads(done.stdout)


def fixed(record: dict[str, Any]) -> set[str]:
    names = {name for name, why in record["withheld"].items() if why == BY_DESIGN}
    for name in names:
        assert record[name] is not None
        assert record[f"{name}_ci"] is None
    return names


SAME_ANSWER = {"accuracy", "follows", "as_intended", "inverted"}
"""Half of each pair is right, and none flips, if the context isn't read and labels are sides."""


def test_score(cli_inside: Cli, runs: Path) -> None:
    for row in printed(cli_inside, "score", "reads.parquet", "alone.parquet"):
        name = row["model"].removeprefix("baseline:")
        if name in ("intended", "always-safe", "always-unsafe"):
            # Answers and labels stand before any query is read: nothing has an interval.
            assert not [key for key in row if key.endswith("_ci") and row[key]]
            pairs = {"follows"} if name.startswith("always") else set()
            assert {*SAME_ANSWER, "safe_recall", "unsafe_recall"} - pairs <= fixed(row)
            # It can't be other than 0, and so is no baseline.
            assert (row["follows"] is None) is bool(pairs)
        elif row["delivery"] == "none":
            assert fixed(row) == SAME_ANSWER
            assert row["safe_recall_ci"]
        elif name == "m":
            assert fixed(row) == set()


def test_compare(cli_inside: Cli, runs: Path) -> None:
    found = printed(cli_inside, "compare", "alone.parquet", "again.parquet")
    both = {pair["metric"]: pair for pair in found["pairs"]}
    assert {name for name, one in both.items() if one.get("withheld") == BY_DESIGN} == SAME_ANSWER
    assert all(both[name]["ci"] is both[name]["p"] is None for name in SAME_ANSWER)
    # Against a run whose verdicts may flip, the change may vary as these do.
    found = printed(cli_inside, "compare", "alone.parquet", "reads.parquet")
    assert all(pair["ci"] for pair in found["pairs"] if pair["metric"] in SAME_ANSWER)


def test_gate(cli_inside: Cli, runs: Path) -> None:
    """What can't vary is decided by its value: no pair is right, and half of the cases."""
    rules = "{measure: follows, at_least: 0.2}, {measure: accuracy, worse_by_at_most: 0.1}"
    (runs / "gate.yaml").write_text(f"rules: [{rules}]")
    arguments = ("gate", "alone.parquet", "--baseline", "again.parquet", "--config", "gate.yaml")
    follows, accuracy = json.loads(cli_inside(*arguments, "--json").stdout)["rules"]
    assert (follows["value"], follows["verdict"], follows["bounds"]) == (0, "fail", None)
    assert (accuracy["change"], accuracy["verdict"], accuracy["bounds"]) == (0, "pass", None)
