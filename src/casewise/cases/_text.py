"""Bytes to text to JSON, with errors that name the place; texts as cells that nothing runs."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casewise.errors import InputError


def read_text(path: Path) -> str:
    """Read a UTF-8 file (a byte order mark is dropped), line ends untouched.

    Raises:
        InputError: The file is missing, a folder, unreadable, empty, or not UTF-8.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", file=path) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", file=path) from None
    if not data.strip():
        raise InputError("the file is empty", file=path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "wrong encoding",
            file=path,
            record=f"line {line}",
            found=data[error.start : error.start + 4],
            expected="UTF-8",
        ) from None


def parse_json(text: str, *, file: Path, record: str | None = None) -> Any:
    """Parse JSON, refusing a key that stands twice in one object (one value would be lost).

    Raises:
        InputError: The text is not JSON (truncated, say), with line and column.
    """

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError("the key stands twice", file=file, record=record, field=twice)
        return result

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip())
        problem = "truncated JSON" if at_end or "Unterminated" in error.msg else "not valid JSON"
        place = f"column {error.colno}"
        if record is None:
            place = f"line {error.lineno} {place}"
        raise InputError(f"{problem}: {error.msg} at {place}", file=file, record=record) from None
    except RecursionError:
        raise InputError("nested too deeply", file=file, record=record) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"not valid JSON: {error}", file=file, record=record) from None


_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""How a cell begins that a spreadsheet may run, after apostrophes; in Japanese, full-width too."""

_NUMBER = re.compile(r"'*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def guard_cell(text: str) -> str:
    """A text as a cell of CSV: with an apostrophe before it, if a spreadsheet might run it.

    Run is what starts, also after white space, with ``=``, ``+``, ``-``, ``@`` or their full-width
    forms, or with a tab or line end. Such texts that have apostrophes before them already get one
    more, so that ``unguard_cell`` gives back every text exactly. Numbers stay numbers.
    """
    return f"'{text}" if _may_run(text) else text


def unguard_cell(cell: str) -> str:
    """The text that ``guard_cell`` was given. Other cells, ``'tis`` for one, stay as they are."""
    return cell[1:] if cell.startswith("'") and _may_run(cell) else cell


def _may_run(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
