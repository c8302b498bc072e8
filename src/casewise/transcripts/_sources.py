"""What a file of conversations is, told by its content, and the reader for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from casewise.errors import InputError
from casewise.files import parse_json, read_text
from casewise.transcripts._conversation import (
    FIELDS,
    BadLine,
    Conversation,
    UnreadableError,
)
from casewise.transcripts._json_lines import read_json_lines
from casewise.transcripts._other_tools import (
    PYRIT_FIELDS,
    is_pyrit,
    promptfoo_results,
    pyrit_conversations,
    record_conversation,
)
from casewise.transcripts._tables import WHOLE, open_rows, read_table_conversations

_START: Final = 1 << 20
"""Bytes of a file by which its form is told."""

_FORMS: Final = (
    "JSON Lines in the chat format, CSV, Parquet or a workbook with a reply in each row, a log of "
    "Inspect, or the results of promptfoo or PyRIT"
)


def read_conversations(path: Path) -> Iterator[Conversation | BadLine]:
    """The conversations of a file, in its order; its content tells what it is.

    JSON Lines, CSV, Parquet and logs are read in streams; a JSON document and a workbook whole.

    Args:
        path: JSON Lines in the chat format (a conversation a line: ``messages`` with roles, with
            or without an id, a user, a time, a category, a model and the case's id; or a query and
            its reply); CSV, Parquet or a workbook with such columns; logs of Inspect, or a folder
            of them; JSON or JSON Lines of promptfoo; JSON or CSV of PyRIT's memory.

    Raises:
        InputError: The file can't be read, or is none of these.
    """
    if path.is_dir():
        logs = sorted(path.rglob("*.eval"))
        if not logs:
            raise InputError("no Inspect log in the folder", file=path, expected=_FORMS)
        return _read_logs(logs)
    try:
        with path.open("rb") as file:
            start = file.read(_START).removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", file=path) from None
    if not start.strip():
        raise InputError("the file is empty", file=path)
    suffix = path.suffix.lower()
    if suffix == ".eval":
        return _read_logs([path])
    if start.startswith((b"PAR1", b"ARROW1")) or suffix in WHOLE:
        return read_table_conversations(path)
    text = start.decode("utf-8", errors="replace").lstrip()
    if text.startswith(("{", "[")):
        return _read_json(path, text)
    if suffix in (".jsonl", ".ndjson"):
        return read_json_lines(path)
    if suffix in (".csv", ".tsv", ".tab", ".txt") or _has_known_column(text):
        columns, rows = open_rows(path)
        if set(PYRIT_FIELDS) <= set(columns):
            return pyrit_conversations(rows, "row")
        return read_table_conversations(path)
    raise InputError("not recognised as conversations", file=path, expected=_FORMS)


def _has_known_column(text: str) -> bool:
    first = text.split("\n", 1)[0].lower()
    cells = {cell.strip(' "\r') for mark in ",;\t" for cell in first.split(mark)}
    return bool(cells & set(FIELDS))


def _read_json(path: Path, text: str) -> Iterator[Conversation | BadLine]:
    """JSON Lines, unless its first line is no record of a conversation by itself."""
    line, end, _ = text.partition("\n")
    first: Any = None
    try:
        first = parse_json(line, file=path)
    except InputError:
        # A document over many lines, or one line that is longer than what was read of it; or JSON
        # Lines whose first line is broken.
        if path.suffix.lower() in (".jsonl", ".ndjson") or (end and len(line.strip()) > 2):
            return read_json_lines(path)
        return _read_document(path)
    of_many = isinstance(first, list) and not _is_message(first[0] if first else None)
    if of_many or (isinstance(first, dict) and ("results" in first or "eval" in first)):
        return _read_document(path)
    return read_json_lines(path)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value and not is_pyrit(value)


def _read_document(path: Path) -> Iterator[Conversation | BadLine]:
    data = parse_json(read_text(path), file=path)
    if isinstance(data, dict) and "eval" in data and "samples" in data:
        yield from _read_logs([path])
        return
    records = promptfoo_results(data)
    if records is None:
        records = data if isinstance(data, list) and not _is_message(data[0]) else [data]
    if any(map(is_pyrit, records)):
        yield from pyrit_conversations(enumerate(records, start=1), "record")
        return
    for number, record in enumerate(records, start=1):
        try:
            yield record_conversation(record, number, "record")
        except UnreadableError as error:
            yield BadLine(number, str(error), "record")


def _read_logs(paths: list[Path]) -> Iterator[Conversation | BadLine]:
    # Loaded late: Inspect takes seconds to import.
    from casewise.transcripts._inspect_logs import read_logs

    return read_logs(paths)
