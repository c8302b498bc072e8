"""Files of votes: no cell is run by a spreadsheet, and a folder is replaced whole."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from files.test_folder import alone, fail_renames, held
from files.test_guard import QUICK, TEXTS, raw, run_by
from hypothesis import given
from hypothesis import strategies as st

from casewise_study.votes.collected import Collected, PersonRecord, PersonStatus
from casewise_study.votes.collected_csv import write_collected
from casewise_study.votes.result_files import VoteColumn, write_folder
from casewise_study.votes.result_files import read_table as read_votes_table
from casewise_study.votes.result_files import to_csv as votes_csv


@QUICK
@given(st.lists(TEXTS.filter(lambda text: text.strip() != ""), min_size=1, max_size=3))
def test_tables_of_votes_come_back(texts: list[str]) -> None:
    columns = [VoteColumn("reason", str, "a text")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(votes_csv(["reason"], [{"reason": text} for text in texts]).encode())
        assert not run_by(path)
        assert [row.cells["reason"] for row in read_votes_table(path, columns)] == texts


def test_numbers_of_votes_stay_numbers() -> None:
    assert raw(votes_csv(["kappa"], [{"kappa": -3.5}]))[1] == ["-3.5"]


def votes(out: Path) -> None:
    people = (PersonRecord("r1", PersonStatus.ACTIVE),)
    write_collected(out, Collected(people, (), ()), force=out.exists())


def files(out: Path) -> None:
    write_folder(out, {"a.txt": b"next", "deep/b.txt": b"next"})


@pytest.mark.parametrize(("write", "stands"), [(votes, True), (files, False)])
def test_every_writer_of_folders_replaces_them_so(
    tmp_path: Path,
    write: Callable[[Path], None],
    stands: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "place" / "out"
    if stands:
        write(out)
    else:
        out.mkdir(parents=True)
    before = held(out)
    with monkeypatch.context() as patch:
        fail_renames(patch, 2)
        with pytest.raises(OSError, match="busy"):
            write(out)
    assert held(out) == before
    assert alone(out)
    write(out)
    assert held(out)
