"""Tables of cells: CSV and workbooks, as spreadsheet programs and people write them.

Single cells are read as texts, numbers and lists, however they are written.
"""

import ast
import codecs
import datetime
import math
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

from casewise.errors import InputError, first_line
from casewise.files import csv_rows, parse_json, read_bytes, utf8_text


def plain(value: object) -> object:
    """The value of a cell; None for NaN and for blank text, which stand for no value."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if isinstance(value, str) and not value.strip() else value


def as_text(cell: object) -> str | None:
    """A single value as text; None for no value, and for a list or mapping."""
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
    """Items of a list, or of a text that is a printed list or holds separators.

    An empty cell has no items; any other value is the only item.
    """
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
    """Value of a list or mapping that JSON, Python or numpy printed; else the text."""
    text = text.strip()
    try:
        return parse_json(text, Path())
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


def opened(cell: Any) -> Any:
    """A cell, as the list or mapping that it holds as text."""
    is_text = isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{")
    return printed(cell) if is_text else cell


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_GROUPED = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")


def as_number(cell: Any, decimal: str | None) -> float:
    """The number in a cell.

    Args:
        cell: A number, or the text of one.
        decimal: Decimal mark of numbers in text; None tells by the text.

    Raises:
        ValueError: There is none, or more than one reading; the message is what was expected.
    """
    if isinstance(cell, str):
        cell = _with_point(cell, decimal)
    try:
        number = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("a number")
    return number


def _with_point(text: str, decimal: str | None) -> str:
    """Text of a number with a decimal point, and nothing between groups of digits."""
    text = re.sub(r"[\s\u00a0\u202f']", "", text).replace("\u2212", "-")
    comma, point = text.rfind(","), text.rfind(".")
    if comma >= 0 and decimal is None:
        if point < 0 and _GROUPED.fullmatch(text):
            # 12,345 is twelve thousand in one country, and twelve in another.
            raise ValueError(
                "a number that has one meaning (decimal: ',' or decimal: '.' in the mapping)"
            )
        decimal = "," if comma > point else "."
    if decimal == "," and comma >= 0:
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


Row = Mapping[str, Any] | InputError
"""The cells of a row by column; or the fault of the row as a whole."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """Form of a table that its file doesn't tell."""

    header: int | None = None
    """The row of the column names, from 1; None is the first that is not blank."""
    encoding: str | None = None
    sheet: str | None = None


@dataclass(frozen=True, slots=True)
class RawTable:
    """Rows of one file."""

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
    """Read CSV, with whatever delimiter and encoding spreadsheet programs write."""
    text, notes = decoded(path, form.encoding)
    delimiter = delimiter_of(text, path)
    marked = re.match(r"\s*sep=(.)\r?\n", text)
    if marked:
        delimiter, text = marked[1], text[marked.end() :]
    rows = csv_rows(text, path, delimiter=delimiter, guarded=False)
    # Where semicolons stand between cells, commas stand in numbers.
    decimal = "," if delimiter == ";" else None
    return _from_grid([row.cells for row in rows], path, form, notes, decimal)


def decoded(path: Path, encoding: str | None) -> tuple[str, list[str]]:
    """Text of a file in the given encoding, UTF-8, UTF-16 or Windows-1252; and notes on it."""
    data = read_bytes(path)
    if encoding is None and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif encoding is None:
        try:
            return utf8_text(data, path), []
        except InputError:
            if not data.strip() or b"\0" in data[:4096]:
                raise
    try:
        text = data.decode(encoding or "cp1252")
    except LookupError:
        raise InputError("unknown encoding", path, field="encoding", found=encoding) from None
    except UnicodeError as error:
        found = (
            data[error.start : error.start + 4] if isinstance(error, UnicodeDecodeError) else ...
        )
        expected = "UTF-8: save it so, or name its encoding in the mapping (encoding: shift_jis)"
        raise InputError("wrong encoding", path, found=found, expected=expected) from None
    if encoding is not None:
        return text.removeprefix("\ufeff"), []
    note = (
        f"{path.name} is not in UTF-8: read as Windows-1252, as spreadsheet programs write it. If "
        "letters come out wrong, name the encoding in the mapping (encoding: mac_roman)"
    )
    return text, [note]


def delimiter_of(text: str, path: Path) -> str:
    """Delimiter of a table, by its suffix or the marks in its first line."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    first = re.sub(r'"[^"]*"', "", text.lstrip().split("\n", 1)[0])
    return max(",;\t|", key=first.count)


WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def read_workbook(path: Path, form: TableForm) -> RawTable:
    """Read one sheet of a workbook: the named one, or the first that holds anything."""
    from python_calamine import CalamineError, CalamineWorkbook

    read_bytes(path, 1)
    trial = [sys.executable, "-P", f"{Path(__file__).with_name('_workbook.py')}", f"{path}"]
    ended = subprocess.run(trial, capture_output=True, check=False)
    # What can't be read ends with 1, and the same is raised here.
    if ended.returncode not in (0, 1) or b"MemoryError" in ended.stderr:
        expected = "a workbook that takes at most 1 GiB of memory; or save the sheet as CSV"
        raise InputError("the workbook is too large", path, expected=expected)
    try:
        book = CalamineWorkbook.from_path(str(path))
        names = book.sheet_names
        if form.sheet is not None:
            if form.sheet not in names:
                expected = f"one of {', '.join(names)}"
                raise InputError("no such sheet", path, found=form.sheet, expected=expected)
            names = [form.sheet]
        grids = {name: _sheet_grid(book.get_sheet_by_name(name)) for name in names}
    except (CalamineError, OSError, ValueError) as error:
        problem = f"can't be read as a workbook: {first_line(error)[:80]}"
        expected = "a workbook without a password; or save the sheet as CSV"
        raise InputError(problem, path, expected=expected) from None
    filled = [name for name, grid in grids.items() if any(map(_is_filled, grid))]
    if not filled:
        raise InputError("the workbook is empty", path)
    first, *others = filled
    note = f"only the sheet {first!r} is read; left unread: {', '.join(others)} (sheet: NAME)"
    return _from_grid(grids[first], path, form, [note] if others else [], None)


def _sheet_grid(sheet: Any) -> list[_Cells]:
    """Cells of a sheet; merged ones below the first filled row all hold their one value."""
    grid = [[_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    head = _first_filled(grid)
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


def _is_filled(cells: Iterable[Any]) -> bool:
    """Tell whether any of the cells holds more than blanks."""
    return any(str(cell).strip() for cell in cells)


def _first_filled(grid: Sequence[Sequence[Any]]) -> int:
    return next((place for place, cells in enumerate(grid) if _is_filled(cells)), 0)


def _from_grid(
    grid: Sequence[_Cells], path: Path, form: TableForm, notes: Sequence[str], decimal: str | None
) -> RawTable:
    """Table of the rows below the one with the column names; blank rows are left out."""
    place = form.header - 1 if form.header else _first_filled(grid)
    if place >= len(grid):
        expected = f"at most {len(grid)}, the rows of the table"
        raise InputError("no such row", path, field="header", found=place + 1, expected=expected)
    body = list(filter(_is_filled, grid[place + 1 :]))
    names, again = _told_apart(_header(grid[: place + 1], body, path))
    notes = [*notes, *again]
    head = [str(cell).strip() for cell in grid[place]]
    repeats = [cells for cells in body if [str(cell).strip() for cell in cells] == head]
    if repeats:
        body = [cells for cells in body if cells not in repeats]
        notes.append(f"the row of the columns' names stands again, {len(repeats)} times: left out")
    rows: list[tuple[str, Row]] = []
    for number, cells in enumerate(body, start=1):
        record, row = f"row {number}", dict(zip(names, cells, strict=False))
        row.pop("", None)
        if len(cells) < len(names) or _is_filled(cells[len(names) :]):
            fault = InputError(
                "wrong number of cells", path, record, found=len(cells), expected=str(len(names))
            )
            rows.append((record, fault))
        else:
            rows.append((record, row))
    return RawTable(path, tuple(filter(None, names)), rows, notes, decimal)


def _header(rows: Sequence[_Cells], body: Sequence[_Cells], path: Path) -> list[str]:
    """Names of the columns: those of the last row, after the group in the merged cells above it.

    Args:
        rows: The row of names and those above it.
        body: The rows below.
        path: The file, for messages.
    """
    names = [str(cell).strip() for cell in rows[-1]] or [""]
    columns = enumerate(zip_longest(*body, fillvalue=""))
    filled = [n for n, cells in columns if _is_filled(cells)]
    groups = [""] * len(names)
    for cells in rows[:-1]:
        above = ""
        for n, cell in enumerate(cells[: len(names)]):
            own = str(cell).strip()
            above = own or above
            groups[n] = above or groups[n]
            if n in filled:
                names[n] = names[n] or own
    names = [
        f"{group} {name}" if name and group and names.count(name) > 1 else name
        for group, name in zip(groups, names, strict=True)
    ]
    nameless = [n for n in filled if n >= len(names) or not names[n]]
    if nameless == [0] and len(filled) > 1:
        # Data frames are saved with a column of row numbers that has no name.
        names[0], nameless = "column 1", []
    named = sum(map(bool, names))
    if any(named == 1 or n < len(names) for n in nameless):
        raise InputError(
            f"{named} names for {len(filled)} columns, as titles and merged cells leave them",
            path,
            f"row {len(rows)}",
            expected="a row with a name for every column: delete the rows above it, or say in the "
            f"mapping which row it is (header: {len(rows) + 1})",
        )
    return names


def _told_apart(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names that stand once each (the second ``label`` is ``label (2)``), and a note on it."""
    unique: list[str] = []
    for name in names:
        number, new = 1, name
        while name and new in unique:
            number += 1
            new = f"{name} ({number})"
        unique.append(new)
    renamed = [new for name, new in zip(names, unique, strict=True) if new != name]
    note = f"columns of the same name are told apart: {', '.join(renamed)}"
    return unique, [note] if renamed else []
