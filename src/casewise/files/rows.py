"""The one reader of tables: CSV in any dialect, JSON, JSON Lines, Parquet, Arrow, workbooks, text.

A row is a mapping from columns to cells. Its place is the one that the user's program shows: the
row of a spreadsheet, the line of JSON Lines, the record of a JSON document.
"""

import csv
import datetime
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from casewise.errors import InputError, first_line, some
from casewise.files.text import (
    LONGEST,
    check_archive,
    check_rows,
    check_size,
    check_unpacked,
    check_whole,
    parse_json,
    read_bytes,
    read_text,
    text_lines,
    unguard_cell,
)

Row = dict[str, Any] | InputError
"""The cells of a row by column; or the fault of the row as a whole."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """Form of a table that its file doesn't tell."""

    header: int | None = None
    """The row of the column names, from 1; None finds it."""
    encoding: str | None = None
    """Encoding of text; None is UTF-8 or UTF-16, and of CSV and text also Windows-1252."""
    sheet: str | None = None
    """Sheet of a workbook; None is the first that holds anything."""
    guarded: bool = False
    """Whether the apostrophes that ``guard_cell`` puts are taken off; others may mean theirs."""


_FORM = TableForm()


@dataclass(slots=True)
class Table:
    """A table: its columns, and its rows to be read once."""

    file: Path
    columns: tuple[str, ...]
    """Its columns; none of JSON Lines, which are not read yet."""
    rows: Iterable[tuple[str, Row]]
    """Each with its place: ``row 3``, ``line 3``."""
    notes: list[str] = field(default_factory=list)
    """Notes on the reading, complete after the last row."""
    decimal: str | None = None
    """Decimal mark of numbers in text, where the file tells."""


def rows(path: Path, form: TableForm = _FORM) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a table with their places.

    Raises:
        InputError: The file or a row of it can't be read.
    """
    for place, row in open_table(path, form).rows:
        if isinstance(row, InputError):
            raise row
        yield place, row


def open_table(path: Path, form: TableForm = _FORM, suffix: str | None = None) -> Table:
    """Open a table by the reader of its suffix, or of a given one.

    Rows are read as they are asked for.

    Raises:
        InputError: The file can't be read, or is of another kind; or later, a row from which on it
            can't be read.
    """
    reader = READERS.get(suffix or path.suffix.lower())
    if not read_bytes(path, 1):
        raise InputError("the file is empty", path)
    if reader is None:
        expected = f"a file that ends in one of {', '.join(READERS)}"
        raise InputError("can't be read as a table", path, expected=expected)
    return reader(path, form)


# --- CSV, and whatever has cells in rows ----------------------------------------------------------

_SAMPLE: Final = 1 << 16
"""Characters by which the dialect of CSV is told."""

_Cells = Sequence[Any]
_Grid = Iterable[_Cells | InputError]
"""Rows of cells; a fault is the last of them."""


def _open_csv(path: Path, form: TableForm) -> Table:
    notes: list[str] = []
    sample = "".join(islice(text_lines(path, form.encoding, notes, longest=_SAMPLE), 64))[:_SAMPLE]
    lines = text_lines(path, "cp1252" if notes else form.encoding, newline="")
    delimiter = _delimiter(sample, path)
    escape = "\\" if re.search(r'[^,;\t|"]\\"', sample) and '""' not in sample else None
    doubled = escape is None
    csv.field_size_limit(LONGEST)
    reader = csv.reader(
        lines, delimiter=delimiter, escapechar=escape, doublequote=doubled, strict=True
    )

    def grid() -> _Grid:
        try:
            for cells in reader:
                yield list(map(unguard_cell, cells)) if form.guarded else cells
        except csv.Error as error:
            yield InputError(f"not valid CSV: {error}", path, f"line {reader.line_num}")

    # Where semicolons stand between cells, commas stand in numbers.
    return _with_header(Table(path, (), (), notes, "," if delimiter == ";" else None), grid(), form)


def _delimiter(sample: str, path: Path) -> str:
    """The mark that most of the first lines of CSV have equally often."""
    text = re.sub(r'"[^"]*("|$)', "", sample)
    # A form feed may stand in a cell.
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()][:20]

    def regular(mark: str) -> tuple[int, int]:
        counts = Counter(line.count(mark) for line in lines if mark in line)
        return max(((times, count) for count, times in counts.items()), default=(0, 0))

    return max("\t" if path.suffix.lower() in (".tsv", ".tab") else ",;\t|", key=regular)


_LOOKED_AT: Final = 100
"""Rows by which the row of the column names is told."""


def _with_header(table: Table, grid: _Grid, form: TableForm) -> Table:
    """The table with the rows below the one of the column names; blank rows are left out."""
    grid = iter(grid)
    head = list(islice(grid, (form.header or 0) + _LOOKED_AT))
    cells = [cells for cells in head if not isinstance(cells, InputError)]
    at = next((place for place, row in enumerate(cells) if _is_filled(row)), None)
    if at is None:
        raise next((row for row in head if isinstance(row, InputError)), None) or InputError(
            "the file is empty", table.file
        )
    if form.header is not None:
        if form.header > len(cells):
            expected = f"at most {len(cells)}, the rows of the table"
            raise InputError(
                "no such row", table.file, field="header", found=form.header, expected=expected
            )
        at = form.header - 1
    elif (below := _header_row(cells, at, table.file)) != at:
        table.notes.append(f"the names of the columns are in row {below + 1} (else header: N)")
        at = below
    names = _names(cells, at)
    if names is None:
        count, columns = len(_texts(cells[at])), len(_filled_columns(cells))
        raise InputError(
            f"{count} names for {columns} columns",
            table.file,
            f"row {at + 1}",
            expected="a row with a name for every column: delete the rows above it, or say in the "
            f"mapping which row it is (header: {at + 2})",
        )
    names = _unique_names(names, table.notes)
    table.columns = tuple(filter(None, names))
    below_it = enumerate(chain(head[at + 1 :], grid), start=at + 2)
    table.rows = _grid_rows(table, names, None if form.guarded else cells[at], below_it)
    return table


def _is_filled(cells: Iterable[Any]) -> bool:
    """Tell whether any of the cells holds more than blanks."""
    return any(str(cell).strip() for cell in cells)


def _texts(cells: Iterable[Any]) -> list[str]:
    """Texts of the cells that hold something."""
    return [text for cell in cells if (text := str(cell).strip())]


def _filled_columns(rows: Iterable[_Cells]) -> set[int]:
    return {n for cells in rows for n, cell in enumerate(cells) if _is_filled([cell])}


def _header_row(grid: Sequence[_Cells], at: int, path: Path) -> int:
    """The first row that names every column once; titles and groups may stand above it.

    Raises:
        InputError: The row is one of two.
    """
    whole = _names(grid, at) is not None
    for below in range(at, min(at + (2 if whole else 6), len(grid))):
        names, texts = _names(grid, below), _texts(grid[below])
        is_first, is_data = below == at, any(re.fullmatch(r"[-\d.,]+", text) for text in texts)
        if not names or len(set(names)) < len(names) or (is_data and not is_first):
            continue
        if whole and not is_first:
            expected = f"'header: {at + 1}' or 'header: {below + 1}', in a mapping or by --answer"
            problem = "names stand twice: which row names the columns?"
            raise InputError(problem, path, f"row {at + 1}", expected=expected)
        return below
    return at


def _names(grid: Sequence[_Cells], at: int) -> list[str] | None:
    """Names of the columns: those of a row, after the group in the merged cells above it.

    Returns:
        The names; None where columns that hold something have none, as titles leave them.
    """
    names = [str(cell).strip() for cell in grid[at]]
    filled = sorted(_filled_columns(grid[at + 1 :]))
    groups = [""] * len(names)
    for cells in grid[:at]:
        group = ""
        for n, cell in enumerate(cells[: len(names)]):
            own = str(cell).strip()
            group = own or group
            groups[n] = group or groups[n]
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
    return None if any(named <= 1 or n < len(names) for n in nameless) else names


def _unique_names(names: Sequence[str], notes: list[str]) -> list[str]:
    """Names that stand once each (the second ``label`` is ``label (2)``), with a note on it."""
    unique: list[str] = []
    seen = {""}
    for name in names:
        number, new = 1, name
        while name and new in seen:
            number += 1
            new = f"{name} ({number})"
        seen.add(new)
        unique.append(new)
    if renamed := [new for name, new in zip(names, unique, strict=True) if new != name]:
        notes.append(f"columns of the same name are renamed: {', '.join(renamed)}")
    return unique


def _grid_rows(
    table: Table,
    names: Sequence[str],
    header: _Cells | None,
    grid: Iterable[tuple[int, _Cells | InputError]],
) -> Iterator[tuple[str, Row]]:
    """Rows of cells by column; the header again and sums are left out, unless it is None."""
    skipped = Counter[str]()
    width, nameless = len(names), [n for n, name in enumerate(names) if not name]
    for number, cells in grid:
        place = f"row {number}"
        if isinstance(cells, InputError):
            yield place, cells
        elif not _is_filled(cells):
            continue
        elif cells == header:
            skipped["the row of the columns' names stands again"] += 1
        elif header is not None and _is_total(cells):
            skipped["rows that sum up others"] += 1
        elif len(cells) < width or _is_filled([*(cells[n] for n in nameless), *cells[width:]]):
            expected = f"{sum(map(bool, names))}"
            problem = "wrong number of cells"
            yield place, InputError(problem, table.file, place, found=len(cells), expected=expected)
        else:
            row = dict(zip(names, cells, strict=False))
            row.pop("", None)
            yield place, row
    table.notes += [f"{what}, {times} times: left out" for what, times in skipped.items()]


_TOTAL = re.compile(r"(?i)(grand |sub|overall )?(total|sum|average|mean|median|summe|gesamt)s?:?")
"""Cell of a row that sums up others."""


def _is_total(cells: _Cells) -> bool:
    """Tell whether a row holds a word for a sum, and else numbers alone."""
    first = next(text for cell in cells if (text := str(cell).strip()))
    if len(first) > 20 or not _TOTAL.fullmatch(first):
        return False
    others = _texts(cells)[1:]
    return bool(others) and all(re.fullmatch(r"[-+\d.,% ]+", other) for other in others)


# --- workbooks --------------------------------------------------------------------------------


def _open_workbook(path: Path, form: TableForm) -> Table:
    """One sheet of a workbook: the named one, or the first that holds anything."""
    from python_calamine import CalamineError, CalamineWorkbook

    check_archive(path)
    trial = [sys.executable, "-P", f"{Path(__file__).with_name('workbook_trial.py')}", f"{path}"]
    ended = subprocess.run(trial, capture_output=True, check=False)
    # What can't be read ends with 1, and the same is raised here.
    if ended.returncode not in (0, 1) or b"MemoryError" in ended.stderr:
        expected = "fewer cells; or save the sheet as CSV"
        raise InputError("the workbook is too large", path, expected=expected)
    try:
        book = CalamineWorkbook.from_path(str(path))
        names = book.sheet_names
        if form.sheet is not None and form.sheet not in names:
            expected = f"one of {', '.join(names)}"
            raise InputError("no such sheet", path, found=form.sheet, expected=expected)
        wanted = names if form.sheet is None else [form.sheet]
        grids = {name: _sheet_grid(book.get_sheet_by_name(name)) for name in wanted}
    except (CalamineError, OSError, ValueError) as error:
        problem = f"can't be read as a workbook: {first_line(error)[:80]}"
        expected = "a workbook without a password; or save the sheet as CSV"
        raise InputError(problem, path, expected=expected) from None
    filled = [name for name, (grid, _) in grids.items() if any(map(_is_filled, grid))]
    if not filled:
        raise InputError("the workbook is empty", path)
    first, *others = filled
    grid, merged = grids[first]
    note = f"only the sheet {first!r} is read; left unread: {', '.join(others)} (sheet: NAME)"
    table = Table(path, (), (), [note] if others else [])
    if merged:
        table.notes.append(f"merged cells, whose value holds in each row and column: {merged}")
    return _with_header(table, grid, form)


def _sheet_grid(sheet: Any) -> tuple[list[list[Any]], int]:
    """Cells of a sheet; merged ones all hold their one value, but for those of the first row.

    With them the number of merged ranges that were filled.
    """
    grid = [[_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    head = next((place for place, cells in enumerate(grid) if _is_filled(cells)), 0)
    merged = 0
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        if top > head and bottom < len(grid):
            merged += 1
            for cells in grid[top : bottom + 1]:
                cells[left : right + 1] = [grid[top][left]] * len(cells[left : right + 1])
    return grid, merged


def _cell(value: Any) -> Any:
    """A cell as text or a number: an empty one is an empty text, dates are in ISO 8601."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value


# --- records: JSON and text -----------------------------------------------------------------------


def is_lines(path: Path, encoding: str | None = None) -> bool:
    """Tell JSON Lines from JSON: the first line is an object, and others follow."""
    first, *more = [*islice(filter(str.strip, text_lines(path, encoding)), 2)] or [""]
    with suppress(ValueError, RecursionError):
        return bool(more) and isinstance(json.loads(first), dict)
    return False


def _open_json(path: Path, form: TableForm) -> Table:
    if is_lines(path, form.encoding):
        return _open_jsonl(path, form)
    check_whole(path)
    notes: list[str] = []
    data = _row_list(parse_json("".join(text_lines(path, form.encoding)), path), notes)
    if not isinstance(data, list):
        raise InputError("not a list of rows", path, found=data, expected="a list of objects")
    placed = ((f"record {number}", record) for number, record in enumerate(data, start=1))
    rows = [(place, as_row(record, path, place)) for place, record in placed]
    keys = (key for _, row in rows if isinstance(row, dict) for key in row)
    return Table(path, tuple(dict.fromkeys(keys)), rows, notes)


def _row_list(data: Any, notes: list[str]) -> Any:
    """The rows of an object: its only list, its columns, or its values under their keys.

    Lists of objects under keys (a user's questions under the user) are a row a key: ``key`` and
    ``value``.
    """
    if not isinstance(data, dict) or not data:
        return data
    values = list(data.values())
    inner: list[Any] = [value for value in values if isinstance(value, list | dict)]
    whole = [value for value in inner if isinstance(value, list)]
    inner = whole if len(whole) == 1 and all(isinstance(item, dict) for item in whole[0]) else inner
    if len(inner) == 1 and (isinstance(inner[0], list) or len(values) > 1 or _is_by_key(inner[0])):
        if others := [name for name, value in data.items() if value is not inner[0]]:
            notes.append(f"no rows are read from {some(list(map(repr, others)))}")
        return _row_list(inner[0], notes)
    if whole == values and all(isinstance(cell, dict) for cells in whole for cell in cells):
        return [{"key": key, "value": cells} for key, cells in data.items()]
    if whole == values and len(set(map(len, whole))) == 1:
        return [dict(zip(data, cells, strict=True)) for cells in zip(*values, strict=True)]
    if not _is_by_key(data):
        return data
    keys = list(values[0])
    if all(list(value) == keys for value in values) and all(map(str.isdigit, keys)):
        # As data frames are saved: columns first, then rows by number.
        return [{name: cells[key] for name, cells in data.items()} for key in keys]
    return [{"key": key} | record for key, record in data.items()]


def _is_by_key(data: Any) -> bool:
    """Tell whether an object holds objects alone."""
    return isinstance(data, dict) and bool(data) and all(isinstance(v, dict) for v in data.values())


def _open_jsonl(path: Path, form: TableForm) -> Table:
    def read() -> Iterator[tuple[str, Row]]:
        for number, line in enumerate(text_lines(path, form.encoding), start=1):
            if line.strip():
                place = f"line {number}"
                try:
                    # A broken line is a bad row, not a bad file.
                    yield place, as_row(parse_json(line, path, place), path, place)
                except InputError as error:
                    yield place, error

    return Table(path, (), read())


def as_row(record: Any, path: Path, place: str) -> Row:
    """A parsed record as a row; a fault where it is no object."""
    if isinstance(record, dict):
        return record
    return InputError("not a row", path, place, found=record, expected="an object")


def _open_text(path: Path, form: TableForm) -> Table:
    """Lines of a text that aren't blank, as rows of one column, ``text``."""
    check_whole(path)
    notes: list[str] = []
    lines = enumerate(text_lines(path, form.encoding, notes), start=1)
    rows = [(f"line {n}", {"text": text}) for n, line in lines if (text := line.strip())]
    return Table(path, ("text",), rows, notes)


# --- frames: Parquet and Arrow --------------------------------------------------------------------

_BATCH: Final = 256
"""Rows of Parquet in memory at once, about: a cell may have megabytes."""


def _open_frame(path: Path, form: TableForm) -> Table:  # noqa: ARG001 - one form of readers
    # Loaded late: it takes longer than to read a small file.
    import polars as pl

    @contextmanager
    def readable() -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            kind = path.suffix.lower().removeprefix(".").capitalize()
            raise InputError(f"can't be read as {kind}: {first_line(error)[:80]}", path) from None

    with readable():
        if path.suffix.lower() == ".arrow":  # a stream, as ``datasets`` writes it
            frame = pl.read_ipc_stream(path).lazy()
            about = path.with_name("dataset_info.json")
            info = parse_json(read_text(about), about) if about.is_file() else {}
        else:
            frame = pl.scan_parquet(path)
            metadata = json.loads(pl.read_parquet_metadata(path).get("huggingface") or "{}")
            info = metadata.get("info") or {}
        columns = tuple(frame.collect_schema().names())
        check_rows(frame.select(pl.len()).collect().item(), path)
    labels = {
        column: feature["names"]
        for column, feature in (info.get("features") or {}).items()
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }

    def read() -> Iterator[tuple[str, Row]]:
        number, unpacked = 0, 0.0
        with readable():
            for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True):
                unpacked += int(batch.estimated_size())
                check_unpacked(unpacked, path)
                check_size(batch, path)
                for row in batch.iter_rows(named=True):
                    number += 1
                    for column, names in labels.items():
                        # Numbers of class labels stand for names; -1 is no label.
                        value = row.get(column)
                        if isinstance(value, int) and -1 <= value < len(names):
                            row[column] = names[value] if value >= 0 else None
                    yield f"row {number}", row

    return Table(path, columns, read())


READERS: Final[dict[str, Callable[[Path, TableForm], Table]]] = {
    **dict.fromkeys((".parquet", ".arrow"), _open_frame),
    **dict.fromkeys((".jsonl", ".ndjson"), _open_jsonl),
    ".json": _open_json,
    **dict.fromkeys((".csv", ".tsv", ".tab"), _open_csv),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), _open_workbook),
    ".txt": _open_text,
}
"""Readers by suffix."""


def open_tables(path: Path, form: TableForm = _FORM) -> list[Table]:
    """Open the table of a file, or those of all files of one kind anywhere in a folder.

    Raises:
        InputError: Nothing of it can be read.
    """
    if not path.is_dir():
        return [open_table(path, form)]
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix.lower() in READERS and file.name not in _BESIDE
    ]
    # Of the same data in several kinds, the kind that keeps most.
    kind = min((file.suffix.lower() for file in files), key=[*READERS].index, default=".txt")
    if kind == ".txt":
        raise InputError("no data in the folder", path, expected=f"files in {', '.join(READERS)}")
    tables = [open_table(file, form) for file in files if file.suffix.lower() == kind]
    if others := [file.name for file in files if file.suffix.lower() != kind]:
        tables[0].notes.append(f"only {kind} files are read; left unread: {some(others, 3)}")
    return tables


_BESIDE = frozenset({"state.json", "dataset_dict.json", "dataset_info.json", "dataset_infos.json"})
"""Files that describe data and hold none."""
