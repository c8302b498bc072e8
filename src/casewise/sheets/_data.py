"""Tables and other results for programs: CSV and JSON."""

import json
import math
from collections.abc import Mapping
from typing import Any

from casewise.files import csv_text
from casewise.sheets._table import Code, Column, Kind, Link, Table, Word


def to_json(value: object) -> str:
    """Write a JSON document; what is undefined (NaN, infinite) is null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_records(table: Table) -> list[dict[str, Any]]:
    """A table's rows as records: values as they are, an interval as two of them."""
    records = []
    for row in table.rows:
        record: dict[str, Any] = {}
        for column, cell in zip(table.columns, row.cells, strict=True):
            record |= _fields(column, cell)
        records.append(record)
    return records


def to_csv(table: Table) -> str:
    """Write a table as CSV; what is undefined is empty, what has parts is JSON.

    Groups, title and note are left out; texts that a spreadsheet might run are guarded.
    """
    records = to_records(table)
    names = list(dict.fromkeys(name for one in records for name in one))
    return csv_text(names, ([_cell(one.get(name)) for name in names] for one in records))


def _fields(column: Column, cell: Any) -> dict[str, Any]:
    name = column.key or column.title
    if isinstance(cell, Word | Code | Link):
        return {name: cell.text}
    if column.kind is Kind.INTERVAL and not isinstance(cell, str):
        low, high = cell or (None, None)
        return {f"{name}_low": _finite(low), f"{name}_high": _finite(high)}
    if column.kind in (Kind.ESTIMATE, Kind.MARGIN) and not isinstance(cell, str):
        value, ends = (None, (None, None)) if cell is None else (cell.value, cell.interval)
        return {name: _finite(value)} | {
            f"{name}_{end}": _finite(one) for end, one in zip(("low", "high"), ends, strict=True)
        }
    return {name: _finite(cell)}


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _finite(value: Any) -> Any:
    """A value in which what is undefined is None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def json_interval(ends: tuple[float, float]) -> list[float] | None:
    """Both ends, or None where they are undefined."""
    return list(ends) if all(map(math.isfinite, ends)) else None


def json_number(number: float) -> float | None:
    """A number, or None where it is undefined or infinite."""
    if number == 0:
        return abs(number)  # without the sign of -0
    return number if math.isfinite(number) else None


def json_fields(result: object, *names: str) -> dict[str, Any]:
    """Fields of a result by their names: what is undefined is None, also both ends at once."""
    return {name: _json_value(getattr(result, name)) for name in names}


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, tuple):
        ends = len(value) == 2 and all(isinstance(end, float) for end in value)
        return json_interval(value) if ends else list(value)
    return value
