"""CSV: written so that no spreadsheet runs a cell, and read back exactly."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.cases import guard_cell, read_text
from casewise.errors import InputError

_FIELD_LIMIT = 1 << 24

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
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([guard_cell(cell) if guarded else cell for cell in row])
    return out.getvalue().encode("utf-8", "replace")


def read_csv(path: Path, needed: Iterable[str], *, kind: str) -> CsvTable:
    """Read a CSV file; cells are as they stand, guards included.

    Args:
        path: The file.
        needed: Columns that must be there.
        kind: What the file ought to be, for messages.

    Raises:
        InputError: The file can't be read, is cut short, or is something else.
    """
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        raise InputError("looks like JSON", file=path, expected=f"{kind} (CSV)")
    limit = csv.field_size_limit(_FIELD_LIMIT)
    try:
        return _read(text, path, tuple(needed), kind)
    finally:
        csv.field_size_limit(limit)


def _read(text: str, path: Path, needed: tuple[str, ...], kind: str) -> CsvTable:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: tuple[str, ...] | None = None
    rows = []
    try:
        for cells in reader:
            record = f"row ending at line {reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _header(tuple(cell.strip() for cell in cells), needed, path, kind)
                continue
            if len(cells) != len(names):
                raise InputError(
                    "a row of another length; the file may be cut short",
                    file=path,
                    record=record,
                    found=f"{len(cells)} cells",
                    expected=f"{len(names)}",
                )
            rows.append(Row(record, dict(zip(names, cells, strict=True))))
    except csv.Error as error:
        raise InputError(
            f"not CSV, or cut short: {error}", file=path, record=f"line {reader.line_num}"
        ) from None
    if not rows:
        raise InputError("no rows below the header", file=path, expected=kind)
    return CsvTable(names or (), tuple(rows))


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
