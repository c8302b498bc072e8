"""What a terminal of 60, 80 or 200 columns shows, and a pipe: every model by its whole name."""

import re
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli
from support.tables import random_table

A, B = "openai-api/local/my-model", "openai-api/local/my-cautious"
WIDTHS = [60, 200, None]
"""None is a pipe."""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path) -> None:
    one = random_table(12, 1, model=A, run_id="a")
    other = random_table(12, 1, skill=0.2, model=B, run_id="b")
    one.write_parquet(tmp_path / "a.parquet")
    other.write_parquet(tmp_path / "b.parquet")
    pl.concat([one, other]).write_parquet(tmp_path / "two.parquet")


def env(width: int | None) -> dict[str, str]:
    servers = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": "http://127.0.0.1:1"}
    return servers | ({} if width is None else {"COLUMNS": str(width)})


def shown(cli: Cli, width: int | None, *arguments: str) -> str:
    done = cli(*arguments, env=env(width))
    assert done.returncode in (0, 1, 3), done.stderr
    assert "…" not in done.stdout
    if width is not None:
        assert max(map(len, map(str.rstrip, done.stdout.splitlines()))) <= width
    return done.stdout


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "two.parquet"),
        ("score", "two.parquet", "--by", "category"),
        ("compare", "a.parquet", "b.parquet"),
        ("gate", "two.parquet"),
    ],
)
def test_names_are_whole(cli_inside: Cli, width: int | None, arguments: tuple[str, ...]) -> None:
    lines = [line.strip() for line in shown(cli_inside, width, *arguments).splitlines()]
    for name in (A, B):
        assert any(line.removeprefix("Before: ").removeprefix("After: ") == name for line in lines)


SWEEP = f"model: [{A}, {B}]\nprotocol: [binary, probability]\nablate: [none, recipient]\n"


@pytest.mark.parametrize("width", WIDTHS)
def test_plans_and_matrices(cli_inside: Cli, tmp_path: Path, width: int | None) -> None:
    """Where a name doesn't fit, it goes on below, after a slash."""
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    for option in ("--dry-run", "--status"):
        text = shown(cli_inside, width, "run", "sweep.yaml", option)
        for name in (A, B):
            *front, last = re.split("(?<=/)", name)
            whole = name in text
            folded = all(part in text for part in front) and re.search(rf"\b{last}(\s|$)", text)
            assert whole if width in (200, None) else whole or folded


@pytest.mark.parametrize("width", WIDTHS)
def test_planning(cli_inside: Cli, width: int | None) -> None:
    options = ("--test", "proportions", "--p1", ".6", "--n", "21", "--power", ".8")
    text = shown(cli_inside, width, "power", *options)
    assert "or less is told" in " ".join(text.split())


def test_a_pipe_has_a_line_for_each_row(cli_inside: Cli) -> None:
    done = cli_inside("score", "two.parquet", "--by", "category")
    table = done.stdout.split("Accuracy under")[0]
    rows = [line for line in table.splitlines() if line.startswith("   probability: c0")]
    assert len(rows) == 2
    assert all(len(row.split()) == 17 for row in rows)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_baseline_names_its_category(cli_inside: Cli, width: int | None) -> None:
    text = shown(cli_inside, width, "score", "two.parquet", "--by", "category")
    held = text.split("baselines")[1].split("\n\n")[0]
    rows: list[str] = []
    for line in filter(None, map(str.strip, held.splitlines())):
        name = line.split("  ")[0]
        if re.fullmatch(r"c\d", name):
            rows[-1] += f" {name}"  # folded
        else:
            rows.append(name)
    assert len(rows) == len(set(rows)) == 5 * 6
    for name in ("intended", "always safe", "always unsafe", "keyword", "one person", "ceiling"):
        assert {f"{name}: c{number}" for number in range(5)} <= set(rows)
