"""Form of a file of conversations, told by its content, and its reader."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from casewise.errors import InputError, UsageError
from casewise.files import open_table, parse_json, read_bytes, read_text
from casewise.files.rows import READERS
from casewise.transcripts.conversations import FIELDS, BadLine, Conversation, read_each
from casewise.transcripts.tools import (
    is_pyrit,
    promptfoo_results,
    pyrit_conversations,
    read_logs,
    record_conversation,
)

_START: Final = 1 << 16
"""Bytes of a file by which its form is told."""

_FORMS: Final = (
    "JSON Lines in the chat format, CSV, Parquet or a workbook with a reply in each row, a log of "
    "Inspect, or the results of promptfoo or PyRIT"
)
_LINES: Final = (".jsonl", ".ndjson")


def read_conversations(
    path: Path, columns: Mapping[str, str] | None = None
) -> Iterator[Conversation | BadLine]:
    """The conversations of a file, in its order; its content tells what it is.

    JSON Lines, CSV, Parquet and logs are read in streams; a JSON document and a workbook whole.

    Args:
        path: JSON Lines in the chat format (a conversation a line: ``messages`` with roles, with
            or without an id, a user, a category, a model and the case's id), in ShareGPT's
            form (``conversations`` with ``from`` and ``value``), or a query and its reply; JSON,
            CSV, Parquet or a workbook with such columns; logs of Inspect, or a folder of them;
            JSON or JSON Lines of promptfoo; JSON or CSV of PyRIT's memory.
        columns: Columns of the file by the fields (of ``FIELDS``) that they hold, where they have
            other names than those.

    Raises:
        InputError: The file can't be read, or is none of these.
    """
    if path.is_dir():
        logs = sorted(path.rglob("*.eval"))
        if not logs:
            raise InputError("no Inspect log in the folder", file=path, expected=_FORMS)
        return read_logs(logs)
    if path.suffix.lower() == ".eval":
        return read_logs([path])
    records = _records(path, columns or {})
    if records is None:
        return read_logs([path])
    first = next(records, None)
    if first is None:
        raise InputError("the file is empty", file=path)
    whole = chain([first], records)
    return (
        pyrit_conversations(whole) if is_pyrit(first[1]) else read_each(whole, record_conversation)
    )


def read_columns(text: str | None) -> dict[str, str]:
    """Columns by field, as a person names them: ``reply=Antwort,query=Frage``.

    Raises:
        UsageError: A part is no field with a name.
    """
    pairs = [part.partition("=") for part in text.split(",")] if text else []
    columns = {field.strip(): name.strip() for field, _, name in pairs}
    if not all(columns.values()) or columns.keys() - FIELDS.keys():
        fields = ", ".join(FIELDS)
        raise UsageError(f"--columns {text}: expected FIELD=NAME,... with fields of {fields}")
    return columns


def _records(path: Path, columns: Mapping[str, str]) -> Iterator[tuple[str, Any]] | None:
    """Records of a file with their places; None of a log of Inspect as JSON."""
    start = read_bytes(path, _START)
    suffix = path.suffix.lower()
    if suffix not in _LINES and start.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"["):
        try:
            data = parse_json(read_text(path), file=path)
        except InputError:
            # JSON Lines by another name: their first line is an object by itself.
            if b"}" not in start.partition(b"\n")[0]:
                raise
            suffix = ".jsonl"
        else:
            if isinstance(data, dict) and "eval" in data and "samples" in data:
                return None
            found = promptfoo_results(data) or (data if isinstance(data, list) else [data])
            numbered = ((f"record {number}", one) for number, one in enumerate(found, start=1))
            return _renamed(numbered, columns)
    if suffix not in READERS:
        suffix = ".parquet" if start.startswith(b"PAR1") else ".csv"
    table = open_table(path, suffix=suffix)
    if suffix not in _LINES and not is_pyrit(dict.fromkeys(table.columns)):
        _check_columns(path, table.columns, columns)
    return _renamed(iter(table.rows), columns)


def _renamed(
    records: Iterator[tuple[str, Any]], columns: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Records with the fields that ``columns`` names under their usual names."""
    for place, record in records:
        if isinstance(record, Mapping):
            named = {FIELDS[field][0]: record.get(name) for field, name in columns.items()}
            yield place, {**record, **named}
        else:
            yield place, record


def _check_columns(path: Path, found: tuple[str, ...], columns: Mapping[str, str]) -> None:
    """Refuse a table without a column of messages or of replies.

    Raises:
        InputError: It has none, or lacks one that was named.
    """
    for name in columns.values():
        if name not in found:
            raise InputError("no such column", path, found=name, expected=", ".join(found))
    wanted = (*FIELDS["messages"], *FIELDS["reply"])
    known = {name.strip().lower() for name in found} & {*wanted}
    if not known and not {"messages", "reply"} & columns.keys():
        if path.suffix.lower() not in (*READERS, ".txt"):
            raise InputError("not recognised as conversations", file=path, expected=_FORMS)
        raise InputError(
            "no column of messages or of replies",
            file=path,
            found=", ".join(found),
            expected=f"one of {', '.join(wanted)}; or name the columns: --columns reply=NAME",
        )
