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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """Its columns; none of JSON Lines that are not read ``whole``."""
    rows: Iterable[tuple[str, Row]]
    """Each with its place: ``row 3``, ``line 3``."""
    notes: list[str] = field(default_factory=list)
    """Notes on the reading, complete after the last row."""
    decimal: str | None = None
    """Decimal mark of numbers in text, where the file tells."""
    split: str | None = None
    """The part of the data set that the file belongs to, where that is known."""

    def whole(self) -> "Table":
        """The table with all rows in memory, and a column for each key of any of them."""
        rows = list(self.rows)
        keys = (key for _, row in rows if isinstance(row, dict) for key in row)
        return replace(self, columns=tuple(dict.fromkeys((*self.columns, *keys))), rows=rows)


def rows(
    path: Path, form: TableForm = _FORM, suffix: str | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a table with their places.

    Raises:
        InputError: The file or a row of it can't be read.
    """
    for place, row in open_table(path, form, suffix).rows:
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
    readers = READERS | _READERS_OF_NAMED
    reader = readers.get(suffix or path.suffix.lower())
    if not read_bytes(path, 1):
        raise InputError("the file is empty", path)
    if reader is None:
        expected = f"a file that ends in one of {', '.join(readers)}"
        raise InputError("can't be read as a table", path, expected=expected)
    return reader(path, form)


# --- CSV, and whatever has cells in rows ----------------------------------------------------------

_SAMPLE: Final = 1 << 16
"""Characters by which the dialect of CSV is told."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Marks of CSV: between cells, and before a quote within one (None doubles it)."""

    delimiter: str = ","
    escape: str | None = None


def dialect_of(sample: str, path: Path) -> Dialect:
    """Dialect of CSV: the mark that most of its first lines have equally often."""
    text = re.sub(r'"[^"]*("|$)', "", sample)
    # A form feed may stand in a cell.
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()][:20]

    def regular(mark: str) -> tuple[int, int]:
        counts = Counter(line.count(mark) for line in lines if mark in line)
        return max(((times, count) for count, times in counts.items()), default=(0, 0))

    marks = "\t" if path.suffix.lower() in (".tsv", ".tab") else ",;\t|"
    escape = "\\" if re.search(r'[^,;\t|"]\\"', sample) and '""' not in sample else None
    return Dialect(max(marks, key=regular), escape)


def csv_cells(
    lines: Iterable[str], path: Path, dialect: Dialect = Dialect(), *, guarded: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Rows of CSV by their numbers, the header first; a blank line is a row without cells.

    Raises:
        InputError: A quote is out of place, or the file ends within one; the message names the
            line. Rows before it have been given.
    """
    csv.field_size_limit(LONGEST)
    doubled = dialect.escape is None
    options: dict[str, Any] = {"doublequote": doubled, "escapechar": dialect.escape}
    reader = csv.reader(lines, delimiter=dialect.delimiter, strict=True, **options)
    try:
        for number, cells in enumerate(reader, start=1):
            yield number, list(map(unguard_cell, cells)) if guarded else cells
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise InputError(f"not valid CSV: {error}", path, place) from None


def _open_csv(path: Path, form: TableForm) -> Table:
    notes: list[str] = []
    sample = "".join(islice(text_lines(path, form.encoding, notes, longest=_SAMPLE), 64))[:_SAMPLE]
    encoding = "cp1252" if notes else form.encoding
    lines = text_lines(path, encoding, newline="")
    marked = re.match(r"\s*sep=(.)\r?\n", sample)
    dialect = dialect_of(sample, path)
    if marked:
        dialect, _ = replace(dialect, delimiter=marked[1]), next(lines)
    # Where semicolons stand between cells, commas stand in numbers.
    decimal = "," if dialect.delimiter == ";" else None
    cells = csv_cells(lines, path, dialect, guarded=form.guarded)
    return _with_header(Table(path, (), (), notes, decimal), cells, form)


_Cells = Sequence[Any]
_LOOKED_AT: Final = 100
"""Rows by which the row of the column names is told."""
_TOTAL = re.compile(r"(?i)(grand |sub|overall )?(total|sum|average|mean|median|summe|gesamt)s?:?")
"""Cell of a row that sums up others."""


def _is_filled(cells: Iterable[Any]) -> bool:
    """Tell whether any of the cells holds more than blanks."""
    return any(str(cell).strip() for cell in cells)


def _filled_columns(rows: Iterable[_Cells]) -> set[int]:
    return {n for cells in rows for n, cell in enumerate(cells) if _is_filled([cell])}


def _with_header(table: Table, grid: Iterator[tuple[int, _Cells]], form: TableForm) -> Table:
    """The table with the rows below the one of the column names; blank rows are left out."""
    header = form.header
    head, grid = _looked_at(grid, (header or 0) + _LOOKED_AT)
    at = next((place for place, (_, cells) in enumerate(head) if _is_filled(cells)), None)
    if at is None:
        raise InputError("the file is empty", table.file)
    if header is not None:
        at = next((place for place, (number, _) in enumerate(head) if number == header), -1)
        if at < 0:
            expected = f"at most {head[-1][0]}, the rows of the table"
            raise InputError(
                "no such row", table.file, field="header", found=header, expected=expected
            )
    elif (below := _names_below(head, at)) != at:
        table.notes.append(f"the names of the columns are in row {head[below][0]} (else header: N)")
        at = below
    names = _names([cells for _, cells in head[: at + 1]], [cells for _, cells in head[at + 1 :]])
    if names is None:
        columns = len(_filled_columns(cells for _, cells in head))
        raise InputError(
            f"{sum(map(bool, head[at][1]))} names for {columns} columns",
            table.file,
            f"row {head[at][0]}",
            expected="a row with a name for every column: delete the rows above it, or say in the "
            f"mapping which row it is (header: {head[at][0] + 1})",
        )
    unique = _told_apart(names, table.notes)
    table.columns = tuple(filter(None, unique))
    below_it = chain(head[at + 1 :], grid)
    table.rows = _grid_rows(table, unique, None if form.guarded else head[at][1], below_it)
    return table


def _looked_at(
    grid: Iterator[tuple[int, _Cells]], most: int
) -> tuple[list[tuple[int, _Cells]], Iterator[tuple[int, _Cells]]]:
    """The first rows, and those that follow; a fault among the first comes after them."""
    head: list[tuple[int, _Cells]] = []
    try:
        for row in islice(grid, most):
            head.append(row)  # noqa: PERF402 - the rows before a fault are kept
    except InputError as error:
        if not head:
            raise
        return head, _fault(error)
    return head, grid


def _fault(error: InputError) -> Iterator[tuple[int, _Cells]]:
    yield from ()
    raise error


def _grid_rows(
    table: Table, names: Sequence[str], header: _Cells | None, grid: Iterable[tuple[int, _Cells]]
) -> Iterator[tuple[str, Row]]:
    """Rows of cells by column; the header again and sums are left out, unless it is None."""
    left = Counter[str]()
    width, whole = len(names), all(names)
    for number, cells in grid:
        if not _is_filled(cells):
            continue
        if cells == header:
            left["the row of the columns' names stands again"] += 1
            continue
        if header is not None and _is_total(cells):
            left["rows that sum up others"] += 1
            continue
        place = f"row {number}"
        if len(cells) == width and whole:
            yield place, dict(zip(names, cells, strict=True))
            continue
        nameless = (cell for name, cell in zip(names, cells, strict=False) if not name)
        beyond = [*cells[width:], *nameless]
        if len(cells) < width or _is_filled(beyond):
            found, expected = len(cells), f"{sum(map(bool, names))}"
            problem = "wrong number of cells"
            yield place, InputError(problem, table.file, place, found=found, expected=expected)
        else:
            yield place, {name: cell for name, cell in zip(names, cells, strict=False) if name}
    table.notes += [f"{what}, {times} times: left out" for what, times in left.items()]


def _is_total(cells: _Cells) -> bool:
    """Tell whether a row holds a word for a sum, and else numbers alone."""
    first = next(str(cell).strip() for cell in cells if _is_filled([cell]))
    if len(first) > 20 or not _TOTAL.fullmatch(first):
        return False
    others = {str(cell).strip() for cell in cells} - {"", first}
    return bool(others) and all(re.fullmatch(r"[-+\d.,% ]+", other) for other in others)


def _names_below(head: Sequence[tuple[int, _Cells]], at: int) -> int:
    """The row of the column names, where a title or names of groups may stand above it."""
    grid = [cells for _, cells in head]
    own = [str(cell).strip() for cell in grid[at]] if grid else []
    named = list(filter(None, own))
    are_groups = len(set(named)) < len(named) and min(Counter(named).values()) > 1
    if not are_groups and _names(grid[: at + 1], grid[at + 1 :]) is not None:
        return at
    width = max(map(len, grid), default=0)
    for below in range(at + 1, min(at + 6, len(grid))):
        cells = [str(cell).strip() for cell in grid[below]]
        names = _names(grid[: below + 1], grid[below + 1 :])
        texts = list(filter(None, cells))
        are_names = not any(re.fullmatch(r"[-\d.,]+", text) for text in texts)
        told = names is not None and len(set(names)) == len(names) and are_names
        if told and (are_groups or len(named) * 2 <= width or len(set(texts)) < len(texts)):
            return below
    return at


def _names(above: Sequence[_Cells], below: Sequence[_Cells]) -> list[str] | None:
    """Names of the columns: those of the last row, after the group in the merged cells above it.

    Args:
        above: The row of names and those above it.
        below: The rows below.

    Returns:
        The names; None where columns that hold something have none, as titles leave them.
    """
    names = [str(cell).strip() for cell in above[-1]] or [""] if above else [""]
    filled = sorted(_filled_columns(below))
    groups = [""] * len(names)
    for cells in above[:-1]:
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


def _told_apart(names: Sequence[str], notes: list[str]) -> list[str]:
    """Names that stand once each (the second ``label`` is ``label (2)``), with a note on it."""
    unique: list[str] = []
    for name in names:
        number, new = 1, name
        while name and new in unique:
            number += 1
            new = f"{name} ({number})"
        unique.append(new)
    if renamed := [new for name, new in zip(names, unique, strict=True) if new != name]:
        notes.append(f"columns of the same name are told apart: {', '.join(renamed)}")
    return unique


# --- workbooks --------------------------------------------------------------------------------

WORKBOOKS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


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
    filled = [name for name, grid in grids.items() if any(map(_is_filled, grid))]
    if not filled:
        raise InputError("the workbook is empty", path)
    first, *others = filled
    note = f"only the sheet {first!r} is read; left unread: {', '.join(others)} (sheet: NAME)"
    table = Table(path, (), (), [note] if others else [])
    return _with_header(table, enumerate(grids[first], start=1), form)


def _sheet_grid(sheet: Any) -> list[list[Any]]:
    """Cells of a sheet; merged ones all hold their one value, but for those of the first row."""
    grid = [[_cell(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    head = next((place for place, cells in enumerate(grid) if _is_filled(cells)), 0)
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        if top > head and bottom < len(grid):
            for cells in grid[top : bottom + 1]:
                cells[left : right + 1] = [grid[top][left]] * len(cells[left : right + 1])
    return grid


def _cell(value: Any) -> Any:
    """A cell as text or a number: an empty one is an empty text, dates are in ISO 8601."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value


# --- records: JSON and text -----------------------------------------------------------------------


def _open_json(path: Path, form: TableForm) -> Table:
    first = next(filter(str.strip, text_lines(path, form.encoding, longest=_SAMPLE)), "")
    if first.lstrip().startswith("{") and first.endswith("\n") and _is_object(first):
        return _open_jsonl(path, form)
    check_whole(path)
    table = Table(path, (), ())
    text = "".join(text_lines(path, form.encoding))
    data = _row_list(parse_json(text, path), table.notes)
    if not isinstance(data, list):
        raise InputError("not a list of rows", path, found=data, expected="a list of objects")
    placed = ((f"record {number}", record) for number, record in enumerate(data, start=1))
    table.rows = [(place, as_row(record, path, place)) for place, record in placed]
    return table.whole()


def _row_list(data: Any, notes: list[str]) -> Any:
    """The rows of an object: its only list, its columns, or its values under their keys.

    Lists of objects under keys (a user's questions under the user) are a row a key: ``key`` and
    ``value``.
    """
    if not isinstance(data, dict) or not data:
        return data
    values = list(data.values())
    lists = [value for value in values if isinstance(value, list)]
    inner = [value for value in values if isinstance(value, list | dict)]
    if len(inner) == 1 and (lists or len(values) > 1 or _is_by_key(inner[0])):
        if others := [name for name, value in data.items() if value is not inner[0]]:
            notes.append(f"no rows are read from {some(list(map(repr, others)))}")
        return _row_list(inner[0], notes)
    if lists == values and all(isinstance(one, dict) for cells in lists for one in cells):
        return [{"key": key, "value": cells} for key, cells in data.items()]
    if lists == values and len(set(map(len, lists))) == 1:
        return [dict(zip(data, cells, strict=True)) for cells in zip(*lists, strict=True)]
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


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _open_jsonl(path: Path, form: TableForm) -> Table:
    return Table(path, (), _json_lines(path, form.encoding))


def _json_lines(path: Path, encoding: str | None) -> Iterator[tuple[str, Row]]:
    for number, line in enumerate(text_lines(path, encoding), start=1):
        if line.strip():
            place = f"line {number}"
            try:
                # A broken line is a bad row, not a bad file.
                yield place, as_row(parse_json(line, path, place), path, place)
            except InputError as error:
                yield place, error


def as_row(record: Any, path: Path, place: str) -> Row:
    """A parsed record as a row; a fault where it is no object."""
    if isinstance(record, dict):
        return record
    return InputError("not a row", path, place, found=record, expected="an object")


LINE: Final = "text"
"""The only column of a text file: its lines."""


def _open_text(path: Path, form: TableForm) -> Table:
    check_whole(path)
    notes: list[str] = []
    lines = enumerate("".join(text_lines(path, form.encoding, notes)).rstrip().split("\n"), start=1)
    return Table(path, (LINE,), [(f"line {n}", {LINE: line.strip()}) for n, line in lines], notes)


# --- frames: Parquet and Arrow --------------------------------------------------------------------

_BATCH: Final = 256
"""Rows of Parquet in memory at once, about: a cell may have megabytes."""


def _open_frame(path: Path, form: TableForm) -> Table:  # noqa: ARG001 - one form of readers
    # Loaded late: it takes longer than to read a small file.
    import polars as pl

    kind, info = "Parquet", path.parent / "dataset_info.json"
    try:
        if read_bytes(path, 4) == b"PAR1" or path.suffix.lower() == ".parquet":
            frame = pl.scan_parquet(path)
            named = json.loads(pl.read_parquet_metadata(path).get("huggingface") or "null")
            labels = _class_labels(named.get("info") if isinstance(named, dict) else None)
        else:
            # Arrow has two forms: a stream, as ``datasets`` writes it, and a file (Feather).
            kind, labels = "Arrow", {}
            is_file = read_bytes(path, 6) == b"ARROW1"
            frame = (pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)).lazy()
        columns = tuple(frame.collect_schema().names())
        check_rows(frame.select(pl.len()).collect().item(), path)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"can't be read as {kind}: {first_line(error)[:80]}", path) from None
    if not labels and info.is_file():
        labels = _class_labels(parse_json(read_text(info), info))

    def read() -> Iterator[tuple[str, Row]]:
        number, unpacked = 0, 0.0
        try:
            for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True):
                unpacked += int(batch.estimated_size())
                check_unpacked(unpacked, path)
                check_size(batch, path)
                for row in batch.iter_rows(named=True):
                    number += 1
                    yield f"row {number}", with_label_names(row, labels)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"can't be read as {kind}: {first_line(error)[:80]}", path) from None

    return Table(path, columns, read())


def with_label_names(row: dict[str, Any], labels: Mapping[str, Sequence[str]]) -> Row:
    """The row with the names that the numbers of class labels stand for; -1 is no label."""
    for column, names in labels.items():
        value = row.get(column)
        if isinstance(value, int) and -1 <= value < len(names):
            row[column] = names[value] if value >= 0 else None
    return row


def _class_labels(info: Any) -> dict[str, list[str]]:
    """Names of the class labels by column, from the description of a data set."""
    features = info.get("features") if isinstance(info, dict) else None
    return {
        column: feature["names"]
        for column, feature in (features.items() if isinstance(features, dict) else ())
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
    }


_Readers = dict[str, Callable[[Path, TableForm], Table]]

READERS: Final[_Readers] = {
    **dict.fromkeys((".parquet", ".arrow"), _open_frame),
    **dict.fromkeys((".jsonl", ".ndjson"), _open_jsonl),
    ".json": _open_json,
    **dict.fromkeys((".csv", ".tsv", ".tab"), _open_csv),
    **dict.fromkeys(WORKBOOKS, _open_workbook),
}
"""Readers by suffix; of a folder that holds the same data in several kinds, the first is read."""

_READERS_OF_NAMED: Final[_Readers] = {".txt": _open_text}
"""Readers of files that must be named; in a folder such files describe the others."""


# --- folders --------------------------------------------------------------------------------------

_SPLITS = {"dev": "validation", "valid": "validation", "val": "validation"}
_SPLIT = re.compile(r"(?<![a-z0-9])(train|test|validation|valid|val|dev)(?![a-z0-9])", re.I)
_SHARD = re.compile(r"(.*)-\d{5}-of-(\d{5})\.\w+")
"""Name of one of the files that ``datasets`` writes a split into."""
_BESIDE = frozenset({"state.json", "dataset_dict.json", "dataset_info.json", "dataset_infos.json"})
"""Files that describe data and hold none."""


def open_tables(
    path: Path, split: str | None = None, form: TableForm = _FORM, leave: Sequence[str] = ()
) -> list[Table]:
    """Open all tables of a file or a folder, or those of one split.

    A folder is what ``datasets`` saved, or any folder of data files, whose names or folders say
    their split as on the Hub (``train-00000-of-00001``, ``data/test.csv``). Of several kinds of
    file (Parquet beside CSV) one is read.

    Args:
        path: The file or folder.
        split: The split that is taken; None takes all.
        form: Form of the tables.
        leave: Files of the folder, by their places in it, that are no rows of their own.

    Raises:
        InputError: Nothing of it can be read, or it has no such split.
    """
    if not path.is_dir():
        if split is not None:
            raise InputError("a file has no splits", path, field="split", found=split)
        return [open_table(path, form)]
    notes: list[str] = []
    files = [(file, _split_of(file, path)) for file in _data_files(path, notes, leave)]
    splits = list(dict.fromkeys(name for _, name in files))
    if split is not None and split not in splits:
        expected = ", ".join(name or "no splits" for name in splits)
        raise InputError("no such split", path, found=split, expected=expected)
    if split is None and len(splits) > 1:
        named = ", ".join(name or "files of no split" for name in splits)
        notes.append(f"all splits are taken: {named} (--split takes one)")
    chosen = [(file, name) for file, name in files if split in (None, name)]
    tables = [replace(open_table(file, form), split=name) for file, name in chosen]
    tables[0].notes[:0] = notes
    return tables


def _data_files(folder: Path, notes: list[str], leave: Sequence[str]) -> list[Path]:
    """Data files of one kind anywhere in a folder; a note names those of other kinds."""
    by_kind: dict[str, list[Path]] = {kind: [] for kind in READERS}
    left = {folder / name for name in leave}
    for file in sorted(folder.rglob("*")):
        is_data = file.name not in _BESIDE and file not in left and file.is_file()
        parts = file.relative_to(folder).parts
        if is_data and not any(part.startswith((".", "cache-")) for part in parts):
            by_kind.get(file.suffix.lower(), []).append(file)
    chosen = next(filter(None, by_kind.values()), None)
    if chosen is None:
        expected = f"files that end in one of {', '.join(READERS)}, or a saved data set"
        raise InputError("no data in the folder", folder, expected=expected)
    others = [file for files in by_kind.values() if files is not chosen for file in files]
    if others:
        names = some([str(file.relative_to(folder)) for file in sorted(others)], 3)
        notes.append(f"only {chosen[0].suffix} files are read; left unread: {names}")
    for match in filter(None, (_SHARD.fullmatch(str(file)) for file in chosen)):
        present = sum(str(file).startswith(f"{match[1]}-") for file in chosen)
        if present != int(match[2]):
            raise InputError("files are missing", match[0], found=present, expected=match[2])
    return chosen


def _split_of(file: Path, folder: Path) -> str | None:
    """The split that a name says, the file's own before its folders'."""
    place = file.relative_to(folder)
    for part in (place.stem, *reversed(place.parent.parts)):
        if match := _SPLIT.search(part):
            name = match[1].lower()
            return _SPLITS.get(name, name)
    return place.parts[0] if (folder / "dataset_dict.json").is_file() else None
