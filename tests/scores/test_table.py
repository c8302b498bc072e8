"""A judgement table from a file: checked, and read once."""

from pathlib import Path

import pytest
from support.tables import judgement, table

import casewise as cw
from casewise.errors import InputError


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": "fine"}, "status"),
        ({"verdict": None}, "verdict"),
        ({"p_safe": 7.0}, "p_safe"),
        ({"p_safe": float("nan")}, "p_safe"),
        ({"case_id": None}, "case_id"),
    ],
)
def test_wrong_values_are_refused(tmp_path: Path, change: dict[str, object], field: str) -> None:
    table(judgement("a"), judgement("b") | change).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"row 2, field '{field}': wrong value"):
        cw.judgements(tmp_path / "t.parquet")


def test_what_is_no_judgement_table(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table(judgement()).drop("verdict").write_parquet(path)
    with pytest.raises(InputError, match="field 'verdict': not a judgement table"):
        cw.judgements(path)
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(InputError, match="not a judgement table"):
        cw.judgements(path)


def test_columns_that_scoring_can_do_without_may_be_absent(tmp_path: Path) -> None:
    rows = table(judgement()).drop("mass", "error", "query_id", "epoch")
    rows.write_parquet(tmp_path / "t.parquet")
    again = cw.judgements(tmp_path / "t.parquet")
    assert again.select("mass", "query_id", "epoch").row(0) == (None, "q-safe", 1)


def test_one_run_id_over_two_conditions_loses_nothing(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("t.parquet", "copy.parquet")]
    for path in paths:
        # The same judgements given twice count once.
        table(judgement(), judgement(protocol="binary", p_safe=0.9)).write_parquet(path)
    assert len(cw.judgements(paths)) == 2
