"""Files that are cut, damaged or another's: one message that says where, and nothing written."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import prolific_csv, tasks_of

from casewise.errors import CasewiseError, InputError
from casewise_study.exchange.platform_files import csv_tasks, read_csv_answers
from casewise_study.exchange.prolific import join_prolific
from casewise_study.exchange.sittings import TakenIn, Tasks, read_salt
from casewise_study.votes.collected import Collected


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Tasks:
    return tasks_of(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def good(tasks: Tasks) -> dict[str, str]:
    answers = "".join(
        f"{tasks.mark},ann,0,{position},safe,2026-03-04T10:0{position}:00Z\n"
        for position in range(5)
    )
    return {
        "csv": f"study,rater,block,position,verdict,time\n{answers}",
        "prolific": prolific_csv(
            [{"Submission id": "s", "Participant id": "p", "Status": "APPROVED", "Age": "30"}]
        ),
    }


def read(kind: str, tasks: Tasks, path: Path) -> TakenIn:
    if kind == "prolific":
        return join_prolific(Collected((), ()), [path], columns=["Age"], name=str)
    return read_csv_answers([path], tasks, name=str, panel="")


def read_or_refuse(kind: str, tasks: Tasks, path: Path) -> TakenIn | None:
    """What was read, or None for an error that names the file."""
    message = None
    try:
        return read(kind, tasks, path)
    except CasewiseError as error:
        message = str(error)
    assert str(path) in message
    return None


KINDS = ("csv", "prolific")


@pytest.mark.parametrize("kind", KINDS)
def test_each_file_is_read_by_its_own_reader_alone(
    kind: str, good: dict[str, str], tasks: Tasks, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text(good[kind], "utf-8", newline="")
    for other in KINDS:
        if other == kind:
            read(other, tasks, path)
            continue
        with pytest.raises(InputError) as caught:
            read(other, tasks, path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) - len(str(path)) < 250


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_file_cut_anywhere_says_so_or_loses_whole_rows(
    data: st.DataObject, kind: str, good: dict[str, str], tasks: Tasks, tmp_path: Path
) -> None:
    text = good[kind]
    cut = data.draw(st.integers(0, len(text) - 1))
    path = tmp_path / "cut"
    path.write_text(text[:cut], "utf-8", newline="")
    taken = read_or_refuse(kind, tasks, path)
    if taken is not None:
        # Only whole rows, or the end of the last cell, are lost.
        assert len(taken.collected.people) <= 2


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_damaged_file_never_crashes_a_reader(
    data: st.DataObject, kind: str, good: dict[str, str], tasks: Tasks, tmp_path: Path
) -> None:
    raw = bytearray(good[kind].encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path = tmp_path / "damaged"
    path.write_bytes(bytes(raw))
    read_or_refuse(kind, tasks, path)


def change(kind: str, good: dict[str, str], old: str, new: str) -> str:
    assert old in good[kind]
    return good[kind].replace(old, new, 1)


@pytest.mark.parametrize(
    ("kind", "old", "new", "words"),
    [
        ("csv", ",safe,", ",maybe,", ("row ending at line 2", "verdict", "maybe")),
        ("csv", "desks@", "other@", ("row ending at line 2", "study", "another study")),
        ("csv", "2026-03-04T10:01", "March", ("row ending at line 3", "time", "a time such as")),
        ("csv", "ann,0,0", "ann,0,9", ("position", "0 to 4")),
        ("csv", "ann,0,0", "ann,99,0", ("block", "0 to 7")),
        ("csv", "ann,0,0", ",0,0", ("rater", "nobody")),
        ("csv", "ann,0,1", "ann,0,0", ("row ending at line 3", "answered this page before")),
        ("csv", "study,rater", "study,study", ("no column 'rater'",)),
        ("csv", "verdict,time", "verdict,verdict", ("stands twice",)),
        ("prolific", "APPROVED", "LOST", ("row ending at line 2", "Status", "APPROVED")),
    ],
)
def test_a_wrong_cell_is_named(
    kind: str,
    old: str,
    new: str,
    words: tuple[str, ...],
    good: dict[str, str],
    tasks: Tasks,
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_text(change(kind, good, old, new), "utf-8", newline="")
    with pytest.raises(InputError) as caught:
        read(kind, tasks, path)
    for word in words:
        assert word in str(caught.value)


def test_a_study_that_was_planned_anew_is_another(good: dict[str, str], tmp_path: Path) -> None:
    again = tasks_of(tmp_path / "again", seed=8)
    path = tmp_path / "file"
    path.write_text(good["csv"], "utf-8")
    with pytest.raises(InputError, match="as it was planned before"):
        read("csv", again, path)


def test_addresses_are_no_pseudonyms(good: dict[str, str], tasks: Tasks, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(good["csv"].replace("ann", "ann@example.org"), "utf-8")
    with pytest.raises(InputError, match="--salt-file"):
        read_csv_answers([path], tasks, name=None, panel="")
    assert read_csv_answers([path], tasks, name=lambda one: "x", panel="").collected.people


@pytest.mark.parametrize("text", ["", "short", "   \n"])
def test_a_salt_is_long_enough(text: str, tmp_path: Path) -> None:
    (tmp_path / "salt").write_text(text, "utf-8")
    with pytest.raises(InputError, match="salt"):
        read_salt(tmp_path / "salt", create=True)


def test_the_csv_of_tasks_can_be_filled_in(tasks: Tasks, tmp_path: Path) -> None:
    path = tmp_path / "filled.csv"
    header, *rows = csv_tasks(tasks)["tasks.csv"].decode().split("\r\ndesks@")
    filled = [
        f"\r\n{'ann' if row[9:13] == '0,0,' else ''},{'safe' if row[9:13] == '0,0,' else ''},desks@"
        + row
        for row in rows
    ]
    path.write_text(f"rater,verdict,{header}{''.join(filled)}", "utf-8", newline="")
    taken = read_csv_answers([path], tasks, name=None, panel="")
    assert [vote.position for vote in taken.collected.votes] == [0]
    assert taken.notes[0] == "39 rows have neither rater nor verdict: left out"
