"""Raw records of a case file; its form is told by its content first, by its name second."""

import json
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from casewise.cases._case import GROUPS, Case
from casewise.cases._yaml_files import YamlLoader, yaml_problem
from casewise.errors import InputError
from casewise.files import csv_cells, csv_rows, parse_json, read_lines, read_text


class Form(StrEnum):
    """The forms of a case file."""

    JSONL = "jsonl"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"
    UPSTREAM = "upstream"
    UPSTREAM_OUTPUT = "upstream output"


KNOWN_FORMS = (
    "JSON Lines (one case a line), JSON, YAML, CSV with a column 'query', "
    "CASE-Bench's data file or one of its output files"
)

_SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson"), Form.JSONL),
    ".json": Form.JSON,
    **dict.fromkeys((".yaml", ".yml"), Form.YAML),
    ".csv": Form.CSV,
}
TABLES = (".parquet", ".arrow", ".tsv", ".tab", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Suffixes of tables that no form of cases has."""

_CSV_COUNTS = ("votes_safe", "votes_unsafe")
_CSV_JSON = ("context", "history", "votes", "ratings")
_SHARED = ("source", "licence", "language", "category")


def sniff(path: Path) -> Form:
    """Tell a file's form by its first two lines that are not blank, or else by its name.

    JSON covers upstream's; the caller looks at the records.

    Raises:
        InputError: Neither the content nor the name is of a known form.
    """
    suffix = path.suffix.lower()
    if suffix in TABLES and path.is_file():
        raise InputError(_PROBLEMS_OF_TABLES[0], path, expected=KNOWN_FORMS)
    first, *more = islice(filter(str.strip, read_lines(path)), 2)
    first = first.lstrip()
    by_name = _SUFFIXES.get(suffix)
    if first.startswith("["):
        return Form.JSON
    if first.startswith("{"):
        return Form.JSONL if _is_jsonl(first, bool(more), by_name) else Form.JSON
    if by_name in (Form.JSON, Form.JSONL):
        return by_name
    if not first.startswith("#") and "query" in map(str.strip, csv_cells(first)):
        return Form.CSV
    if by_name is not None:
        return by_name
    if first.startswith(("-", "#", "%YAML", "cases:", *(f"{key}:" for key in _SHARED))):
        return Form.YAML
    raise InputError("not a file of cases", path, found=first, expected=KNOWN_FORMS)


def _is_jsonl(first: str, has_more: bool, by_name: Form | None) -> bool:
    """Tell whether text whose first line opens an object holds one object a line."""
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        # A first line that is cut or broken: the name decides, or a brace at its end.
        return by_name is Form.JSONL or (by_name is not Form.JSON and first.rstrip().endswith("}"))
    return has_more or (by_name is Form.JSONL and "cases" not in record)


def json_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Records of a JSON array, or of one object (a single case, or ``{"cases": [...]}``)."""
    yield from _from_list(parse_json(read_text(path), path), path)


def jsonl_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Records of JSON Lines, one in memory at a time.

    Lines end at line feeds alone: a query may hold U+2028.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            place = f"line {number}"
            yield place, parse_json(line, path, place)


def yaml_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Records of a hand-written YAML file.

    A list of cases, or a mapping of ``cases`` and of fields that all of them share. A query with
    its twins may be written once: ``contexts: {safe: ..., unsafe: ..., none: null}``.
    """
    try:
        data = yaml.load(read_text(path), Loader=YamlLoader)
    except yaml.YAMLError as error:
        raise yaml_problem(error, path) from None
    except RecursionError:
        raise InputError("nested too deeply", path) from None
    for place, record in _from_list(data, path):
        yield from _twins(record, place, path)


def _from_list(data: Any, path: Path) -> Iterator[tuple[str, Any]]:
    shared: dict[str, Any] = {}
    if isinstance(data, dict) and "cases" in data:
        shared = {**data}
        data = shared.pop("cases")
    elif isinstance(data, dict):
        data = [data]
    for key in shared:
        if key not in _SHARED:
            expected = f"one of {', '.join(_SHARED)}"
            raise InputError("unknown field beside 'cases'", path, field=key, expected=expected)
    if not isinstance(data, list):
        raise InputError("not a list of cases", path, found=data, expected=KNOWN_FORMS)
    if not data:
        raise InputError("the file holds no case", path)
    for number, record in enumerate(data, start=1):
        yield f"record {number}", shared | record if isinstance(record, dict) else record


def _twins(record: Any, place: str, path: Path) -> Iterator[tuple[str, Any]]:
    if not isinstance(record, dict) or "contexts" not in record:
        yield place, record
        return
    contexts = record["contexts"]
    rest = {key: value for key, value in record.items() if key != "contexts"}
    if not isinstance(contexts, dict) or not contexts or contexts.keys() - _ARMS:
        raise InputError(
            "wrong value",
            path,
            place,
            field="contexts",
            found=list(contexts) if isinstance(contexts, dict) else contexts,
            expected="contexts under 'safe', 'unsafe' or 'none'",
        )
    for own in ("context", "intended", "id"):
        if own in rest:
            raise InputError(f"{own!r} doesn't go with 'contexts'", path, place, field=own)
    for arm, context in contexts.items():
        yield f"{place} ({arm})", rest | {"context": context, "intended": _ARMS[arm]}


_ARMS = {"safe": "safe", "unsafe": "unsafe", "none": None}
"""Intended sides by the names of contexts."""


def csv_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Records of a CSV file with a header.

    Columns are fields of a case. ``context``, ``history`` and ``votes`` hold JSON; a context may
    also stand in columns ``sender.type``, ``recipient.background``...; votes may stand in
    ``votes_safe`` and ``votes_unsafe``; ``tags`` are separated by semicolons, or a JSON list.
    Empty cells are absent fields. An apostrophe that guards a formula is taken off.
    """
    rows = csv_rows(read_text(path), path)
    header = [name.strip() for name in next(rows).cells]
    _check_header(header, path)
    place = None
    for row in rows:
        if row.cells:
            place = f"record {row.number}"
            yield place, _csv_record(row.by_name(header, path, place), place, path)
    if place is None:
        raise InputError("the file holds no case", path)


def _check_header(header: list[str], path: Path) -> None:
    known = {*Case.model_fields, *_CSV_COUNTS}
    for name in header:
        if name not in known and name.split(".")[0] not in GROUPS:
            expected = (
                f"one of {', '.join(sorted(known))}, or sender.NAME, recipient.NAME, "
                "transmission_principle.NAME"
            )
            raise InputError("unknown column", path, "line 1", field=name, expected=expected)
        if header.count(name) > 1:
            raise InputError("the column stands twice", path, "line 1", field=name)


def _csv_record(cells: dict[str, str], place: str, path: Path) -> dict[str, Any]:
    record: dict[str, Any] = {}
    context: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for name, cell in cells.items():
        if cell == "" and name != "query":
            continue
        if name in _CSV_COUNTS:
            counts[name.removeprefix("votes_")] = _number(cell, name, int, place, path)
        elif name == "published_safe_rate":
            record[name] = _number(cell, name, float, place, path)
        elif name == "tags" and not cell.startswith("["):
            record[name] = [tag.strip() for tag in cell.split(";") if tag.strip()]
        elif name in (*_CSV_JSON, "tags"):
            record[name] = parse_json(cell, path, f"{place}, field {name!r}")
        elif name not in Case.model_fields:
            group, _, parameter = name.partition(".")
            context.setdefault(group, {})[parameter] = cell
        else:
            record[name] = cell
    for part, value in (("context", context), ("votes", counts)):
        if value and part in record:
            raise InputError("given twice", path, place, field=part)
        if value:
            record[part] = value
    return record


def _number(cell: str, name: str, kind: type[int] | type[float], place: str, path: Path) -> Any:
    try:
        return kind(cell)
    except ValueError:
        raise InputError(
            "wrong value", path, place, field=name, found=cell, expected="a number"
        ) from None


# --- tables of another shape ----------------------------------------------------------------

_PROBLEMS_OF_TABLES = (
    *("a table, not a file of cases", "not a file of cases", "not a list of cases"),
    *("unknown column", "unknown field", "the field is missing", "not a case", "not an object"),
    *("the column stands twice", "unknown field beside 'cases'", "wrong encoding"),
    "is a folder, expected a file",
)
"""Problems of a file that may be somebody's table."""


def name_import(problem: InputError, path: Path) -> None:
    """Add to a message how a table of another shape is imported, if the file may be one."""
    if problem.problem in _PROBLEMS_OF_TABLES:
        problem.args = (
            f"{problem}\n(a table of another shape? casewise cases import --draft {path} writes a "
            "mapping for it)",
        )
