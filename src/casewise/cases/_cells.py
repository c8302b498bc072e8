"""Single cells of somebody's table: as texts, numbers and lists, however they are written."""

import ast
import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from casewise.errors import InputError
from casewise.files import parse_json


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row stands, for messages; and how its numbers are written."""

    file: Path
    record: str
    decimal: str | None = None
    """What stands before the decimals of numbers in text; None tells by the number."""

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
    """What a printed list or mapping of JSON, Python or numpy says; the text where it is none."""
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
    """What one column lists, or several hold, each with its column; without what is empty."""
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
