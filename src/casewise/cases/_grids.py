"""Tables of cells: CSV and workbooks, as spreadsheet programs and people write them.

Single cells are read as texts, numbers and lists, however they are written.
"""

import ast
import codecs
import datetime
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from casewise.errors import InputError
from casewise.files import csv_rows, parse_json, read_bytes, utf8_text


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Place of a row, for messages, and the form of its numbers."""

    file: Path
    record: str
    decimal: str | None = None
    """Decimal mark of numbers in text; None tells by the number."""

    def bad(self, field: str, column: str | None, found: object, expected: str) -> InputError:
        """The row's cell can't be the field."""
        named = f"wrong value in column {column!r}" if column else "wrong value"
        # A query is never shown; whatever stands in its place is.
        shown = ... if field == "query" and isinstance(found, str) else found
        return InputError(
            named, file=self.file, record=self.record, field=field, found=shown, expected=expected
        )


def plain(value: object) -> object:
    """A cell without what other formats write for nothing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if isinstance(value, str) and not value.strip() else value


def written(cell: object) -> str | None:
    """A single value as text; None for nothing, and for what has parts."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool | int):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else str(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, Decimal) else None


def items(cell: object, separator: str | None) -> list[Any]:
    """The items of a list, also of one in a text: printed, or with separators; nothing is none."""
    if cell is None:
        return []
    if isinstance(cell, list | tuple):
        return [item for item in map(plain, cell) if item is not None]
    if isinstance(cell, str) and separator:
        return [item.strip() for item in cell.split(separator) if item.strip()]
    if isinstance(cell, str) and cell.strip()[:1] == "[":
        listed = printed(cell)
        return items(listed, None) if isinstance(listed, list) else [cell]
    return [cell]


def printed(text: str) -> Any:
    """Value of a printed list or mapping of JSON, Python or numpy; else the text."""
    text = text.strip()
    try:
        return parse_json(text, file=Path())
    except InputError as error:
        if "twice" in str(error):  # Python would drop one of the two
            return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    if not (text.startswith("[") and text.endswith("]")):
        return text
    words = text[1:-1].split()
    return words if all(map(_NUMBER.fullmatch, words)) else text


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_GROUPED = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")


def filled_cells(
    row: Mapping[str, Any], columns: Sequence[str], separator: str | None
) -> list[tuple[str, Any]]:
    """Filled cells of one column, or several hold, each with its column; without what is empty."""
    if len(columns) > 1:
        cells = ((name, plain(row.get(name))) for name in columns)
        return [(name, cell) for name, cell in cells if cell is not None]
    (column,) = columns
    return [(column, item) for item in items(plain(row.get(column)), separator)]


def as_number(cell: object, column: str, field: str, place: RowPlace) -> float:
    try:
        if isinstance(cell, bool):
            raise ValueError
        number = float(_point(cell, place.decimal) if isinstance(cell, str) else cell)  # type: ignore[arg-type]
        if not math.isfinite(number):
            raise ValueError
    except _ManyMeaningsError:
        expected = "a number that has one meaning (decimal: ',' or decimal: '.' in the mapping)"
        raise place.bad(field, column, cell, expected) from None
    except (TypeError, ValueError):
        raise place.bad(field, column, cell, "a number") from None
    return number


class _ManyMeaningsError(Exception):
    """12,345 is twelve thousand in one country, and twelve in another."""


def _point(text: str, decimal: str | None) -> str:
    """A number as people write it with a point before its decimals, and nothing between groups."""
    text = re.sub(r"[\s\u00a0\u202f']", "", text).replace("\u2212", "-")
    comma, point = text.rfind(","), text.rfind(".")
    if comma >= 0 and decimal is None:
        if point < 0 and _GROUPED.fullmatch(text):
            raise _ManyMeaningsError
        decimal = "," if comma > point else "."
    if decimal == "," and comma >= 0:
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


Row = Mapping[str, Any] | InputError
"""The cells of a row by column; or what is wrong with the row as a whole."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """Form of a table, where that can't be told from its file."""

    header: int | None = None
    """The row of the column names, from 1."""
    encoding: str | None = None
    sheet: str | None = None


@dataclass(frozen=True, slots=True)
class RawTable:
    """One file's rows."""

    file: Path
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, Row]]
    """Each with its place: ``row 3``, ``line 3``."""
    notes: Sequence[str] = ()
    """Notes on the reading."""
    decimal: str | None = None
    """Decimal mark of numbers in text, where the file tells."""
    split: str | None = None
    """The part of the data set that the file belongs to, where that is known."""


_Cells = tuple[Any, ...]


def read_csv(path: Path, form: TableForm) -> RawTable:
    text, notes = decoded(path, form.encoding)
    delimiter = delimiter_of(text, path)
    marked = re.match(r"\s*sep=(.)\r?\n", text)
    if marked:
        delimiter, text = marked[1], text[marked.end() :]
    lines = [
        (row.cells, row.number) for row in csv_rows(text, path, delimiter=delimiter, guarded=False)
    ]
    # Where semicolons stand between cells, commas stand in numbers.
    decimal = "," if delimiter == ";" else None
    return _of_grid([cells for cells, _ in lines], path, form, notes, decimal)


def decoded(path: Path, encoding: str | None) -> tuple[str, list[str]]:
    """The text of a file in UTF-8, or as spreadsheet programs write it, with a note."""
    data = read_bytes(path)
    if encoding is None and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return utf8_text(data, path), []
        except InputError:
            if not data.strip() or b"\0" in data[:4096]:
                raise
    elif encoding is None:
        encoding = "utf-16"
    try:
        text = data.decode(encoding or "cp1252")
    except LookupError:
        raise InputError("unknown encoding", file=path, field="encoding", found=encoding) from None
    except UnicodeError as error:
        found = (
            data[error.start : error.start + 4] if isinstance(error, UnicodeDecodeError) else ...
        )
        expected = "UTF-8: save it so, or name its encoding in the mapping (encoding: shift_jis)"
        raise InputError("wrong encoding", file=path, found=found, expected=expected) from None
    if encoding is not None:
        return text.removeprefix("\ufeff"), []
    note = (
        f"{path.name} is not in UTF-8: read as Windows-1252, as spreadsheet programs write it. If "
        "letters come out wrong, name the encoding in the mapping (encoding: mac_roman)"
    )
    return text, [note]


def delimiter_of(text: str, path: Path) -> str:
    """Delimiter of a table, by its name and its first line."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    first = re.sub(r'"[^"]*"', "", text.lstrip().split("\n", 1)[0])
    counts = {mark: first.count(mark) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark])


WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def read_workbook(path: Path, form: TableForm) -> RawTable:
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_path(str(path))
        names = [form.sheet] if form.sheet in book.sheet_names else list(book.sheet_names)
        if form.sheet is not None and names != [form.sheet]:
            raise InputError(
                "no such sheet", file=path, found=form.sheet, expected=f"one of {', '.join(names)}"
            )
        grids = {name: _sheet_grid(book.get_sheet_by_name(name)) for name in names}
    except (CalamineError, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0][:80]
        expected = "a workbook without a password; or save the sheet as CSV"
        raise InputError(
            f"can't be read as a workbook: {reason}", file=path, expected=expected
        ) from None
    filled = [
        name for name, grid in grids.items() if any(any(map(_is_filled, row)) for row in grid)
    ]
    if not filled:
        raise InputError("the workbook is empty", file=path)
    notes = []
    if len(filled) > 1:
        others = ", ".join(filled[1:])
        notes.append(f"only the sheet {filled[0]!r} is read; left unread: {others} (sheet: NAME)")
    return _of_grid(grids[filled[0]], path, form, notes, None)


def _sheet_grid(sheet: Any) -> list[_Cells]:
    """The cells of a sheet. Merged ones below the first filled row all hold their one value."""
    grid = [[_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    head = next((n for n, cells in enumerate(grid) if any(map(_is_filled, cells))), 0)
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        if top > head and bottom < len(grid):
            for cells in grid[top : bottom + 1]:
                cells[left : right + 1] = [grid[top][left]] * len(cells[left : right + 1])
    return [tuple(cells) for cells in grid]


def _cell(value: Any) -> Any:
    """A cell as text or a number: an empty one is an empty text, dates are in ISO 8601."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value


def _of_grid(
    grid: Sequence[_Cells], path: Path, form: TableForm, notes: Sequence[str], decimal: str | None
) -> RawTable:
    """Rows of cells below a row of column names."""
    place = (form.header or 1) - 1
    if form.header is None:
        place = next((n for n, cells in enumerate(grid) if any(map(_is_filled, cells))), 0)
    if place >= len(grid):
        expected = f"at most {len(grid)}, the rows of the table"
        raise InputError(
            "no such row", file=path, field="header", found=place + 1, expected=expected
        )
    body = [cells for cells in grid[place + 1 :] if any(map(_is_filled, cells))]
    names = _header(grid[: place + 1], body, path)
    kept = [n for n, name in enumerate(names) if name]
    columns = tuple(names[n] for n in kept)
    rows: list[tuple[str, Row]] = []
    for number, cells in enumerate(body, start=1):
        record = f"row {number}"
        if (len(cells) != len(names) and any(map(_is_filled, cells[len(names) :]))) or len(
            cells
        ) < len(names):
            rows.append((record, _wrong_number(cells, names, path, record)))
        else:
            rows.append((record, {names[n]: cells[n] for n in kept}))
    return RawTable(path, columns, rows, notes, decimal)


def _wrong_number(cells: _Cells, names: Sequence[str], path: Path, record: str) -> InputError:
    return InputError(
        "wrong number of cells",
        file=path,
        record=record,
        found=len(cells),
        expected=str(len(names)),
    )


def _is_filled(cell: Any) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _header(rows: Sequence[_Cells], body: Sequence[_Cells], path: Path) -> list[str]:
    """The names of columns: of the last row, with the groups that merged cells above it name."""
    width = max(len(rows[-1]), 1)
    names = [str(cell).strip() if _is_filled(cell) else "" for cell in rows[-1]]
    filled = [
        n
        for n in range(max(map(len, body), default=0))
        if any(_is_filled(c[n]) for c in body if n < len(c))
    ]
    groups = [""] * width
    for cells in rows[:-1]:
        above = ""
        for n in range(min(width, len(cells))):
            above = str(cells[n]).strip() if _is_filled(cells[n]) else above
            groups[n] = above or groups[n]
            if not names[n] and n in filled and _is_filled(cells[n]):
                names[n] = str(cells[n]).strip()
    twice = {name for name, count in Counter(filter(None, names)).items() if count > 1}
    if len(rows) > 1:
        names = [
            f"{group} {name}" if name in twice and group else name
            for group, name in zip(groups, names, strict=True)
        ]
    # Data frames are saved with a column of row numbers that has no name.
    others = [n for n in filled if n]
    if others and not names[0] and 0 in filled and all(n < width and names[n] for n in others):
        names[0] = "column 1"
    nameless = [n for n, name in enumerate(names) if not name and n in filled]
    beyond = [n for n in filled if n >= width] if sum(map(bool, names)) == 1 else []
    if nameless or beyond:
        number = len(rows)
        raise InputError(
            f"{sum(map(bool, names))} names for {len(filled)} columns, as titles and merged cells "
            "leave them",
            file=path,
            record=f"row {number}",
            expected="a row with a name for every column: delete the rows above it, or say in the "
            f"mapping which row it is (header: {number + 1})",
        )
    name = next((name for name in names if name and names.count(name) > 1), None)
    if name is not None:
        raise InputError(
            "the column stands twice", file=path, record=f"line {len(rows)}", field=name
        )
    return names
