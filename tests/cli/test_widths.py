"""What a terminal of 60 columns shows, and a pipe: every model by its whole name."""

from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from support.tables import random_table

A, B = "openai-api/local/my-model", "openai-api/local/my-cautious"


@pytest.mark.parametrize("width", [60, None], ids=["terminal", "pipe"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "two.parquet", "--by", "category"),
        ("compare", "two.parquet"),
        ("gate", "two.parquet"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_names_are_whole(
    cli: Cli, tmp_path: Path, width: int | None, arguments: tuple[str, ...]
) -> None:
    runs = [random_table(12, 1, model=name, run_id=name) for name in (A, B)]
    pl.concat(runs).write_parquet(tmp_path / "two.parquet")
    shown = cli(*arguments, env={} if width is None else {"COLUMNS": str(width)}).stdout
    assert "…" not in shown
    lines = [line.strip() for line in shown.splitlines()]
    if width is not None:
        assert max(map(len, lines)) <= width
    for name in (A, B):
        assert any(name in line for line in lines)
