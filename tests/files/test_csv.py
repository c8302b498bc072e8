"""CSV: what is written is read back exactly, and errors say where."""

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from casewise.files import csv_cells, csv_rows, csv_text, read_text

FILE = Path("t.csv")
ODD = "=+-@\uff1d\uff0b\uff0d\uff20'\t\r\n \u2028\"\x00,;1"
TEXTS = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=8)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[TEXTS] * n), min_size=1)))
@example([("\uff1d1", "\n=1"), ("'=1", "''=1")])
@example([("",)])
def test_tables_come_back(table: list[tuple[str, ...]]) -> None:
    names, *rows = table
    for guarded in (True, False):
        text = csv_text(names, rows, guarded=guarded)
        found = list(csv_rows(text, FILE, guarded=guarded))
        assert [row.cells for row in found] == table
        assert [row.number for row in found] == list(range(len(table)))


def test_a_row_knows_its_place_and_blank_lines_are_counted() -> None:
    rows = list(csv_rows('a,b\n"1\n1",2\n\n3,4\n', FILE))
    assert [(row.number, row.line, row.cells) for row in rows] == [
        (0, 1, ("a", "b")),
        (1, 3, ("1\n1", "2")),
        (2, 4, ()),
        (3, 5, ("3", "4")),
    ]
    assert rows[3].by_name(["x", "y"], FILE, "record 3") == {"x": "3", "y": "4"}


def test_other_delimiters_a_byte_order_mark_and_cells_of_a_megabyte(tmp_path: Path) -> None:
    long = "x" * (1 << 20)
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + f"a\tb\r\n{long}\t'=1\r\n".encode())
    header, row = csv_rows(read_text(path), path, delimiter="\t", guarded=False)
    assert header.cells == ("a", "b")
    assert row.cells == (long, "'=1")
    assert csv_cells(f"{long},b") == (long, "b")
    assert csv_cells("") == ()
