"""Load a file of cases: recognise its form, check every record, name what is wrong."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, overload

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from casewise.cases._case import Case, digest
from casewise.cases._fetch import casebench_data
from casewise.cases._file_records import (
    Form,
    SharedParts,
    csv_records,
    json_records,
    jsonl_records,
    name_import,
    refuse_tables,
    sniff,
    yaml_records,
)
from casewise.cases._upstream import (
    MARKS,
    PUBLISHED_HASH,
    PUBLISHED_VERSION,
    UpstreamOutput,
    answer_keys,
    asked_about,
    is_upstream,
    output_condition,
    read_answers,
    to_case_fields,
)
from casewise.cases._write_cases import dataset_hash, load_releases, released_version, releases_path
from casewise.errors import InputError
from casewise.files import parse_json, read_text

_READERS = {
    Form.JSON: json_records,
    Form.JSONL: jsonl_records,
    Form.YAML: yaml_records,
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
    """Notes on the loading, such as fields that are no part of a case."""
    version: str | None = None
    """Under which these very cases were released; None where they were not."""
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
        """16 hexadecimal characters over every case in its order."""
        return dataset_hash(self.cases)

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
    if problems:
        more = len(problems) - 1
        if more:
            problems[0].args = (
                f"{problems[0]}\n(and {more} more: casewise cases validate {path})",
            )
        raise problems[0]
    return _versioned(replace(loaded, source=name or str(path)), path)


def _versioned(loaded: CaseSet, path: Path) -> CaseSet:
    """Name the version that the cases were released under, or that they changed since."""
    if loaded.form is Form.UPSTREAM and loaded.hash == PUBLISHED_HASH:
        return replace(loaded, version=PUBLISHED_VERSION)
    releases = load_releases(path)
    if not releases:
        return loaded
    version = released_version(releases, loaded.hash)
    if version is not None:
        return replace(loaded, version=version)
    note = (
        f"{path.name} was changed since {releases[-1].version} was released "
        f"({releases_path(path).name}); casewise cases release gives it a version of its own"
    )
    return replace(loaded, notes=(*loaded.notes, note))


def find_problems(path: Path | str) -> tuple[CaseSet, list[InputError]]:
    """Load what can be loaded, and list every record that can't.

    Raises:
        InputError: The file as a whole can't be read.
    """
    path = Path(path)
    loaded, problems = _load(path, path.name)
    return (loaded if problems else _versioned(loaded, path)), problems


SharedCases = dict[tuple[str, bool], tuple[tuple[Case, ...], str]]
"""The cases of published outputs and the hash of their data, by a digest of what a file says of
them and by whether contexts are shortened: many files hold the same."""


def load_output(path: Path | str, shared: SharedCases | None = None) -> list[UpstreamOutput]:
    """Load one of the published output files: one entry for each model that answers in it.

    Args:
        path: The file.
        shared: Cases of files loaded before, which aren't checked and kept a second time.

    Raises:
        InputError: The file can't be used, or holds no answers.
    """
    path = Path(path)
    records = parse_json(read_text(path), path)
    if not isinstance(records, list) or not is_upstream(records) or not answer_keys(records):
        raise InputError("not a CASE-Bench output file", path)
    models = answer_keys(records)
    shared = {} if shared is None else shared
    outputs = []
    for model in models:
        answers = read_answers(records, model, file=path)
        protocol, ablation = output_condition(path, answers)
        cases, data = _shared_cases(records, models, path, ablation is not None, shared)
        outputs.append(UpstreamOutput(path, model, protocol, ablation, cases, answers, data))
    return outputs


def _shared_cases(
    records: Sequence[Any],
    models: Sequence[str],
    path: Path,
    shortened: bool,
    shared: SharedCases,
) -> tuple[tuple[Case, ...], str]:
    told = [
        {name: one[name] for name in one if name not in models} if isinstance(one, dict) else one
        for one in records
    ]
    key = (digest(told), shortened)
    if key not in shared:
        cases, problems = _validated(_upstream_fields(records, path), path)
        if problems:
            raise problems[0]
        shared[key] = tuple(cases), asked_about(cases, shortened=shortened)
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
    if not any(f'"{mark}"' in text for mark in MARKS):
        return False
    records = parse_json(text, path)
    return isinstance(records, list) and is_upstream(records) and bool(answer_keys(records))


def _load(path: Path, name: str) -> tuple[CaseSet, list[InputError]]:
    """Load what can be loaded; of a table of another shape, say how it is imported."""
    try:
        refuse_tables(path)
        loaded, problems = _loaded(path, name)
    except InputError as problem:
        name_import(problem, path)
        raise
    if problems and not loaded.cases:
        name_import(problems[0], path)
    return loaded, problems


def _loaded(path: Path, name: str) -> tuple[CaseSet, list[InputError]]:
    form = sniff(path)
    records = _READERS[form](path)
    notes: tuple[str, ...] = ()
    if form is Form.JSON:
        listed = list(records)
        raw = [record for _, record in listed]
        records = iter(listed)
        if is_upstream(raw):
            models = answer_keys(raw)
            form = Form.UPSTREAM_OUTPUT if models else Form.UPSTREAM
            if models:
                notes = (
                    f"the answers of {', '.join(models)} are no part of the cases; "
                    f"casewise score reads them",
                )
            records = _upstream_fields(raw, path)
    cases, problems = _validated(records, path)
    return CaseSet(tuple(cases), name, form, notes), problems


def _upstream_fields(
    records: Sequence[object], path: Path
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    for index, record in enumerate(records, start=1):
        place = f"record {index}"
        if not isinstance(record, dict):
            yield place, InputError("not an object", path, place, found=record)
            continue
        try:
            yield place, to_case_fields(record, file=path, place=place)
        except InputError as problem:
            yield place, problem


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
        if case.id in places:
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
            continue
        places[case.id] = place
        cases.append(case)
    return cases, problems


def checked_case(record: Any, path: Path, place: str) -> Case:
    """A raw record as a case.

    Raises:
        InputError: It is none; the message names file, record and field.
    """
    try:
        case = Case.model_validate(_present(record))
        json.dumps(record, ensure_ascii=False, default=str).encode()
    except ValidationError as error:
        raise _explain(error, record, path, place) from None
    except UnicodeEncodeError as error:
        raise _half_character(error, record, path, place) from None
    return case


def _present(record: Any) -> Any:
    """Drop null ids, so that a case without an id is given its hash."""
    if not isinstance(record, dict):
        return record
    return {key: value for key, value in record.items() if value is not None or key not in _HASHED}


def _half_character(error: UnicodeEncodeError, record: Any, path: Path, place: str) -> InputError:
    """JSON's escapes can write half of a surrogate pair, which no UTF-8 file can hold."""
    half = error.object[error.start : error.end]
    field = next(
        (name for name, value in record.items() if half in json.dumps(value, ensure_ascii=False)),
        None,
    )
    return InputError("half of a character", path, place, field=field, found=half)


_HASHED = ("id", "query_id")


def _explain(error: ValidationError, record: object, path: Path, place: str) -> InputError:
    """Turn pydantic's first error into a message that names file, record and field."""
    details = [
        detail for detail in error.errors() if detail["type"] != "default_factory_not_called"
    ]
    first = details[0]
    field = _field_name(first)
    if not isinstance(record, dict):
        return InputError("not a case", path, place, found=record, expected="an object")
    if first["type"] == "missing":
        return InputError("the field is missing", path, place, field=field)
    if first["type"] == "extra_forbidden":
        return InputError(
            "unknown field",
            path,
            place,
            field=field,
            expected=f"one of {', '.join(Case.model_fields)}" if "." not in field else None,
        )
    expected = _EXPECTED.get(first["type"]) or (
        first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    )
    whole = field == ""
    return InputError(
        expected if whole else "wrong value",
        path,
        place,
        field=field or None,
        # A query is never shown; whatever stands in its place is.
        found=...
        if whole or (field == "query" and isinstance(first["input"], str))
        else first["input"],
        expected=None if whole else expected,
    )


_EXPECTED = {
    "string_type": "text",
    "invalid-json-value": "text, a number, true, false, a list or a mapping (quote dates)",
}
"""Plain words for pydantic's."""


def _field_name(detail: ErrorDetails) -> str:
    tags = {"rows", "counts"}
    name = ""
    for index, part in enumerate(detail["loc"]):
        if isinstance(part, int):
            name += f"[{part}]"
        elif not (index == 1 and part in tags):
            name += f".{part}" if name else part
    return name


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
