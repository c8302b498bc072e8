"""Form of a file of conversations, told by its content, and its reader.

JSON Lines are read one in memory at a time; of tables, CSV in streams, Parquet in batches and
workbooks whole.
"""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from casewise.errors import InputError
from casewise.files import (
    LONGEST,
    TOO_LONG,
    WORKBOOKS,
    Row,
    open_table,
    parse_json,
    raw_lines,
    read_bytes,
    read_text,
)
from casewise.transcripts.conversation import (
    FIELDS,
    MESSAGES,
    QUERIES,
    REPLIES,
    BadLine,
    Conversation,
    UnreadableError,
    conversation_of,
    read_each,
)
from casewise.transcripts.tools import (
    PYRIT_FIELDS,
    is_pyrit,
    promptfoo_results,
    pyrit_conversations,
    record_conversation,
)

Rows = Iterator[tuple[int, Mapping[str, Any] | str]]
"""Rows by their numbers, from 1: their cells by column, or what is wrong with the row."""

WHOLE: Final = (*WORKBOOKS, ".arrow")
"""Suffixes of tables that are read whole."""


def read_table_conversations(path: Path) -> Iterator[Conversation | BadLine]:
    """The conversations of a table, a row each.

    Args:
        path: CSV (also with tabs), Parquet, Arrow or a workbook. Its columns are a query and its
            reply, or ``messages`` as JSON; other columns are left aside.

    Raises:
        InputError: The file can't be read, or has no column of messages or replies.
    """
    columns, rows = open_rows(path)
    known = {name: name.strip().lower() for name in columns if name.strip().lower() in FIELDS}
    if not {*MESSAGES, *REPLIES} & set(known.values()):
        raise InputError(
            "no column of messages or of replies",
            file=path,
            found=", ".join(columns),
            expected=f"one of {', '.join(MESSAGES)} (JSON); or one of {', '.join(REPLIES)}, beside "
            f"one of {', '.join(QUERIES)} or case_id",
        )

    def read(row: Mapping[str, Any] | str, number: int, unit: str) -> Conversation:
        if isinstance(row, str):
            raise UnreadableError(row)
        record = {**row, **{field: row[name] for name, field in known.items()}}
        return conversation_of(_with_parsed(record), number, unit)

    return read_each(rows, read, "row")


def _with_parsed(record: dict[str, Any]) -> dict[str, Any]:
    """A record with its messages as JSON holds them."""
    for name in MESSAGES:
        cell = record.get(name)
        if isinstance(cell, str) and cell.strip():
            try:
                record[name] = parse_json(cell, file=Path(name))
            except InputError as error:
                raise UnreadableError(f"column {name!r}: {error.problem}") from None
    return record


def open_rows(path: Path) -> tuple[tuple[str, ...], Rows]:
    """The columns of a table, and its rows.

    Raises:
        InputError: It can't be read.
    """
    is_known = path.suffix.lower() in (*WHOLE, ".parquet", ".tsv", ".tab")
    suffix = None if is_known else ".parquet" if read_bytes(path, 4) == b"PAR1" else ".csv"
    table = open_table(path, suffix=suffix)
    return table.columns, _numbered(table.rows)


def _numbered(rows: Iterable[tuple[str, Row]]) -> Rows:
    number = 0
    try:
        for place, row in rows:
            number = int(place.rsplit(" ", 1)[1])
            yield number, row.problem if isinstance(row, InputError) else row
    except InputError as error:
        yield number + 1, f"{error.problem}; what follows can't be read ({error.record})"


def read_json_lines(path: Path) -> Iterator[Conversation | BadLine]:
    """The conversations of a file, in its order; blank lines are none.

    Args:
        path: JSON Lines; on each line a conversation, or a query with its reply.

    Raises:
        InputError: The file can't be read, or is empty.
    """

    def read(data: bytes | None, number: int, unit: str) -> Conversation:
        if data is None:
            raise UnreadableError(TOO_LONG)
        try:
            text = data.decode("utf-8-sig" if number == 1 else "utf-8")
            # What stands twice in an object is named by its key, which may be anything.
            return record_conversation(parse_json(text, file=path), number, unit)
        except UnicodeDecodeError:
            raise UnreadableError("wrong encoding (expected UTF-8)") from None
        except InputError as error:
            raise UnreadableError(error.problem) from None

    lines = enumerate(raw_lines(path, LONGEST), start=1)
    filled = ((number, data) for number, data in lines if data is None or data.strip())
    return read_each(filled, read, "line")


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
            or without an id, a user, a category, a model and the case's id), in ShareGPT's
            form (``conversations`` with ``from`` and ``value``), or a query and its reply; CSV,
            Parquet or a workbook with such columns; logs of Inspect, or a folder of them; JSON or
            JSON Lines of promptfoo; JSON or CSV of PyRIT's memory.

    Raises:
        InputError: The file can't be read, or is none of these.
    """
    if path.is_dir():
        logs = sorted(path.rglob("*.eval"))
        if not logs:
            raise InputError("no Inspect log in the folder", file=path, expected=_FORMS)
        return _read_logs(logs)
    start = read_bytes(path, _START).removeprefix(codecs.BOM_UTF8)
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
    return isinstance(value, dict) and bool({"role", "from"} & set(value)) and not is_pyrit(value)


def _read_document(path: Path) -> Iterator[Conversation | BadLine]:
    data = parse_json(read_text(path), file=path)
    if isinstance(data, dict) and "eval" in data and "samples" in data:
        return _read_logs([path])
    records = promptfoo_results(data)
    if records is None:
        records = data if isinstance(data, list) and not _is_message(data[0]) else [data]
    numbered = enumerate(records, start=1)
    if any(map(is_pyrit, records)):
        return pyrit_conversations(numbered, "record")
    return read_each(numbered, record_conversation, "record")


def _read_logs(paths: list[Path]) -> Iterator[Conversation | BadLine]:
    # Loaded late: Inspect takes seconds to import.
    from casewise.transcripts.inspect_logs import read_logs

    return read_logs(paths)
