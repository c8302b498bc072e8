"""What a terminal of 60 columns shows, and a pipe: every model by its whole name."""

from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from support.tables import random_table

A, B = "openai-api/local/my-model", "openai-api/local/my-cautious"
WIDTHS = [60, None]
"""None is a pipe."""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path) -> None:
    one = random_table(12, 1, model=A, run_id="a")
    other = random_table(12, 1, skill=0.2, model=B, run_id="b")
    one.write_parquet(tmp_path / "a.parquet")
    other.write_parquet(tmp_path / "b.parquet")
    pl.concat([one, other]).write_parquet(tmp_path / "two.parquet")


def shown(cli: Cli, width: int | None, *arguments: str) -> str:
    done = cli(*arguments, env={} if width is None else {"COLUMNS": str(width)})
    assert done.returncode in (0, 1, 3), done.stderr
    assert "…" not in done.stdout
    if width is not None:
        assert max(map(len, map(str.rstrip, done.stdout.splitlines()))) <= width
    return done.stdout


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "two.parquet", "--by", "category"),
        ("compare", "a.parquet", "b.parquet"),
        ("gate", "two.parquet"),
    ],
)
def test_names_are_whole(cli_inside: Cli, width: int | None, arguments: tuple[str, ...]) -> None:
    lines = [line.strip() for line in shown(cli_inside, width, *arguments).splitlines()]
    for name in (A, B):
        assert any(line.removeprefix("Before: ").removeprefix("After: ") == name for line in lines)


def test_a_pipe_has_a_line_for_each_row(cli_inside: Cli) -> None:
    done = cli_inside("score", "two.parquet", "--by", "category")
    table = done.stdout.split("Accuracy under")[0]
    rows = [line for line in table.splitlines() if line.startswith("   probability: c0")]
    assert len(rows) == 2
    assert all(len(row.split()) == 17 for row in rows)
