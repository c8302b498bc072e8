"""Rows of somebody's table: CSV, spreadsheets, JSON, Parquet, Arrow, text; a file or a folder."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from casewise.errors import InputError, some
from casewise.files import parse_json, read_lines, read_text

CLASS_LABEL = "ClassLabel"
"""Mark of Hugging Face's ``datasets`` for a column of numbers that stand for names."""


@dataclass(frozen=True, slots=True)
class Tables:
    """All that a source holds, of the split that was asked for."""

    tables: tuple[RawTable, ...]
    notes: tuple[str, ...] = ()
    """Notes: splits taken together, files not read."""


def read_table(path: Path, split: str | None = None, form: TableForm | None = None) -> RawTable:
    """Read one file; its suffix says what it is.

    Raises:
        InputError: The file can't be read, or is of another kind.
    """
    reader = (READERS | _ALONE).get(path.suffix.lower())
    if reader is None:
        expected = f"a file that ends in one of {', '.join(READERS | _ALONE)}"
        raise InputError("can't be read as a table", file=path, expected=expected)
    if path.is_file() and not path.stat().st_size:
        raise InputError("the file is empty", file=path)
    return replace(reader(path, form or TableForm()), split=split)


# --- records: JSON and text -----------------------------------------------------------------


def _read_json(path: Path, form: TableForm) -> RawTable:
    text = decoded(path, form.encoding)[0] if form.encoding else read_text(path)
    start = text.lstrip()
    if start.startswith("{") and "\n" in start.strip() and _is_object(start.split("\n", 1)[0]):
        return _read_jsonl(path, form)
    data = _listed(parse_json(text, file=path))
    if not isinstance(data, list):
        raise InputError("not a list of rows", file=path, found=data, expected="a list of objects")
    return _of_objects(
        [(f"row {number}", record) for number, record in enumerate(data, start=1)], path
    )


def _listed(data: Any) -> Any:
    """The rows of an object: its only list, its columns, or its values under their keys."""
    if not isinstance(data, dict) or not data:
        return data
    lists = [value for value in data.values() if isinstance(value, list)]
    if len(lists) == 1:
        return lists[0]
    if len(lists) == len(data) and len({len(one) for one in lists}) == 1:
        return [dict(zip(data, cells, strict=True)) for cells in zip(*lists, strict=True)]
    if not all(isinstance(value, dict) for value in data.values()):
        return data
    keys = [list(value) for value in data.values()]
    if all(one == keys[0] for one in keys) and all(key.isdigit() for key in keys[0]):
        # As data frames are saved: columns first, then rows by number.
        return [{name: cells[key] for name, cells in data.items()} for key in keys[0]]
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
                objects.append((place, parse_json(line, file=path, record=place)))
        except InputError as error:
            objects.append((place, error))
    return _of_objects(objects, path)


def _of_objects(objects: list[tuple[str, Any]], path: Path) -> RawTable:
    columns: dict[str, None] = {}
    rows: list[tuple[str, Row]] = []
    for place, record in objects:
        if isinstance(record, dict):
            columns |= dict.fromkeys(record)
        elif not isinstance(record, InputError):
            record = InputError(
                "not a row", file=path, record=place, found=record, expected="an object"
            )
        rows.append((place, record))
    return RawTable(path, tuple(columns), rows)


LINE = "text"
"""The only column of a text file: its lines."""


def _read_lines(path: Path, form: TableForm) -> RawTable:
    text, notes = decoded(path, form.encoding)
    lines = text.rstrip().split("\n")
    rows: list[tuple[str, Row]] = [
        (f"line {number}", {LINE: line.strip()}) for number, line in enumerate(lines, start=1)
    ]
    return RawTable(path, (LINE,), rows, notes)


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
            frame = _read_arrow(path)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0][:80]
        raise InputError(f"can't be read as {kind}: {reason}", file=path) from None
    rows: list[tuple[str, Row]] = [
        (f"row {number}", _named(row, labels))
        for number, row in enumerate(frame.iter_rows(named=True), start=1)
    ]
    return RawTable(path, tuple(frame.columns), rows)


def _read_arrow(path: Path) -> Any:
    """Arrow has two forms: a stream, as ``datasets`` writes it, and a file (Feather)."""
    import polars as pl

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    return pl.read_ipc(path) if is_file else pl.read_ipc_stream(path)


def _named(row: dict[str, Any], labels: Mapping[str, list[str]]) -> Row:
    """The row with the names that the numbers of a class label stand for; -1 is no label."""
    for column, names in labels.items():
        value = row.get(column)
        if isinstance(value, int) and -1 <= value < len(names):
            row[column] = names[value] if value >= 0 else None
    return row


def _labels_beside(path: Path) -> dict[str, list[str]]:
    info = path.parent / "dataset_info.json"
    if not info.is_file():
        return {}
    info_read = parse_json(read_text(info), file=info)
    return _labels_of(info_read.get("features") if isinstance(info_read, dict) else None)


def _labels_in(text: str | None) -> dict[str, list[str]]:
    try:
        metadata = json.loads(text or "null")
        return _labels_of(metadata["info"]["features"] if metadata else None)
    except (ValueError, KeyError, TypeError):
        return {}


def _labels_of(features: object) -> dict[str, list[str]]:
    return {
        column: feature["names"]
        for column, feature in (features.items() if isinstance(features, dict) else ())
        if isinstance(feature, dict)
        and feature.get("_type") == CLASS_LABEL
        and isinstance(feature.get("names"), list)
    }


READERS: dict[str, Callable[[Path, TableForm], RawTable]] = {
    ".parquet": _read_frame,
    ".arrow": _read_frame,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".tab": read_csv,
    **dict.fromkeys(WORKBOOKS, read_workbook),
}
"""Readers by suffix; of a folder that holds the same data in several kinds, the first is read."""

_ALONE: dict[str, Callable[[Path, TableForm], RawTable]] = {".txt": _read_lines}
"""Readers of files that are read where they are named; in a folder such files say what the others
are."""


def non_empty(cells: Mapping[str, Any]) -> Iterator[str]:
    """The columns in which a row has something."""
    return (name for name, value in cells.items() if value not in (None, "", [], {}))


_SPLITS = {"dev": "validation", "valid": "validation", "val": "validation"}
_SPLIT = re.compile(
    r"(?<![a-z0-9])(train|test|validation|valid|val|dev)(?![a-z0-9])", re.IGNORECASE
)
_STATE, _DICT = "state.json", "dataset_dict.json"
_BESIDE = frozenset({_STATE, _DICT, "dataset_info.json", "dataset_infos.json"})
"""Files that describe data and hold none."""


def read_tables(
    path: Path,
    split: str | None = None,
    form: TableForm | None = None,
    leave: Sequence[str] = (),
) -> Tables:
    """Read a file or a folder.

    A folder is what ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk`` wrote, or any folder
    of data files, whose names or folders say their split as on the Hub (``train-00000-of-00001``,
    ``data/test.csv``). Of several kinds of file (Parquet beside CSV) one is read.

    Args:
        path: The file or folder.
        split: The split that is taken; None takes all.
        form: How it is written.
        leave: Files of the folder, by their places in it, that are no rows of their own.

    Raises:
        InputError: Nothing of it can be read, or it has no such split.
    """
    if not path.exists():
        raise InputError("no such file or folder", file=path)
    if path.is_file():
        if split is not None:
            raise InputError("a file has no splits", file=path, field="split", found=split)
        return _together([read_table(path, None, form)], [])
    notes: list[str] = []
    files = _saved(path) or _plain(path, notes, {path / name for name in leave})
    splits = list(dict.fromkeys(name for _, name in files))
    if split is not None:
        if split not in splits:
            expected = ", ".join(name or "no splits" for name in splits)
            raise InputError("no such split", file=path, found=split, expected=expected)
        files = [(file, name) for file, name in files if name == split]
    elif len(splits) > 1:
        named = ", ".join(name or "files of no split" for name in splits)
        notes.append(f"all splits are taken: {named} (--split takes one)")
    return _together([read_table(file, name, form) for file, name in files], notes)


def _together(tables: Sequence[RawTable], notes: Sequence[str]) -> Tables:
    own = [note for table in tables for note in table.notes]
    return Tables(tuple(tables), (*notes, *own))


def _saved(folder: Path) -> list[tuple[Path, str | None]]:
    """The Arrow files that ``save_to_disk`` wrote, with their splits; none for another folder."""
    if (folder / _STATE).is_file():
        return [(file, None) for file in _arrow_files(folder)]
    if not (folder / _DICT).is_file():
        return []
    listed = _json(folder / _DICT).get("splits")
    if not isinstance(listed, list) or not listed or not all(isinstance(s, str) for s in listed):
        raise InputError("names no splits", file=folder / _DICT, field="splits", found=listed)
    return [(file, name) for name in listed for file in _arrow_files(folder / name)]


def _arrow_files(folder: Path) -> list[Path]:
    state = folder / _STATE
    state_read = _json(state)
    if state_read.get("_indices_data_files"):
        expected = "a data set saved after flatten_indices()"
        raise InputError("only an index into other rows", file=state, expected=expected)
    entries = state_read.get("_data_files")
    names = [entry.get("filename") for entry in entries or () if isinstance(entry, dict)]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("names no data files", file=state, field="_data_files", found=entries)
    files = [folder / str(name) for name in names]
    absent = next((file for file in files if not file.is_file()), None)
    if absent is not None:
        raise InputError("no such file, but state.json names it", file=absent)
    return files


def _json(path: Path) -> dict[str, Any]:
    parsed = parse_json(read_text(path), file=path)
    if not isinstance(parsed, dict):
        raise InputError("not an object", file=path, found=parsed)
    return parsed


def _plain(folder: Path, notes: list[str], leave: set[Path]) -> list[tuple[Path, str | None]]:
    data = [
        file
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in READERS
        and file.name not in _BESIDE
        and file not in leave
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    kinds = [kind for kind in READERS if any(file.suffix.lower() == kind for file in data)]
    if not kinds:
        expected = f"files that end in one of {', '.join(READERS)}, or a saved data set"
        raise InputError("no data in the folder", file=folder, expected=expected)
    chosen = [file for file in data if file.suffix.lower() == kinds[0]]
    left = [file for file in data if file not in chosen]
    if left:
        names = some([str(file.relative_to(folder)) for file in left], 3)
        notes.append(f"only {kinds[0]} files are read; left unread: {names}")
    return [(file, _split_of(file.relative_to(folder))) for file in chosen]


def _split_of(path: Path) -> str | None:
    """The split that a name says, the file's own before its folders'."""
    for part in (path.stem, *reversed(path.parent.parts)):
        match = _SPLIT.search(part)
        if match:
            name = match[1].lower()
            return _SPLITS.get(name, name)
    return None


def columns_of(tables: Sequence[RawTable]) -> list[str]:
    """The columns of all tables, in the order in which they come."""
    return list(dict.fromkeys(name for table in tables for name in table.columns))
