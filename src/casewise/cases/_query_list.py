"""Lists of queries that have no contexts yet: text (one a line), CSV, or JSON Lines."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from casewise.cases._case import digest
from casewise.cases._file_records import TABLES
from casewise.errors import InputError
from casewise.files import csv_cells, csv_rows, parse_json, read_text

FIELDS: Final = ("query", "category", "licence", "source", "language")
"""Fields that a query of a list may have."""

FIELD = f"one of {', '.join(FIELDS)}"


@dataclass(frozen=True, slots=True)
class ListedQuery:
    """A query without a context."""

    query: str
    category: str | None = None
    licence: str | None = None
    source: str | None = None
    language: str | None = None
    """BCP 47 tag, for example ``en``."""

    @property
    def query_id(self) -> str:
        """The id that cases of this query have."""
        return digest(self.query)


def load_queries(path: Path | str, **defaults: str | None) -> tuple[ListedQuery, ...]:
    """Load a list of queries, in the order of the file.

    JSON Lines open with a brace, and hold an object or a text a line; CSV is known by its suffix,
    or by a first line of column names, ``query`` among them; all else is text, one query a line.

    Args:
        path: The file.
        defaults: Fields of the queries that the file gives none of.

    Raises:
        InputError: The file is missing, empty or broken; a column or field is unknown; a query is
            blank, or stands twice (capitals and spaces don't count).
    """
    path = Path(path)
    if path.suffix.lower() in (".json", ".yaml", ".yml", *TABLES):
        raise InputError(
            "not a list of queries",
            path,
            expected="text (one query a line), .csv with a column 'query', or .jsonl; of a table, "
            "casewise cases import --draft FILE makes cases",
        )
    text = read_text(path)
    listed: list[ListedQuery] = []
    places: dict[str, str] = {}
    for place, fields in _records(text, path):
        query = _query(fields, path, place)
        mark = " ".join(query.query.split()).casefold()
        if mark in places:
            raise InputError(f"the query stands twice, first at {places[mark]}", path, place)
        places[mark] = place
        missing: dict[str, Any] = {
            name: value for name, value in defaults.items() if not getattr(query, name)
        }
        listed.append(replace(query, **missing))
    if not listed:
        raise InputError("the file holds no query", path)
    return tuple(listed)


def _records(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson") or (suffix != ".csv" and text.lstrip().startswith("{")):
        return _jsonl(text, path)
    header = {name.strip() for name in csv_cells(text.split("\n", 1)[0])}
    if suffix == ".csv" or ("query" in header and header <= set(FIELDS)):
        return _csv(text, path)
    return _lines(text)


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Blank lines at the end are nobody's query; others are refused as blank."""
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        yield f"line {number}", {"query": line.strip()}


def _jsonl(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        place = f"line {number}"
        record = parse_json(line, path, place) if line.strip() else {"query": ""}
        record = {"query": record} if isinstance(record, str) else record
        if not isinstance(record, dict):
            raise InputError(
                "not a query", path, place, found=record, expected="an object or a text"
            )
        for name in record:
            if name not in FIELDS:
                raise InputError("unknown field", path, place, field=name, expected=FIELD)
        yield place, record


def _csv(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv_rows(text, path)
    header = [name.strip() for name in next(rows).cells]
    for name in header:
        if name not in FIELDS or header.count(name) > 1:
            problem = "the column stands twice" if name in FIELDS else "unknown column"
            raise InputError(problem, path, "line 1", field=name, expected=FIELD)
    if "query" not in header:
        raise InputError("there is no column 'query'", path, "line 1")
    for row in rows:
        place = f"record {row.number}"
        yield place, row.by_name(header, path, place) if row.cells else {"query": ""}


def _query(fields: dict[str, Any], path: Path, place: str) -> ListedQuery:
    for name, value in fields.items():
        if value is not None and not isinstance(value, str):
            raise InputError("wrong value", path, place, field=name, found=value, expected="text")
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError("half of a character", path, place, field=name) from None
    if not (fields.get("query") or "").strip():
        raise InputError("the query is blank", path, place)
    given = {name: value for name, value in fields.items() if name == "query" or value}
    return ListedQuery(**given)
