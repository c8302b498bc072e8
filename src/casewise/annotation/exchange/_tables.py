"""CSV: written so that no spreadsheet runs a cell, and read back exactly."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import InputError
from casewise.files import csv_rows, csv_text, read_text

_KINDS = {
    "Mechanical Turk's results": {"HITId", "WorkerId", "AssignmentId"},
    "a Prolific export": {"Submission id", "Participant id", "Status"},
    "casewise's plain CSV of answers": {"rater", "block", "position", "verdict"},
    "casewise's plain CSV of tasks": {"block", "position", "query", "context"},
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row, and where it stands."""

    record: str
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A CSV file: the names of its columns, and its rows."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]


def to_csv(names: Sequence[str], rows: Iterable[Sequence[str]], *, guarded: bool = True) -> bytes:
    """A CSV file in UTF-8, as RFC 4180 says, every cell guarded.

    Args:
        names: The header.
        rows: The cells.
        guarded: False where the reader shows a cell as it stands, apostrophes included; the cells
            must then be safe in themselves.
    """
    return csv_text(names, rows, guarded=guarded).encode("utf-8", "replace")


def read_csv(path: Path, needed: Iterable[str], *, kind: str, guarded: bool = False) -> CsvTable:
    """Read a CSV file. Rows of empty cells are passed over.

    Args:
        path: The file.
        needed: Columns that must be there.
        kind: What the file ought to be, for messages.
        guarded: Whether cells were guarded when they were written, as ``to_csv`` does.

    Raises:
        InputError: The file can't be read, is cut short, or is something else.
    """
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        raise InputError("looks like JSON", file=path, expected=f"{kind} (CSV)")
    filled = (
        row
        for row in csv_rows(text, path, guarded=guarded)
        if any(cell.strip() for cell in row.cells)
    )
    names: tuple[str, ...] = ()
    rows = []
    for row in filled:
        record = f"row ending at line {row.line}"
        if names:
            rows.append(Row(record, row.by_name(names, path, record)))
        else:
            names = _header(tuple(cell.strip() for cell in row.cells), tuple(needed), path, kind)
    if not rows:
        raise InputError("no rows below the header", file=path, expected=kind)
    return CsvTable(names, tuple(rows))


def _header(
    names: tuple[str, ...], needed: tuple[str, ...], path: Path, kind: str
) -> tuple[str, ...]:
    missing = [name for name in needed if name not in names]
    if missing:
        if len(names) == 1 and ";" in names[0]:
            raise InputError("columns stand apart by semicolons", file=path, expected="commas")
        seen = next((seen for seen, has in _KINDS.items() if has <= set(names)), None)
        raise InputError(
            f"this is {seen}" if seen else f"no column {missing[0]!r}",
            file=path,
            record="header",
            expected=kind,
        )
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError("the column stands twice", file=path, record="header", field=twice)
    return names
