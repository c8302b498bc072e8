"""Files of results: CSV with typed columns, and folders that replace only what casewise wrote."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from casewise.errors import SHORT, InputError, UsageError
from casewise.files import TableForm, csv_text, open_table, replace_folder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """Place of a value, for messages."""

    file: Path
    record: str | None = None

    def refuse(
        self,
        problem: str,
        field: str | None = None,
        found: object = ...,
        expected: str | None = None,
    ) -> InputError:
        """Make an error that names the place."""
        return InputError(
            problem, file=self.file, record=self.record, field=field, found=found, expected=expected
        )


@dataclass(frozen=True, slots=True)
class VoteColumn:
    """One column of a table."""

    name: str
    read: Callable[[str], Any]
    """From a cell that isn't empty; raises ValueError."""
    expected: str
    """Expected value of the cell, for a message."""
    needed: bool = False
    """True if the column must be there, and its cells hold something."""
    filled: bool = False
    """True if its cells must hold something where the column is there."""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row of a CSV file, and its place in it."""

    place: ValuePlace
    """Place, for messages."""
    cells: Mapping[str, Any]
    """Cells by column; read ones that are not empty where columns are typed, else texts."""


def read_table(
    path: Path, columns: Sequence[VoteColumn], passed_over: Iterable[str] = ()
) -> list[PlacedRow]:
    """Read the rows of a CSV file; empty cells are absent.

    Args:
        path: The file: UTF-8, a header, commas, quotes where needed.
        columns: Those that are known, in any order.
        passed_over: Columns that may stand there too and aren't read.

    Raises:
        InputError: No such file, a column or cell that doesn't fit, or a file that was cut.
    """
    table = open_table(path, TableForm(header=1, guarded=True), ".csv")
    known = {column.name: column for column in columns}
    _check_header(table.columns, known, frozenset(passed_over), path)
    records = []
    for record, cells in table.rows:
        if isinstance(cells, InputError):
            raise cells
        records.append(read_row(cells, known, ValuePlace(path, record)))
    return records


def _check_header(
    header: Sequence[str], known: Mapping[str, VoteColumn], ignored: frozenset[str], path: Path
) -> None:
    among = f"columns among {', '.join(known)}"
    if not known.keys() & set(header):
        # Its first line may be anything, a query among it: it is not shown.
        raise ValuePlace(path).refuse("no table of this kind", expected=among)
    place = ValuePlace(path, "line 1")
    for name in header:
        if name not in known and name not in ignored:
            raise place.refuse("unknown column", name[:SHORT], expected=among)
    needed = [name for name, column in known.items() if column.needed]
    for name in needed:
        if name not in header:
            expected = f"columns {', '.join(needed)}"
            raise place.refuse("a column is missing", name, expected=expected)


def read_row(
    cells: Mapping[str, str], known: Mapping[str, VoteColumn], place: ValuePlace
) -> PlacedRow:
    """Read the cells of known columns; empty ones are absent.

    Raises:
        InputError: A cell doesn't fit its column.
    """
    values = {}
    for name, cell in cells.items():
        column = known.get(name)
        if column is None or (cell == "" and not (column.filled or column.needed)):
            continue
        try:
            if cell == "":
                raise ValueError
            values[name] = column.read(cell)
        except ValueError:
            raise place.refuse("wrong value", name, cell, column.expected) from None
    return PlacedRow(place, values)


def to_csv(names: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A table as text; what a row lacks, or holds as None or NaN, is an empty cell."""
    return csv_text(names, ([to_cell(row.get(name)) for name in names] for row in rows))


def row_of(record: "DataclassInstance") -> dict[str, Any]:
    """The fields of a record as they are: ``asdict`` copies each, which takes ten times as long."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def to_cell(value: object) -> str:
    """A value as a cell that its column reads back."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return to_utc(value).isoformat()
    if isinstance(value, tuple):
        return json.dumps(dict(value), ensure_ascii=False) if value else ""
    return str(value)


def read_flag(cell: str) -> bool:
    """``true`` or ``false``; spreadsheets write them large."""
    return one_of("true", "false")(cell.lower()) == "true"


def read_count(cell: str) -> int:
    """A whole number from 0."""
    if not re.fullmatch(r"[0-9]{1,9}", cell):
        raise ValueError
    return int(cell)


def read_seconds(cell: str) -> float:
    """A number from 0."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", cell):
        raise ValueError
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError
    return value


def read_time(cell: str) -> datetime:
    """An ISO 8601 time with its zone, in UTC."""
    time = datetime.fromisoformat(cell)
    if time.tzinfo is None:
        raise ValueError
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError from None


def to_utc(time: datetime) -> datetime:
    """The same time in UTC; one without a zone is UTC already."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def read_pairs(cell: str) -> tuple[tuple[str, str], ...]:
    """A JSON object of texts."""
    try:
        data = json.loads(cell)
    except RecursionError:
        raise ValueError from None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ValueError
    return tuple(data.items())


def one_of(*names: str) -> Callable[[str], str]:
    """Make a reader that accepts only these names."""

    def read(cell: str) -> str:
        if cell not in names:
            raise ValueError
        return cell

    return read


@dataclass(frozen=True, slots=True)
class FolderKind:
    """The files that a kind of folder holds; a folder with others is never replaced."""

    names: frozenset[str]
    """The files that are written into it; empty for folders that are never replaced."""
    mark: str
    """File without which a folder is not taken for one of this kind."""


NEW_FILES = FolderKind(frozenset(), "")
"""Files that replace none."""

PLAIN = FolderKind(frozenset({"checks.csv", "people.csv", "votes.csv"}), "votes.csv")
"""Plain CSV of what was collected."""

EXPORT = FolderKind(
    PLAIN.names | {"cases.jsonl", "data-card.md", "summary.json", "votes.parquet"}, "summary.json"
)
"""An export of a study."""


def is_in_export(path: Path) -> bool:
    """Tell whether a file would lie in an export of a study, which is there to be published."""
    marks = (EXPORT.mark, "data-card.md")
    return any(all((one / name).exists() for name in marks) for one in path.absolute().parents)


@contextmanager
def new_folder(out: Path, kind: FolderKind, *, force: bool = False) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end it takes that name.

    Raises:
        UsageError: As ``check_free``.
    """
    with replace_folder(out, lambda: check_free(out, kind, force=force)) as new:
        yield new


def write_folder(
    out: Path, files: Mapping[str, bytes], kind: FolderKind = NEW_FILES, *, force: bool = False
) -> None:
    """Write files, named by their paths under the folder.

    Raises:
        UsageError: As ``check_free``.
    """
    with new_folder(out, kind, force=force) as new:
        for name, data in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def check_free(out: Path, kind: FolderKind = NEW_FILES, *, force: bool = False) -> None:
    """Refuse to write over anything but, with ``force``, an earlier edition.

    Raises:
        UsageError: Something stands there and ``force`` is not given, or it holds what was never
            written by this.
    """
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir() or out.is_symlink():
        raise UsageError(f"{out} is no folder: give another place")
    names = {path.name for path in out.iterdir()}
    if names and kind is NEW_FILES:
        raise UsageError(f"{out}: is there already; name a new or an empty folder")
    if names and kind.mark not in names and not names - EXPORT.names:
        raise UsageError(f"{out} holds files of such names, and is no export: give another place")
    if foreign := sorted(names - kind.names):
        raise UsageError(
            f"{out} holds what no export wrote, such as {foreign[0]}: give another place"
        )
    if names and not force:
        raise UsageError(f"{out} is not empty: give another place, or --force to replace it")
