"""Tables as spreadsheet programs write them: read, or refused with a word on what to change."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.workbooks import Grid, write_workbook

import casewise as cw
from casewise.errors import InputError

BASE = "query: q\nsource: {constant: desk}\nlicence: {constant: CC0-1.0}\n"


# What is left unread, or read otherwise than it says, is told in warnings.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def imported(path: Path, text: str = "") -> Any:
    """The cases; what was noted stands in their `notes`."""
    (path.parent / "map.yaml").write_text(BASE + text, "utf-8")
    return cw.load_cases(path, path.parent / "map.yaml")


def refused(path: Path, text: str = "") -> str:
    with pytest.raises(InputError) as caught:
        imported(path, text)
    return str(caught.value)


ROWS: Grid = [
    ["q", "n", "share", "when", "sure", "note"],
    ["May I? ", 1, 0.25, "date:45292", True, None],
    ["Où est-ce <là>  & là?", 2, 1, "date:45293.5", False, "=x"],
]
TEXT = "id: n\npublished_safe_rate: share\ntags: [when, sure, note]\n"


def test_cells_of_a_workbook(tmp_path: Path) -> None:
    found = imported(write_workbook(tmp_path / "t.xlsx", {"S": ROWS}), TEXT)
    one, two = found
    assert (one.id, one.query, one.published_safe_rate) == ("1", "May I? ", 0.25)
    assert one.tags == ("2024-01-01", "true")
    tags = ("2024-01-02T12:00:00", "false", "x")
    assert (two.query, two.tags) == ("Où est-ce <là>  & là?", tags)


def test_sheets_and_what_stands_around_a_table(tmp_path: Path) -> None:
    grid: Grid = [[None, None], [None, "q", None, "n"], [], [None, "Why?", None, 7]]
    book = write_workbook(tmp_path / "t.xlsx", {"empty": [], "A": grid, "B": [["q"], ["Who?"]]})
    found = imported(book, "id: n\n")
    assert [(case.id, case.query) for case in found] == [("7", "Why?")]
    assert found.notes == ("only the sheet 'A' is read; left unread: B (sheet: NAME)",)
    assert [case.query for case in imported(book, "sheet: B\n")] == ["Who?"]
    assert "one of empty, A, B" in refused(book, "sheet: C\n")


GROUPED: Grid = [
    ["item", None, "ratings", None],
    ["q", "n", "mean", "people"],
    ["May I?", 1, 0.5, 20],
    ["May you?", 2, 0.25, 21],
]


def test_merged_header_rows(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "t.xlsx", {"S": GROUPED}, merged=["A1:B1", "C1:D1"])
    for header in ("", "header: 2\n"):
        found = imported(book, header + "published_safe_rate: mean\ntags: [people]\n")
        assert [case.published_safe_rate for case in found] == [0.5, 0.25]
    assert "no such row" in refused(book, "header: 9\n")


def test_groups_tell_names_apart_and_merged_values_hold_below(tmp_path: Path) -> None:
    grid: Grid = [
        ["q", "without", None, "with", None, "group"],
        [None, "safe", "unsafe", "safe", "unsafe", None],
        ["May I?", 1, 2, 3, 4, "g"],
        ["May you?", 5, 6, 7, 8, None],
    ]
    merged = ["A1:A2", "B1:C1", "D1:E1", "F3:F4"]
    book = write_workbook(tmp_path / "t.xlsx", {"S": grid}, merged=merged)
    text = "votes_safe: with safe\nvotes_unsafe: without unsafe\ncategory: group\n"
    found = imported(book, text)
    counts = [(case.votes_safe, case.votes_unsafe, case.category) for case in found]
    assert counts == [(3, 2, "g"), (7, 6, "g")]


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"q;s\nWarum nur?;0,5\n", ""),
        ("q;s\r\nWarum nur?;0,5\r\n".encode("utf-8-sig"), ""),
        (b"sep=;\nq;s\nWarum nur?;0,5\n", "in row 2"),
        ("q\ts\nWarum nur?\t0,5\n".encode("utf-16"), ""),
        (b"q|s\nWarum nur?|.5\n", ""),
        (b",q,s,\n0,Warum nur?,.5,\n", ""),
        ("q;s\nWarum nür?;0,5\n".encode("cp1252"), "read as Windows-1252"),
    ],
    ids=["semicolons", "with a mark", "sep=", "Unicode text", "bars", "a data frame's", "cp1252"],
)
def test_csv_as_programs_write_it(tmp_path: Path, content: bytes, note: str) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    found = imported(tmp_path / "t.csv", "published_safe_rate: s\n")
    (case,) = found
    assert case.query.replace("ü", "u") == "Warum nur?"
    assert case.published_safe_rate == 0.5
    assert note in " ".join(found.notes)
    assert bool(found.notes) == bool(note)


def test_another_encoding_is_named_in_the_mapping(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("q\nなぜ?\n".encode("shift_jis"))
    assert imported(tmp_path / "t.csv", "encoding: shift_jis\n")[0].query == "なぜ?"
    assert "unknown encoding" in refused(tmp_path / "t.csv", "encoding: utf-9\n")
    assert "name its encoding" in refused(tmp_path / "t.csv", "encoding: ascii\n")
    (tmp_path / "t.json").write_bytes(json.dumps([{"q": "é"}], ensure_ascii=False).encode("cp1252"))
    assert "wrong encoding" in refused(tmp_path / "t.json")
    assert imported(tmp_path / "t.json", "encoding: cp1252\n")[0].query == "é"


@pytest.mark.parametrize(
    "content",
    [
        '{"q": {"0": "One?", "1": "Two?"}, "n": {"0": 1, "1": 2}}',
        '{"q": ["One?", "Two?"], "n": [1, 2]}',
        '{"1": {"q": "One?"}, "2": {"q": "Two?"}}',
        '{"about": {"n": 2}, "rows": [{"q": "One?", "n": 1}, {"q": "Two?", "n": 2}]}\n',
    ],
    ids=["a data frame's", "columns", "by key", "within"],
)
def test_json_in_other_shapes(tmp_path: Path, content: str) -> None:
    (tmp_path / "t.json").write_text(content)
    found = imported(tmp_path / "t.json", "id: key\n" if content.startswith('{"1"') else "id: n\n")
    assert [(case.id, case.query) for case in found] == [("1", "One?"), ("2", "Two?")]
