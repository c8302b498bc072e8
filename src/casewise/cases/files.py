"""Sets of cases: load a file, check every record, name what is wrong.

A file's form is told by its content first, by its name second.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from importlib.resources import as_file, files
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import yaml
from pydantic import ValidationError

from casewise.cases.fetch import casebench_data
from casewise.cases.model import (
    GROUPS,
    Case,
    Context,
    dataset_hash,
    digest,
    to_fields,
)
from casewise.cases.upstream import (
    MARKS,
    PUBLISHED_HASH,
    PUBLISHED_VERSION,
    UpstreamOutput,
    answer_keys,
    asked_data_hash,
    is_upstream,
    output_condition,
    read_answers,
    to_case_fields,
)
from casewise.errors import InputError
from casewise.files import (
    TableForm,
    open_table,
    open_tables,
    parse_json,
    quoted,
    read_text,
    text_lines,
)
from casewise.files.yaml import (
    YamlLoader,
    field_path,
    problem_of,
    yaml_problem,
)

if TYPE_CHECKING:
    import polars as pl


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
        raise InputError("a table, not a file of cases", path, expected=KNOWN_FORMS)
    first, *more = [*islice(filter(str.strip, text_lines(path)), 2)] or [""]
    first = first.lstrip()
    by_name = _SUFFIXES.get(suffix)
    if first.startswith("["):
        return Form.JSON
    if first.startswith("{"):
        return Form.JSONL if _is_jsonl(first, bool(more), by_name) else Form.JSON
    if by_name in (Form.JSON, Form.JSONL):
        return by_name
    if not first.startswith("#") and "query" in re.split(r"[\s\",;|]+", first):
        return Form.CSV
    if by_name is not None:
        return by_name
    keys = ("cases", "version", *_SHARED)
    if first.startswith(("-", "#", "%YAML", *(f"{key}:" for key in keys))):
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


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.load(read_text(path), Loader=YamlLoader)
    except yaml.YAMLError as error:
        raise yaml_problem(error, path) from None
    except RecursionError:
        raise InputError("nested too deeply", path) from None


def _take_version(data: Any, path: Path) -> str | None:
    """Take the version of the set out of what a JSON or YAML file holds."""
    version = data.pop("version", None) if isinstance(data, dict) and "cases" in data else None
    if version is not None and not isinstance(version, str):
        # YAML reads 1.10 as the number 1.1.
        expected = "text (quote it)"
        raise InputError("wrong value", path, field="version", found=version, expected=expected)
    return version


def _from_list(data: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Records of a list of cases, of one case, or of ``cases`` beside fields that all share."""
    shared: dict[str, Any] = {}
    if isinstance(data, dict) and "cases" in data:
        shared = {**data}
        data = shared.pop("cases")
    elif isinstance(data, dict):
        data = [data]
    for key in shared:
        if key not in _SHARED:
            expected = f"one of {', '.join((*_SHARED, 'version'))}"
            raise InputError("unknown field beside 'cases'", path, field=key, expected=expected)
    if not isinstance(data, list):
        raise InputError("not a list of cases", path, found=data, expected=KNOWN_FORMS)
    if not data:
        raise InputError("the file holds no case", path)
    for number, record in enumerate(data, start=1):
        yield f"record {number}", shared | record if isinstance(record, dict) else record


def _twins(record: Any, place: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Cases of a query that is written once, with ``contexts: {safe: ..., unsafe: ...}``."""
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
    table = open_table(path, TableForm(header=1, guarded=True), ".csv")
    _check_header(table.columns, path)
    place = None
    for place, row in table.rows:
        if isinstance(row, InputError):
            raise row
        yield place, _csv_record(row, place, path)
    if place is None:
        raise InputError("the file holds no case", path)


def _check_header(header: Sequence[str], path: Path) -> None:
    known = {*Case.model_fields, *_CSV_COUNTS}
    for name in header:
        if name not in known and name.split(".")[0] not in GROUPS:
            expected = (
                f"one of {', '.join(sorted(known))}, or sender.NAME, recipient.NAME, "
                "transmission_principle.NAME"
            )
            raise InputError("unknown column", path, "line 1", field=name, expected=expected)


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


def name_import(problem: InputError, path: Path) -> None:
    """Add to a message how a table of another shape is imported, if the file is one."""
    if _is_other_table(path):
        problem.args = (
            f"{problem}\n(a table of another shape? casewise cases import --draft {quoted(path)} "
            "writes a mapping for it)",
        )


def _is_other_table(path: Path) -> bool:
    """Tell whether a file's first row can be read, and has other fields than a case."""
    try:
        table = open_tables(path)[0]
        _, row = next(iter(table.rows))
    except (InputError, StopIteration):
        return path.is_dir()
    return isinstance(row, dict) and not {*row} <= {*Case.model_fields}


_ROWS: dict[Form, Callable[[Path], Iterable[tuple[str, Any]]]] = {
    Form.JSONL: lambda path: open_table(path, suffix=".jsonl").rows,
    Form.CSV: csv_records,
}


@dataclass(frozen=True)
class CaseSet(Sequence[Case]):
    """Cases in the order of their file: a sequence that knows its hash and version."""

    cases: tuple[Case, ...] = field(repr=False)
    name: str
    """Name of the set: ``starter``, ``casebench``, or the file's name."""
    form: Form
    notes: tuple[str, ...] = ()
    """Remarks on the loading, such as fields that are no part of a case."""
    version: str | None = None
    """Version that their file gives them; None where it gives none."""
    source: str | None = None
    """Value of ``casewise run --cases`` for them; None where no file holds just these cases."""

    def __len__(self) -> int:
        return len(self.cases)

    @overload
    def __getitem__(self, place: int) -> Case: ...
    @overload
    def __getitem__(self, place: slice) -> "CaseSet": ...
    def __getitem__(self, place: int | slice) -> "Case | CaseSet":
        if isinstance(place, int):
            return self.cases[place]
        return replace(self, cases=self.cases[place], version=None, source=None, notes=())

    # Over many cases it takes a tenth of a second, and a run asks for it often.
    @cached_property
    def hash(self) -> str:
        """Hash of all cases in their order: 16 hexadecimal characters."""
        return dataset_hash(self.cases)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The fields of each case as plain values: what ``load_cases`` takes back."""
        return [to_fields(case) for case in self.cases]

    def to_polars(self) -> "pl.DataFrame":
        """The cases as a polars frame: contexts, histories and votes are JSON in their cells."""
        import polars as pl

        rows = [
            {
                name: json.dumps(value, ensure_ascii=False)
                if isinstance(value, dict | list)
                else value
                for name, value in fields.items()
            }
            for fields in self.to_dicts()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def identity(self) -> str:
        """Version and hash in words: ``version 1.2.0, hash 0f...``, or the hash alone."""
        return f"version {self.version}, hash {self.hash}" if self.version else f"hash {self.hash}"


def load_cases(path: Path | str, *, name: str | None = None) -> CaseSet:
    """Load a file of cases, of any known form.

    Raises:
        InputError: The file or one of its records can't be used; the message names the first
            fault and counts the others.
    """
    path = Path(path)
    loaded, problems = _load(path, name or path.name)
    if len(problems) > 1:
        more = f"(and {len(problems) - 1} more: casewise cases validate {quoted(path)})"
        problems[0].args = (f"{problems[0]}\n{more}",)
    if problems:
        raise problems[0]
    return replace(loaded, source=name or str(path))


def find_problems(path: Path | str) -> tuple[CaseSet, list[InputError]]:
    """Load what can be loaded, and list every record that can't.

    Raises:
        InputError: The file as a whole can't be read.
    """
    path = Path(path)
    return _load(path, path.name)


SharedCases = dict[tuple[str, bool], tuple[tuple[Case, ...], str]]
"""The cases of published outputs and the hash of their data, by a digest of what a file says of
them and by whether contexts are shortened: many files hold the same."""


def load_output(path: Path | str, shared: SharedCases | None = None) -> list[UpstreamOutput]:
    """Load a published output file: an entry for each model that answers in it.

    Args:
        path: The file.
        shared: Cases of files loaded before, which aren't checked and kept a second time.

    Raises:
        InputError: The file can't be used, or holds no answers.
    """
    path = Path(path)
    records = parse_json(read_text(path), path)
    models = answer_keys(records)
    if not models:
        raise InputError("not a CASE-Bench output file", path)
    shared = {} if shared is None else shared
    outputs = []
    for model in models:
        answers = read_answers(records, model, path)
        mode, ablation = output_condition(path, answers)
        cases, data = _shared_cases(records, models, path, ablation is not None, shared)
        outputs.append(UpstreamOutput(path, model, mode, ablation, cases, answers, data))
    return outputs


def _shared_cases(
    records: Sequence[Any],
    models: Sequence[str],
    path: Path,
    shortened: bool,
    shared: SharedCases,
) -> tuple[tuple[Case, ...], str]:
    asked = [
        {name: one[name] for name in one if name not in models} if isinstance(one, dict) else one
        for one in records
    ]
    key = (digest(asked), shortened)
    if key not in shared:
        cases, problems = _validated(_upstream_fields(records, path), path)
        if problems:
            raise problems[0]
        shared[key] = tuple(cases), asked_data_hash(cases, shortened=shortened)
    return shared[key]


def is_output(path: Path) -> bool:
    """Tell whether a JSON file is a published output (its records hold a model's answers).

    Raises:
        InputError: It has the marks of one, and is cut short or broken.
    """
    try:
        text = read_text(path)
    except InputError:
        return False
    return any(f'"{mark}"' in text for mark in MARKS) and bool(answer_keys(parse_json(text, path)))


def _load(path: Path, name: str) -> tuple[CaseSet, list[InputError]]:
    """Load what can be loaded; of a table of another shape, say how it is imported."""
    notes: tuple[str, ...] = ()
    version = None
    records: Iterable[tuple[str, Any]]
    try:
        form = sniff(path)
        if form in _ROWS:
            records = _ROWS[form](path)
        else:
            data = _read_yaml(path) if form is Form.YAML else parse_json(read_text(path), path)
            version = _take_version(data, path)
            records = _from_list(data, path)
        if form is Form.YAML:
            records = chain.from_iterable(_twins(record, at, path) for at, record in records)
        elif form is Form.JSON:
            records = list(records)
            raw = [record for _, record in records]
            if is_upstream(raw):
                form, records = Form.UPSTREAM, _upstream_fields(raw, path)
            if models := answer_keys(raw):
                form = Form.UPSTREAM_OUTPUT
                notes = (
                    f"the answers of {', '.join(models)} are no part of the cases; "
                    f"casewise score reads them",
                )
        cases, problems = _validated(records, path)
    except InputError as problem:
        name_import(problem, path)
        raise
    if problems and not cases:
        name_import(problems[0], path)
    loaded = CaseSet(tuple(cases), name, form, notes, version)
    if form is Form.UPSTREAM and loaded.hash == PUBLISHED_HASH:
        loaded = replace(loaded, version=PUBLISHED_VERSION)
    return loaded, problems


def _upstream_fields(
    records: Sequence[object], path: Path
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    for number, record in enumerate(records, start=1):
        place = f"record {number}"
        try:
            yield place, to_case_fields(record, path, place)
        except InputError as problem:
            yield place, problem


@dataclass(slots=True)
class SharedParts:
    """Parts that cases of one file share, held once: many sets cross queries with contexts."""

    contexts: dict[str, Context] = field(default_factory=dict)
    """Contexts by the hash of their JSON."""
    texts: dict[str | None, str | None] = field(default_factory=dict)
    fields: dict[frozenset[str], set[str]] = field(default_factory=dict)
    """Sets of the fields that a case gives: a fifth of its memory."""

    def take(self, record: Any) -> tuple[Any, str | None]:
        """A raw record, its context from an earlier case if equal, and the context's hash."""
        context = record.get("context") if isinstance(record, dict) else None
        if not isinstance(context, dict):
            return record, None
        try:
            key = digest(context)
        except (TypeError, ValueError, RecursionError):  # a date of YAML's, which is refused later
            return record, None
        known = self.contexts.get(key)
        return (record if known is None else record | {"context": known}), key

    def hold(self, case: Case, key: str | None) -> Case:
        """The case, with parts of earlier cases for its own; ``key`` is its context's hash."""
        if case.context is not None and key is not None:
            self.contexts.setdefault(key, case.context)
        for name in ("query", "query_id", "category", "source", "licence", "language"):
            text = getattr(case, name)
            case.__dict__[name] = self.texts.setdefault(text, text)
        names = case.__pydantic_fields_set__
        names = self.fields.setdefault(frozenset(names), names)
        object.__setattr__(case, "__pydantic_fields_set__", names)
        return case


def _validated(
    records: Iterable[tuple[str, Any]], path: Path
) -> tuple[list[Case], list[InputError]]:
    cases: list[Case] = []
    problems: list[InputError] = []
    shared = SharedParts()
    places: dict[str, str] = {}
    for place, record in records:
        if isinstance(record, InputError):
            problems.append(record)
            continue
        try:
            taken, key = shared.take(record)
            case = shared.hold(checked_case(taken, path, place), key)
        except InputError as problem:
            problems.append(problem)
            continue
        if places.setdefault(case.id, place) is place:
            cases.append(case)
            continue
        problems.append(
            InputError(
                f"duplicate id, first used at {places[case.id]}",
                path,
                place,
                field="id",
                found=case.id,
                expected="an id of its own (without ids: another query, context or history)",
            )
        )
    return cases, problems


def checked_case(record: Any, path: Path, place: str) -> Case:
    """Validate a raw record as a case.

    Raises:
        InputError: It is none; the message names file, record and field.
    """
    # A null id is left out, so that the case is given its hash.
    given = record
    if isinstance(record, dict):
        given = {
            key: value
            for key, value in record.items()
            if value is not None or key not in ("id", "query_id")
        }
    try:
        case = Case.model_validate(given)
        if "\\ud" in repr(record):
            json.dumps(record, ensure_ascii=False, default=str).encode()
    except ValidationError as error:
        raise _explain(error, record, path, place) from None
    except UnicodeEncodeError as error:
        # JSON's escapes can write half of a surrogate pair, which no UTF-8 file can hold.
        half = error.object[error.start : error.end]
        fields = (
            name for name, value in record.items() if half in json.dumps(value, ensure_ascii=False)
        )
        raise InputError(
            "half of a character", path, place, field=next(fields, None), found=half
        ) from None
    return case


def _explain(error: ValidationError, record: object, path: Path, place: str) -> InputError:
    """Turn pydantic's first error into a message that names file, record and field."""
    if not isinstance(record, dict):
        return InputError("not a case", path, place, found=record, expected="an object")
    detail = next(one for one in error.errors() if one["type"] != "default_factory_not_called")
    # Votes are a union, whose part pydantic names.
    loc = [
        step for at, step in enumerate(detail["loc"]) if at != 1 or step not in ("rows", "counts")
    ]
    problem, found, expected = problem_of(detail, Case.model_fields, _EXPECTED)
    if not loc:
        return InputError(str(expected), path, place)
    return InputError(
        problem,
        path,
        place,
        field=field_path(loc),
        found=found,
        expected=None if detail["type"] == "extra_forbidden" and len(loc) > 1 else expected,
    )


_EXPECTED = {
    "string_type": "text",
    "invalid-json-value": "text, a number, true, false, a list or a mapping (quote dates)",
}
"""Plain words for pydantic's."""


STARTER = "starter"
CASEBENCH = "casebench"


def open_cases(name: str | Path) -> CaseSet:
    """Load ``starter`` (bundled), ``casebench`` (from the cache), or a file of cases.

    Raises:
        InputError: The file can't be used.
        AssetError: CASE-Bench was not fetched yet.
    """
    if name == STARTER:
        with as_file(files("casewise.data") / "starter.yaml") as path:
            return load_cases(path, name=STARTER)
    if name == CASEBENCH:
        return load_cases(casebench_data(), name=CASEBENCH)
    return load_cases(name)
