"""Load a file of cases: recognise its form, check every record, name what is wrong."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, overload

from pydantic import ValidationError

from casewise.cases._case import Case, digest
from casewise.cases._fetch import casebench_data
from casewise.cases._file_records import (
    Form,
    SharedParts,
    csv_records,
    json_records,
    jsonl_records,
    name_import,
    sniff,
    yaml_records,
)
from casewise.cases._upstream import (
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
from casewise.cases._write_cases import dataset_hash, load_releases, releases_path
from casewise.cases._yaml_files import field_path, problem_of
from casewise.errors import InputError
from casewise.files import parse_json, read_text

_READERS: dict[Form, Callable[[Path], Iterator[tuple[str, Any]]]] = {
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
    """Remarks on the loading, such as fields that are no part of a case."""
    version: str | None = None
    """Version that exactly these cases were released as; None where they were not."""
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
        more = f"(and {len(problems) - 1} more: casewise cases validate {path})"
        problems[0].args = (f"{problems[0]}\n{more}",)
    if problems:
        raise problems[0]
    return _versioned(replace(loaded, source=name or str(path)), path)


def _versioned(loaded: CaseSet, path: Path) -> CaseSet:
    """Add the version of the cases, or a note that they changed since the last release."""
    if loaded.form is Form.UPSTREAM and loaded.hash == PUBLISHED_HASH:
        return replace(loaded, version=PUBLISHED_VERSION)
    releases = load_releases(path)
    if not releases:
        return loaded
    for release in reversed(releases):
        if release.hash == loaded.hash:
            return replace(loaded, version=release.version)
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
    try:
        form = sniff(path)
        records: Iterable[tuple[str, Any]] = _READERS[form](path)
        if form is Form.JSON:
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
    return CaseSet(tuple(cases), name, form, notes), problems


def _upstream_fields(
    records: Sequence[object], path: Path
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    for number, record in enumerate(records, start=1):
        place = f"record {number}"
        try:
            yield place, to_case_fields(record, path, place)
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
