"""The judgement table: written, read back, and checked."""

import re
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT

from casewise.errors import InputError
from casewise.scores import SCHEMA, make_table, read_paths, table_bytes
from casewise.scores._judgement_table import read_table

ROW = {
    "run_id": "r",
    "model": "m",
    "protocol": "probability",
    "delivery": "judge",
    "case_id": "c1",
    "query_id": "q1",
    "intended": "safe",
    "epoch": 1,
    "status": "ok",
    "verdict": "safe",
    "p_safe": 0.75,
    "answer": 'a "quoted"\nline',
}


def write(table: pl.DataFrame, path: Path) -> Path:
    path.write_bytes(table_bytes(table, path))
    return path


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    unread = ROW | {"case_id": "c2", "status": "unparsed", "verdict": None, "p_safe": None}
    table = make_table([ROW, unread])
    assert list(table.columns) == list(SCHEMA)
    assert read_table(write(table, tmp_path / name)).equals(table)


def test_columns_that_scoring_can_do_without_may_be_absent(tmp_path: Path) -> None:
    table = make_table([ROW]).drop("mass", "error", "query_id", "epoch")
    again = read_table(write(table, tmp_path / "t.parquet"))
    assert again.select("mass", "query_id", "epoch").row(0) == (None, "c1", 1)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": None}, "status"),
        ({"status": "fine"}, "status"),
        ({"verdict": "Safe"}, "verdict"),
        ({"verdict": None}, "verdict"),
        ({"p_safe": 7.0}, "p_safe"),
        ({"p_safe": float("nan")}, "p_safe"),
        ({"case_id": None}, "case_id"),
    ],
)
def test_wrong_values_are_refused(tmp_path: Path, change: dict[str, object], field: str) -> None:
    path = write(make_table([ROW | {"case_id": "c0"}, ROW | change]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"row 2, field '{field}': wrong value"):
        read_table(path)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write(make_table([ROW]).drop("verdict"), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="field 'verdict': not a judgement table"):
        read_table(path)


def test_no_parquet_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(InputError, match="not a judgement table"):
        read_table(path)


def test_one_run_id_over_two_conditions_loses_nothing(tmp_path: Path) -> None:
    table = make_table([ROW, ROW | {"protocol": "binary", "p_safe": None}])
    path = write(table, tmp_path / "t.parquet")
    assert len(read_paths([path]).table) == 2
    # The same judgements given twice count once.
    other = write(table, tmp_path / "copy.parquet")
    assert len(read_paths([path, other]).table) == 2


def test_the_documents_name_every_column_in_order() -> None:
    page = (ROOT / "docs/reference/scores.md").read_text("utf-8")
    listed = page.split("case and epoch: `")[1].split("`")[0]
    assert re.split(r",\s+", listed) == list(SCHEMA)
