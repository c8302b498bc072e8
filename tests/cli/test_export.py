"""``casewise export`` as a person uses it: names, folders, refusals."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from support.tables import random_table

TASK = ("--to", "lm-eval", "--cases", "starter", "--reveal")


@pytest.fixture
def source(tmp_path: Path) -> str:
    rows = random_table(4, 1, answer="The reply.", explanation="Why.")
    rows.write_parquet(tmp_path / "source.parquet")
    return "source.parquet"


@pytest.mark.parametrize("suffix", [".csv"])
def test_texts_of_a_table(cli: Cli, tmp_path: Path, source: str, suffix: str) -> None:
    done = cli("export", source, "--out", f"shut{suffix}")
    assert done.returncode == 0, done.stderr
    assert "8 judgements" in done.stderr
    assert cli("export", source, "--out", f"open{suffix}", "--reveal").returncode == 0
    shut, shown = (read(tmp_path / f"{name}{suffix}") for name in ("shut", "open"))
    assert "answer" not in shut.columns
    assert set(shut["answer_length"].cast(pl.Int64)) == {len("The reply.")}
    assert set(shown["answer"]) == {"The reply."}
    # Withheld once more, a table says what it said, and there is nothing left to reveal.
    again = cli("export", f"shut{suffix}", "--out", f"again{suffix}", "--reveal")
    assert again.returncode == 0
    assert read(tmp_path / f"again{suffix}")["answer"].null_count() == 8
    assert scores(cli, f"again{suffix}") == scores(cli, f"shut{suffix}") == scores(cli, source)


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)


def scores(cli: Cli, path: str) -> Any:
    return json.loads(cli("score", path, "--format", "json").stdout)


def test_a_folder_replaces_nothing(cli: Cli, tmp_path: Path) -> None:
    assert cli("export", *TASK, "--out", "task").returncode == 0
    assert "distressing" in (tmp_path / "task/README.md").read_text()
    before = sorted(tmp_path.rglob("*"))
    (tmp_path / "file").touch()
    for out in ("task", "file"):
        done = cli("export", *TASK, "--out", out)
        assert done.returncode == 2
        assert "is there already" in done.stderr
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "file"])
    (tmp_path / "empty").mkdir()
    assert cli("export", *TASK, "--out", "empty").returncode == 0
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_failed_export_leaves_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(self: Path, *_: Any, **__: Any) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full_disk)
        assert cli("export", *TASK, "--out", "task").returncode != 0
    assert not list(tmp_path.iterdir())
