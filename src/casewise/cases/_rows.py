"""Rows of somebody's table: CSV, spreadsheets, JSON, Parquet, Arrow, text; a file or a folder."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.cases._grids import (
    WORKBOOKS,
    RawTable,
    Row,
    TableForm,
    decoded,
    read_csv,
    read_workbook,
)
from casewise.errors import InputError, first_line, some
from casewise.files import check_size, parse_json, read_bytes, read_lines, read_text


def read_table(path: Path, split: str | None = None, form: TableForm | None = None) -> RawTable:
    """Read one file by the reader of its suffix.

    Raises:
        InputError: The file can't be read, or is of another kind.
    """
    readers = READERS | _READERS_OF_NAMED
    reader = readers.get(path.suffix.lower())
    if reader is None:
        expected = f"a file that ends in one of {', '.join(readers)}"
        raise InputError("can't be read as a table", path, expected=expected)
    if not read_bytes(path, 1):
        raise InputError("the file is empty", path)
    return replace(reader(path, form or TableForm()), split=split)


# --- records: JSON and text -----------------------------------------------------------------


def _read_json(path: Path, form: TableForm) -> RawTable:
    text = decoded(path, form.encoding)[0] if form.encoding else read_text(path)
    first, _, rest = text.strip().partition("\n")
    if rest and first.startswith("{") and _is_object(first):
        return _read_jsonl(path, form)
    data = _row_list(parse_json(text, path))
    if not isinstance(data, list):
        raise InputError("not a list of rows", path, found=data, expected="a list of objects")
    return _from_objects(
        [(f"row {number}", record) for number, record in enumerate(data, start=1)], path
    )


def _row_list(data: Any) -> Any:
    """The rows of an object: its only list, its columns, or its values under their keys.

    Lists of objects under keys (a user's questions under the user) are a row a key: ``key`` and
    ``value``.
    """
    if not isinstance(data, dict) or not data:
        return data
    values = list(data.values())
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == 1:
        return lists[0]
    if lists == values and all(isinstance(one, dict) for cells in lists for one in cells):
        return [{"key": key, "value": cells} for key, cells in data.items()]
    if lists == values and len(set(map(len, lists))) == 1:
        return [dict(zip(data, cells, strict=True)) for cells in zip(*lists, strict=True)]
    if not all(isinstance(value, dict) for value in values):
        return data
    keys = list(values[0])
    if all(list(value) == keys for value in values) and all(map(str.isdigit, keys)):
        # As data frames are saved: columns first, then rows by number.
        return [{name: cells[key] for name, cells in data.items()} for key in keys]
    return [{"key": key} | record for key, record in data.items()]


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _read_jsonl(path: Path, form: TableForm) -> RawTable:
    objects: list[tuple[str, Any]] = []
    encoding = form.encoding
    lines = decoded(path, encoding)[0].split("\n") if encoding else read_lines(path)
    for number, line in enumerate(lines, start=1):
        place = f"line {number}"
        try:
            # A broken line is a bad row, not a bad file.
            if line.strip():
                objects.append((place, parse_json(line, path, place)))
        except InputError as error:
            objects.append((place, error))
    return _from_objects(objects, path)


def _from_objects(objects: list[tuple[str, Any]], path: Path) -> RawTable:
    """Table of parsed records, with a column for each of their keys."""
    columns: dict[str, None] = {}
    rows: list[tuple[str, Row]] = []
    for place, record in objects:
        if isinstance(record, dict):
            columns |= dict.fromkeys(record)
        elif not isinstance(record, InputError):
            record = InputError("not a row", path, place, found=record, expected="an object")
        rows.append((place, record))
    return RawTable(path, tuple(columns), rows)


LINE = "text"
"""The only column of a text file: its lines."""


def _read_lines(path: Path, form: TableForm) -> RawTable:
    text, notes = decoded(path, form.encoding)
    rows: list[tuple[str, Row]] = [
        (f"line {number}", {LINE: line.strip()})
        for number, line in enumerate(text.rstrip().split("\n"), start=1)
    ]
    return RawTable(path, (LINE,), rows, notes)


# --- rows in memory --------------------------------------------------------------------------


def table_in_memory(data: Any) -> RawTable:
    """The table in a data frame of pandas or polars, a data set or table of others, or a list.

    Args:
        data: What has rows: ``polars.DataFrame``, ``pandas.DataFrame``, ``pyarrow.Table``,
            ``datasets.Dataset``, or dictionaries.

    Raises:
        InputError: It is none of these, or two of its columns have one name.
    """
    name = Path(type(data).__name__)
    records: Any = data
    if hasattr(data, "iter_rows"):  # polars
        records = data.iter_rows(named=True)
    elif hasattr(data, "to_pylist"):  # pyarrow
        records = data.to_pylist()
    elif hasattr(data, "features") and hasattr(data, "to_list"):  # datasets
        labels = {
            column: names
            for column, feature in data.features.items()
            if (names := getattr(feature, "names", None))
        }
        records = (_named(row, labels) for row in data.to_list())
    elif hasattr(data, "iloc"):  # pandas
        if not data.columns.is_unique:
            twice = data.columns[data.columns.duplicated()][0]
            raise InputError("the column stands twice", name, field=str(twice))
        records = data.astype(object).where(data.notna(), None).to_dict("records")
    elif isinstance(data, Mapping) or not isinstance(data, Iterable) or isinstance(data, str):
        expected = (
            "a data frame of pandas or polars, a pyarrow Table, one split of a data set, or "
            "dictionaries"
        )
        raise InputError("no rows to read", name, found=type(data), expected=expected)
    else:
        name = Path("rows")
    objects = [
        (f"row {number}", _of_python(record)) for number, record in enumerate(records, start=1)
    ]
    return _from_objects(objects, name)


def _of_python(value: Any) -> Any:
    """A value without the arrays and numbers of numpy."""
    if isinstance(value, Mapping):
        return {str(key): _of_python(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_of_python(inner) for inner in value]
    return _of_python(value.tolist()) if hasattr(value, "tolist") else value


# --- frames: Parquet and Arrow --------------------------------------------------------------


def _read_frame(path: Path, form: TableForm) -> RawTable:  # noqa: ARG001 - one form of readers
    # Loaded late: it takes longer than to read a small file.
    import polars as pl

    kind, labels = "Arrow", _labels_beside(path)
    try:
        if path.suffix.lower() == ".parquet":
            kind = "Parquet"
            labels = _labels_in(pl.read_parquet_metadata(path).get("huggingface")) or labels
            frame = pl.read_parquet(path)
        else:
            # Arrow has two forms: a stream, as ``datasets`` writes it, and a file (Feather).
            with path.open("rb") as file:
                is_file = file.read(6) == b"ARROW1"
            frame = pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise InputError(f"can't be read as {kind}: {first_line(error)[:80]}", path) from None
    check_size(frame, path)
    rows: list[tuple[str, Row]] = [
        (f"row {number}", _named(row, labels))
        for number, row in enumerate(frame.iter_rows(named=True), start=1)
    ]
    return RawTable(path, tuple(frame.columns), rows)


def _named(row: dict[str, Any], labels: Mapping[str, list[str]]) -> Row:
    """The row with the names that the numbers of a class label stand for; -1 is no label."""
    for column, names in labels.items():
        value = row.get(column)
        if isinstance(value, int) and -1 <= value < len(names):
            row[column] = names[value] if value >= 0 else None
    return row


def _labels_beside(path: Path) -> dict[str, list[str]]:
    info = path.parent / "dataset_info.json"
    return _labels_of(parse_json(read_text(info), info)) if info.is_file() else {}


def _labels_in(text: str | None) -> dict[str, list[str]]:
    try:
        metadata = json.loads(text or "null")
    except ValueError:
        return {}
    return _labels_of(metadata.get("info")) if isinstance(metadata, dict) else {}


def _labels_of(info: object) -> dict[str, list[str]]:
    """Names of the class labels by column, from the description of a data set."""
    features = info.get("features") if isinstance(info, dict) else None
    labels = {}
    for column, feature in features.items() if isinstance(features, dict) else ():
        match feature:
            case {"_type": "ClassLabel", "names": [*names]}:
                labels[column] = names
    return labels


_Readers = dict[str, Callable[[Path, TableForm], RawTable]]

READERS: _Readers = {
    **dict.fromkeys((".parquet", ".arrow"), _read_frame),
    **dict.fromkeys((".jsonl", ".ndjson"), _read_jsonl),
    ".json": _read_json,
    **dict.fromkeys((".csv", ".tsv", ".tab"), read_csv),
    **dict.fromkeys(WORKBOOKS, read_workbook),
}
"""Readers by suffix; of a folder that holds the same data in several kinds, the first is read."""

_READERS_OF_NAMED: _Readers = {".txt": _read_lines}
"""Readers of files that must be named; in a folder such files describe the others."""


def filled_columns(cells: Mapping[str, Any]) -> Iterator[str]:
    """The columns in which a row has something."""
    return (name for name, value in cells.items() if value not in (None, "", [], {}))


_SPLITS = {"dev": "validation", "valid": "validation", "val": "validation"}
_SPLIT = re.compile(r"(?<![a-z0-9])(train|test|validation|valid|val|dev)(?![a-z0-9])", re.I)
_STATE, _DICT = "state.json", "dataset_dict.json"
_BESIDE = frozenset({_STATE, _DICT, "dataset_info.json", "dataset_infos.json"})
"""Files that describe data and hold none."""


def read_tables(
    path: Path,
    split: str | None = None,
    form: TableForm | None = None,
    leave: Sequence[str] = (),
) -> list[RawTable]:
    """Read all tables of a file or a folder, or those of one split.

    A folder is what ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk`` wrote, or any folder
    of data files, whose names or folders say their split as on the Hub (``train-00000-of-00001``,
    ``data/test.csv``). Of several kinds of file (Parquet beside CSV) one is read.

    Args:
        path: The file or folder.
        split: The split that is taken; None takes all.
        form: Form of the tables.
        leave: Files of the folder, by their places in it, that are no rows of their own.

    Raises:
        InputError: Nothing of it can be read, or it has no such split.
    """
    notes: list[str] = []
    if not path.exists():
        raise InputError("no such file or folder", path)
    if not path.is_dir():
        if split is not None:
            raise InputError("a file has no splits", path, field="split", found=split)
        files: _Files = [(path, None)]
    else:
        files = _saved(path) or _data_files(path, notes, {path / name for name in leave})
    splits = list(dict.fromkeys(name for _, name in files))
    if split is not None:
        if split not in splits:
            expected = ", ".join(name or "no splits" for name in splits)
            raise InputError("no such split", path, found=split, expected=expected)
        files = [(file, name) for file, name in files if name == split]
    elif len(splits) > 1:
        named = ", ".join(name or "files of no split" for name in splits)
        notes.append(f"all splits are taken: {named} (--split takes one)")
    first, *others = [read_table(file, name, form) for file, name in files]
    return [replace(first, notes=(*notes, *first.notes)), *others]


_Files = list[tuple[Path, str | None]]
"""Files with their splits."""


def _saved(folder: Path) -> _Files:
    """The Arrow files that ``save_to_disk`` wrote; none for another folder."""
    if (folder / _STATE).is_file():
        return [(file, None) for file in _arrow_files(folder)]
    if not (folder / _DICT).is_file():
        return []
    splits = _read_object(folder / _DICT).get("splits")
    if not isinstance(splits, list) or {*map(type, splits)} != {str}:
        raise InputError("names no splits", folder / _DICT, field="splits", found=splits)
    return [(file, name) for name in splits for file in _arrow_files(folder / name)]


def _arrow_files(folder: Path) -> list[Path]:
    path = folder / _STATE
    state = _read_object(path)
    if state.get("_indices_data_files"):
        expected = "a data set saved after flatten_indices()"
        raise InputError("only an index into other rows", path, expected=expected)
    entries = state.get("_data_files")
    names: list[Any] = [entry.get("filename") for entry in entries or () if isinstance(entry, dict)]
    if {*map(type, names)} != {str}:
        raise InputError("names no data files", path, field="_data_files", found=entries)
    files = [folder / name for name in names]
    for file in files:
        if not file.is_file():
            raise InputError("no such file, but state.json names it", file)
    return files


def _read_object(path: Path) -> dict[str, Any]:
    parsed = parse_json(read_text(path), path)
    if not isinstance(parsed, dict):
        raise InputError("not an object", path, found=parsed)
    return parsed


def _data_files(folder: Path, notes: list[str], leave: set[Path]) -> _Files:
    """Data files of one kind anywhere in a folder; a note names those of other kinds."""
    by_kind: dict[str, list[Path]] = {kind: [] for kind in READERS}
    for file in sorted(folder.rglob("*")):
        place, kind = file.relative_to(folder), file.suffix.lower()
        is_data = file.name not in _BESIDE and file not in leave and file.is_file()
        if kind in READERS and is_data and not any(part.startswith(".") for part in place.parts):
            by_kind[kind].append(place)
    kind, chosen = next(((kind, places) for kind, places in by_kind.items() if places), ("", []))
    if not chosen:
        expected = f"files that end in one of {', '.join(READERS)}, or a saved data set"
        raise InputError("no data in the folder", folder, expected=expected)
    left = sorted(place for places in by_kind.values() for place in places if places is not chosen)
    if left:
        names = some(list(map(str, left)), 3)
        notes.append(f"only {kind} files are read; left unread: {names}")
    return [(folder / place, _split_of(place)) for place in chosen]


def _split_of(path: Path) -> str | None:
    """The split that a name says, the file's own before its folders'."""
    for part in (path.stem, *reversed(path.parent.parts)):
        if match := _SPLIT.search(part):
            name = match[1].lower()
            return _SPLITS.get(name, name)
    return None


def columns_of(tables: Sequence[RawTable]) -> list[str]:
    """The columns of all tables, in the order in which they come."""
    return list(dict.fromkeys(name for table in tables for name in table.columns))
