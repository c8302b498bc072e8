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


def test_a_folder_replaces_its_own_last_edition_alone(cli: Cli, tmp_path: Path) -> None:
    task = tmp_path / "task"
    assert cli("export", *TASK, "--out", "task").returncode == 0
    (task / "utils.py").write_text("broken")
    # The same form again: the last edition makes place.
    assert cli("export", *TASK, "--out", "task").returncode == 0
    assert "read_verdict" in (task / "utils.py").read_text()
    # Somebody's own file would be lost.
    (task / "mine.txt").write_text("mine")
    done = cli("export", *TASK, "--out", "task")
    assert done.returncode == 2
    assert "mine.txt" in done.stderr
    assert (task / "mine.txt").read_text() == "mine"
    # A folder of another form, of nobody, and a file.
    (task / "mine.txt").unlink()
    random_table(2, 1).write_parquet(tmp_path / "t.parquet")
    done = cli("export", "t.parquet", "--to", "hf", "--out", "task")
    assert done.returncode == 2
    assert "no --to hf made it" in done.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a.txt").touch()
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert "not empty" in cli("export", *TASK, "--out", "full").stderr
    assert "is a file" in cli("export", *TASK, "--out", "file").stderr
    assert cli("export", *TASK, "--out", "empty").returncode == 0
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_failed_export_leaves_the_last_edition(
    cli: Cli, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("export", source, "--to", "hf", "--out", "hf")
    assert cli(*command).returncode == 0
    before = sorted(tmp_path.rglob("*"))

    def full_disk(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full_disk)
        assert cli(*command).returncode != 0
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_says_who_made_it(cli: Cli, tmp_path: Path) -> None:
    assert cli("export", *TASK, "--out", "task").returncode == 0
    manifest = json.loads((tmp_path / "task/.casewise-export.json").read_text())
    assert (manifest["form"], manifest["texts"]) == ("lm-eval", "included")
    assert "distressing" in manifest["content warning"]
    files = {file.name for file in (tmp_path / "task").iterdir()} - {".casewise-export.json"}
    assert set(manifest["files"]) == files
