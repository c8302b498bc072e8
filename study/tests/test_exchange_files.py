"""Exports that are cut, damaged or another's: one message that says where, and nothing written."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import prolific_csv

from casewise.errors import CasewiseError, InputError
from casewise_study.exchange.prolific import join_prolific
from casewise_study.votes.collected import Collected

GOOD = prolific_csv(
    [{"Submission id": "s", "Participant id": "p", "Status": "APPROVED", "Age": "30"}]
)
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(path: Path) -> Collected:
    return join_prolific(Collected((), ()), [path], columns=["Age"], name=str).collected


def read_or_refuse(path: Path) -> None:
    """Read it, or meet an error that names the file."""
    message = str(path)
    try:
        read(path)
    except CasewiseError as error:
        message = str(error)
    assert str(path) in message


def test_an_export_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(GOOD, "utf-8", newline="")
    assert read(tmp_path / "file") == Collected((), ())


@QUICK
@given(cut=st.integers(0, len(GOOD) - 1))
def test_a_file_cut_anywhere_is_read_or_refused_by_name(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_text(GOOD[:cut], "utf-8", newline="")
    read_or_refuse(path)


@QUICK
@given(data=st.data())
def test_a_damaged_file_never_crashes_the_reader(data: st.DataObject, tmp_path: Path) -> None:
    raw = bytearray(GOOD.encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path = tmp_path / "damaged"
    path.write_bytes(bytes(raw))
    read_or_refuse(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("APPROVED", "LOST", ("row ending at line 2", "Status", "APPROVED")),
        ("Submission id", "Age", ("no column 'Submission id'", "Prolific's export")),
        ("Sex", "Age", ("the column stands twice", "Age")),
        (",", ";", ("semicolons", "commas")),
        ("Submission", '{"Submission', ("looks like JSON",)),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(GOOD.replace(old, new, -1 if old == "," else 1), "utf-8", newline="")
    with pytest.raises(InputError) as caught:
        read(path)
    for word in words:
        assert word in str(caught.value)
