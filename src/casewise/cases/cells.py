"""Single cells of tables, read as texts, numbers and lists, however they are written."""

import ast
import datetime
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from casewise.errors import InputError
from casewise.files import parse_json


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


def items(cell: object, separator: str | bool | None) -> list[Any]:
    """Items of a list, or of a text that is a printed list or holds separators.

    An empty cell has no items; any other value is the only item.
    """
    if cell is None:
        return []
    if isinstance(cell, list | tuple):
        return [item for item in map(plain, cell) if item is not None]
    if isinstance(cell, str) and isinstance(separator, str):
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
    except InputError:
        if _is_json(text):  # with a key that stands twice, of which Python would drop one
            return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    if not (text.startswith("[") and text.endswith("]")):
        return text
    words = text[1:-1].split()
    return words if all(map(_NUMBER.fullmatch, words)) else text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


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


def as_key(value: object) -> str:
    """Key that compares a cell with an entry of the mapping: 1, 1.0 and "1" are one value."""
    if isinstance(value, str):
        value = value.strip()
        if _WHOLE.fullmatch(value):
            return value.split(".")[0]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).casefold()


_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)\.0*")


def without_null(value: Any) -> Any:
    """A list or mapping without the parts that are null, and with texts for dates."""
    if isinstance(value, dict):
        return {key: without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_null(inner) for inner in value]
    return as_text(value) if isinstance(value, datetime.date | Decimal) else value
