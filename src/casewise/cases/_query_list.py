"""Lists of queries that have no contexts yet: text (one a line), CSV, or JSON Lines."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from casewise.cases._case import digest
from casewise.cases._load import TABLES
from casewise.errors import InputError
from casewise.files import csv_cells, csv_rows, parse_json, read_text


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


_FIELDS = [field.name for field in fields(ListedQuery)]
_EXPECTED = f"one of {', '.join(_FIELDS)}"


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
    listed: list[ListedQuery] = []
    places: dict[str, str] = {}
    for place, record in _records(read_text(path), path):
        given = _checked(record, path, place)
        mark = " ".join(given["query"].split()).casefold()
        if mark in places:
            raise InputError(f"the query stands twice, first at {places[mark]}", path, place)
        places[mark] = place
        listed.append(ListedQuery(**(defaults | given)))
    if not listed:
        raise InputError("the file holds no query", path)
    return tuple(listed)


def _records(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".ndjson") or (suffix != ".csv" and text.lstrip().startswith("{")):
        return _jsonl(text, path)
    header = {name.strip() for name in csv_cells(text.split("\n", 1)[0])}
    if suffix == ".csv" or ("query" in header and header.issubset(_FIELDS)):
        return _csv(text, path)
    return ((place, {"query": line.strip()}) for place, line in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines with their places; blank ones are refused later, but for those at the end."""
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        yield f"line {number}", line


def _jsonl(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, line in _lines(text):
        record = parse_json(line, path, place) if line.strip() else ""
        record = {"query": record} if isinstance(record, str) else record
        if not isinstance(record, dict):
            expected = "an object or a text"
            raise InputError("not a query", path, place, found=record, expected=expected)
        for name in record:
            if name not in _FIELDS:
                raise InputError("unknown field", path, place, field=name, expected=_EXPECTED)
        yield place, record


def _csv(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = csv_rows(text, path)
    header = [name.strip() for name in next(rows).cells]
    for name in header:
        if name not in _FIELDS or header.count(name) > 1:
            problem = "the column stands twice" if name in _FIELDS else "unknown column"
            raise InputError(problem, path, "line 1", field=name, expected=_EXPECTED)
    if "query" not in header:
        raise InputError("there is no column 'query'", path, "line 1")
    for row in rows:
        place = f"record {row.number}"
        yield place, row.by_name(header, path, place) if row.cells else {"query": ""}


def _checked(record: dict[str, Any], path: Path, place: str) -> dict[str, Any]:
    """The fields that a record gives, all of them text.

    Raises:
        InputError: One is no text, or there is no query.
    """
    for name, value in record.items():
        if not isinstance(value, str | None):
            raise InputError("wrong value", path, place, field=name, found=value, expected="text")
        try:
            (value or "").encode()
        except UnicodeEncodeError:
            raise InputError("half of a character", path, place, field=name) from None
    if not (record.get("query") or "").strip():
        raise InputError("the query is blank", path, place)
    return {name: value for name, value in record.items() if value}
