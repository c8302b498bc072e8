"""Single cells of tables, read as texts, numbers and lists, however they are written."""

import ast
import datetime
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from casewise.errors import InputError
from casewise.files import parse_json


def plain(value: Any) -> Any:
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


def as_key(value: object) -> str:
    """Key that compares a cell with an entry of the mapping: 1, 1.0 and "1" are one value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip().casefold()
    return text.split(".")[0] if re.fullmatch(r"-?(0|[1-9]\d*)\.0*", text) else text


def opened(cell: Any) -> Any:
    """A cell, as the list or mapping that JSON, Python or numpy printed into a text."""
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("[", "{"):
        return cell
    try:
        return parse_json(cell, Path())
    except InputError:
        pass
    try:
        return ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        words = cell.strip()[1:-1].split()
        is_printed = cell.rstrip().endswith("]") and all(map(_NUMBER.fullmatch, words))
        return words if is_printed else cell


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def items(cell: object) -> list[Any]:
    """Filled items of a list, also a printed one; any other filled cell is the only item."""
    cell = opened(cell)
    listed = cell if isinstance(cell, list | tuple) else [cell]
    return [item for item in map(plain, listed) if item is not None]


def value_at(cells: Any, path: str) -> Any:
    """Value of a column, or of a path of names into nested cells; of a list, that of each item.

    A name may hold points. JSON in a text is opened where a path leads into it.
    """
    cells = opened(cells)
    if isinstance(cells, list):
        return [value_at(item, path) for item in cells]
    if not isinstance(cells, dict):
        return None
    if path in cells:
        return cells[path]
    points = [match.start() for match in re.finditer(r"\.", path)]
    heads = ((path[:at], path[at + 1 :]) for at in points if path[:at] in cells)
    return next((value_at(cells[head], rest) for head, rest in heads), None)


def inner_paths(value: Any, place: str = "", deep: int = 3) -> list[str]:
    """Paths of the values inside nested mappings, also of one in a text."""
    value = opened(value)
    if not isinstance(value, dict) or not value or not deep:
        return [place]
    start = f"{place}." if place else ""
    return [
        path
        for name, inner in value.items()
        for path in inner_paths(inner, f"{start}{name}", deep - 1)
    ]


def as_number(cell: Any, decimal: str | None = None) -> float:
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
    if decimal is None and re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+", text):
        # 12,345 is twelve thousand in one country, and twelve in another.
        raise ValueError("a number that has one meaning: 12345, or 12.345")
    if (decimal or ",") == "," and text.rfind(",") > text.rfind("."):
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "")


def without_null(value: Any) -> Any:
    """A list or mapping without the parts that are null, and with texts for dates."""
    if isinstance(value, dict):
        return {key: without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_null(inner) for inner in value]
    return as_text(value) if isinstance(value, datetime.date | Decimal) else value
