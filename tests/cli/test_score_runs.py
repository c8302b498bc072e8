"""What is said of a run that contradicts itself, and of two of one name."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.gated import pairs_table

import casewise as cw


def judge(wrong: int = 0, *, queries: int = 30, run: str = "1") -> pl.DataFrame:
    """A judge of pairs that is wrong in the first queries."""
    right = np.ones((queries, 2), bool)
    right[:wrong] = False
    return pairs_table(right, model="ckpt", run_id=run)


def flat(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.fixture
def views(cli_inside: Cli, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Every view of some runs, by paths in the folder."""

    def shown(*runs: str | Path) -> dict[str, str]:
        found = {
            one: cli_inside("score", *runs, "--format", one, env={"COLUMNS": "1000"}).stdout
            for one in ("table", "markdown", "json")
        }
        for name in ("page.html", "card.md"):
            cli_inside.ok("report", *runs, "--out", name)
            found[name] = (tmp_path / name).read_text("utf-8")
        return {name: flat(text) for name, text in found.items()}

    return shown


@pytest.mark.parametrize(("alike", "share"), [(0, 0), (15, 50)])
def test_repeats_tell_how_often_a_model_agrees_with_itself(
    views: Callable[..., dict[str, str]], tmp_path: Path, alike: int, share: int
) -> None:
    """Two epochs; in the second the first queries have the same verdicts, the rest the opposite."""
    again = judge(30).with_columns(epoch=pl.lit(2, pl.Int64))
    same = pl.col("query_id").rank("dense") <= alike
    other = pl.col("verdict").replace({"safe": "unsafe", "unsafe": "safe"})
    again = again.with_columns(verdict=pl.when(same).then(other).otherwise("verdict"))
    pl.concat([judge(), again]).write_parquet(tmp_path / "run.parquet")
    for name, text in views("run.parquet").items():
        assert f"agrees with itself in {share} of 100 repeats" in text, name
    (score, *_) = cw.score(tmp_path / "run.parquet").record()
    assert score["self_agreement"] == share / 100


def test_two_runs_of_one_name_are_both_shown_by_their_paths(
    views: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    for name, wrong in (("good", 0), ("bad", 20)):
        (tmp_path / name).mkdir()
        judge(wrong, run=name).write_parquet(tmp_path / name / "run.parquet")
    for name, text in views("good/run.parquet", "bad/run.parquet").items():
        for place in ("good", "bad"):
            assert f"from={place}/run.parquet" in text or f"from {place}/run.parquet" in text, name
        if name in {"table", "markdown"}:
            assert "calls unsafe 67 of 100" in text, name
            assert "calls unsafe 0 of 100" in text, name
    found = cw.score([tmp_path / "good/run.parquet", tmp_path / "bad/run.parquet"])
    assert {one.condition.title for one in found} == {
        "ckpt (binary, from good/run.parquet)",
        "ckpt (binary, from bad/run.parquet)",
    }
    # A run by itself needs no path.
    (alone,) = cw.score(tmp_path / "good/run.parquet")
    assert alone.condition.title == "ckpt (binary)"
