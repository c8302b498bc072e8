"""``casewise score`` and ``casewise compare`` as a person uses them."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from support.tables import random_table


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two models over the same 30 pairs, the second the better one."""
    random_table(30, 1, skill=0.3, model="old").write_parquet(tmp_path / "old.parquet")
    random_table(30, 1, skill=1.0, model="new").write_parquet(tmp_path / "new.parquet")
    return "old.parquet", "new.parquet"


def test_every_format_has_the_same_figures(cli: Cli, files: tuple[str, str]) -> None:
    rows = json.loads(cli("score", *files, "--format", "json").stdout)
    assert [row["model"] for row in rows[:2]] == ["old", "new"]
    lines = list(csv.DictReader(io.StringIO(cli("score", *files, "--format", "csv").stdout)))
    assert [float(line["accuracy"]) for line in lines[:2]] == [row["accuracy"] for row in rows[:2]]
    assert float(lines[0]["as_intended"]) == rows[0]["as_intended"]
    # Votes alone don't tell the accuracy against all people: no figure corrects for them.
    assert not [name for name in rows[0] if name.endswith("_corrected")]
    for form in ("table", "markdown"):
        assert "rected" not in cli("score", *files, "--format", form).stdout
    shown = f"{rows[1]['accuracy']:.3f}".removeprefix("0")
    for form in ("markdown", "table"):
        text = cli("score", *files, "--all", "--format", form).stdout
        assert shown in text
        assert "one person" in text
        assert "ceiling" in text


def test_a_table_in_csv_is_the_same_table(cli: Cli, tmp_path: Path, files: tuple[str, str]) -> None:
    pl.read_parquet(tmp_path / files[0]).write_csv(tmp_path / "old.csv")
    parquet = cli("score", files[0], "--format", "json").stdout
    assert json.loads(cli("score", "old.csv", "--format", "json").stdout) == json.loads(parquet)
    text = (
        (tmp_path / "old.csv")
        .read_text()
        .replace("probability", "binary")
        .replace("unsafe", "maybe")
    )
    (tmp_path / "wrong.csv").write_text(text)
    refused = cli("score", "wrong.csv")
    assert refused.returncode == 2
    assert "wrong.csv" in refused.stderr
