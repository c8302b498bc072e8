"""A folder as a table: what ``datasets`` saves, and what its Hub keeps."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casewise.cases._rows import READERS, Table, Tables, read_table
from casewise.errors import InputError
from casewise.files import parse_json, read_text

_SPLITS = {"dev": "validation", "valid": "validation", "val": "validation"}
_SPLIT = re.compile(
    r"(?<![a-z0-9])(train|test|validation|valid|val|dev)(?![a-z0-9])", re.IGNORECASE
)
_STATE, _DICT = "state.json", "dataset_dict.json"
_BESIDE = frozenset({_STATE, _DICT, "dataset_info.json", "dataset_infos.json"})
"""Files that describe data and hold none."""


def read_tables(path: Path, split: str | None = None) -> Tables:
    """Read a file or a folder.

    A folder is what ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk`` wrote, or any folder
    of data files, whose names or folders say their split as on the Hub (``train-00000-of-00001``,
    ``data/test.csv``). Of several kinds of file (Parquet beside CSV) one is read.

    Args:
        path: The file or folder.
        split: The split that is taken; None takes all.

    Raises:
        InputError: Nothing of it can be read, or it has no such split.
    """
    if not path.exists():
        raise InputError("no such file or folder", file=path)
    if path.is_file():
        if split is not None:
            raise InputError("a file has no splits", file=path, field="split", found=split)
        return Tables((read_table(path),))
    notes: list[str] = []
    files = _saved(path) or _plain(path, notes)
    splits = list(dict.fromkeys(name for _, name in files))
    if split is not None:
        if split not in splits:
            expected = ", ".join(name or "no splits" for name in splits)
            raise InputError("no such split", file=path, found=split, expected=expected)
        files = [(file, name) for file, name in files if name == split]
    elif len(splits) > 1:
        named = ", ".join(name or "files of no split" for name in splits)
        notes.append(f"all splits are taken: {named} (--split takes one)")
    return Tables(tuple(read_table(file, name) for file, name in files), tuple(notes))


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
    found = _json(state)
    if found.get("_indices_data_files"):
        expected = "a data set saved after flatten_indices()"
        raise InputError("only an index into other rows", file=state, expected=expected)
    entries = found.get("_data_files")
    names = [one.get("filename") for one in entries or () if isinstance(one, dict)]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("names no data files", file=state, field="_data_files", found=entries)
    files = [folder / str(name) for name in names]
    absent = next((file for file in files if not file.is_file()), None)
    if absent is not None:
        raise InputError("no such file, but state.json names it", file=absent)
    return files


def _json(path: Path) -> dict[str, Any]:
    found = parse_json(read_text(path), file=path)
    if not isinstance(found, dict):
        raise InputError("not an object", file=path, found=found)
    return found


def _plain(folder: Path, notes: list[str]) -> list[tuple[Path, str | None]]:
    data = [
        file
        for file in sorted(folder.rglob("*"))
        if file.suffix.lower() in READERS
        and file.name not in _BESIDE
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
        names = ", ".join(str(file.relative_to(folder)) for file in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        notes.append(f"only {kinds[0]} files are read; left unread: {names}{more}")
    return [(file, _split_of(file.relative_to(folder))) for file in chosen]


def _split_of(path: Path) -> str | None:
    """The split that a name says, the file's own before its folders'."""
    for part in (path.stem, *reversed(path.parent.parts)):
        found = _SPLIT.search(part)
        if found:
            name = found[1].lower()
            return _SPLITS.get(name, name)
    return None


def columns_of(tables: Sequence[Table]) -> list[str]:
    """The columns of all tables, in the order in which they come."""
    return list(dict.fromkeys(name for table in tables for name in table.columns))
