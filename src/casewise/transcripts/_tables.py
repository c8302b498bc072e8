"""Conversations as rows of a table: CSV in streams, Parquet in batches, workbooks whole."""

import codecs
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from casewise.cases import WORKBOOKS, delimiter_of, read_table
from casewise.errors import InputError
from casewise.files import csv_rows, parse_json
from casewise.transcripts._conversation import (
    FIELDS,
    MESSAGES,
    QUERIES,
    REPLIES,
    BadLine,
    Conversation,
    UnreadableError,
    conversation_of,
)

Rows = Iterator[tuple[int, Mapping[str, Any] | str]]
"""Rows by their numbers, from 1: their cells by column, or what is wrong with the row."""

WHOLE: Final = (*WORKBOOKS, ".arrow")
"""Suffixes of tables that are read whole."""

_BATCH: Final = 256
"""Rows of Parquet in memory at once, about: a conversation may have megabytes."""


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
    for number, row in rows:
        try:
            if isinstance(row, str):
                raise UnreadableError(row)
            record = {field: row[name] for name, field in known.items()}
            yield conversation_of(_with_parsed(record), number, "row")
        except UnreadableError as error:
            yield BadLine(number, str(error), "row")


def _with_parsed(record: dict[str, Any]) -> dict[str, Any]:
    """A record with its messages and metadata as JSON holds them."""
    for name in (*MESSAGES, "metadata"):
        cell = record.get(name)
        if not isinstance(cell, str) or not cell.strip():
            continue
        try:
            record[name] = parse_json(cell, file=Path(name))
        except InputError as error:
            if name != "metadata":
                raise UnreadableError(f"column {name!r}: {error.problem}") from None
    return record


def open_rows(path: Path) -> tuple[tuple[str, ...], Rows]:
    """The columns of a table, and its rows.

    Raises:
        InputError: It can't be read.
    """
    if path.suffix.lower() in WHOLE:
        table = read_table(path)
        rows = (row for _, row in table.rows)
        return table.columns, (
            (number, row.problem if isinstance(row, InputError) else row)
            for number, row in enumerate(rows, start=1)
        )
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    return _parquet(path) if is_parquet else _csv(path)


def _csv(path: Path) -> tuple[tuple[str, ...], Rows]:
    lines = _lines(path, _encoding(path))
    first = next(lines, "")
    read = csv_rows(_chained(first, lines), path, delimiter=delimiter_of(first, path))
    columns = tuple(name.strip() for name in next(read).cells)
    return columns, _csv_cells(columns, read)


def _csv_cells(columns: tuple[str, ...], read: Iterator[Any]) -> Rows:
    number = 0
    try:
        for row in read:
            if not row.cells:
                continue
            number += 1
            fits = len(row.cells) == len(columns)
            wrong = f"{len(row.cells)} cells (expected {len(columns)})"
            yield number, dict(zip(columns, row.cells, strict=True)) if fits else wrong
    except InputError as error:
        yield number + 1, f"{error.problem}; what follows can't be read ({error.record})"


def _chained(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _lines(path: Path, encoding: str) -> Iterator[str]:
    with path.open(encoding=encoding, newline="", errors="replace") as file:
        yield from file


def _encoding(path: Path) -> str:
    """UTF-8; else what spreadsheet programs write: UTF-16 with its mark, or Windows-1252."""
    with path.open("rb") as file:
        start = file.read(2)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        file.seek(0)
        try:
            while piece := file.read(1 << 20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def _parquet(path: Path) -> tuple[tuple[str, ...], Rows]:
    # Loaded late: it takes longer than to read a small file.
    import polars as pl

    try:
        frame = pl.scan_parquet(path)
        columns = tuple(frame.collect_schema().names())
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = (str(error).splitlines() or [""])[0][:80]
        raise InputError(f"can't be read as Parquet: {reason}", file=path) from None

    def rows() -> Rows:
        number = 0
        for batch in frame.collect_batches(chunk_size=_BATCH, maintain_order=True):
            for row in batch.iter_rows(named=True):
                number += 1
                yield number, row

    return columns, rows()
