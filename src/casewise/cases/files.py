"""Sets of cases: load a file, check every record, name what is wrong; write one.

YAML and CSV are told by their names, JSON and JSON Lines by their content.

Of the published files (upstream commit 135f221), ``CASEBench_data.json`` and the outputs under
``exp/``, ``scores`` holds 20 votes, 1 safe and 2 unsafe; the outputs hold a 21st, which equals the
intended side in every record and is kept apart as the author's.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import as_file, files
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import yaml
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from casewise.cases.fetch import casebench_data
from casewise.cases.model import (
    FIRST,
    GROUPS,
    Case,
    Context,
    Strict,
    dataset_hash,
    digest,
    to_fields,
    to_line,
)
from casewise.errors import InputError, UsageError
from casewise.files import (
    Row,
    TableForm,
    csv_text,
    open_table,
    open_tables,
    parse_json,
    quoted,
    read_text,
    text_lines,
    write_atomically,
)
from casewise.files.rows import READERS, is_lines
from casewise.files.text import LARGEST
from casewise.files.yaml import check_model, read_plain_yaml

if TYPE_CHECKING:
    import polars as pl


# --- published files ----------------------------------------------------------------------------

SOURCE = "CASE-Bench (Sun et al., ICML 2025, arXiv 2501.14940)"
LICENCE = "upstream terms: for holders of SORRY-Bench access"
ANNOTATORS = 20
"""Votes of annotators in a record; one more, where present, is the author's."""

OVERRIDDEN_CATEGORY = "child-related crimes"
"""The published script sets this category's safe rate to 0, as SORRY-Bench labels it."""

PUBLISHED_VERSION = "135f221"
"""Name of the published data: the first characters of its commit."""
PUBLISHED_HASH = "af9d96d0ba0a1842"
"""The ``dataset_hash`` of ``CASEBench_data.json``."""
_PUBLISHED_BARE = "de0e4089ebd41030"
"""The same without contexts."""


class UpstreamRecord(BaseModel):
    """A record of upstream's files; in an output, answers of models stand beside these fields."""

    model_config = ConfigDict(extra="allow")

    scores: list[Literal[1, 2]] = Field(max_length=ANNOTATORS + 1)
    """Votes: 1 safe, 2 unsafe."""
    query: str
    context: Any
    context_intended_to_be_safe: StrictBool
    safe_rate: Any
    category: Any


MARKS = frozenset({"context_intended_to_be_safe", "safe_rate"})
"""Keys that only upstream's records have."""

Mode = Literal["binary", "score", "logits"]
"""Form of the answers, as upstream names it."""

_NAME = re.compile(r"output_(binary|score|logits)(?:_(.+))?\.json")


@dataclass(frozen=True, slots=True)
class UpstreamOutput:
    """One published output file: a model's answers to the cases, in the file's order."""

    path: Path
    model: str
    """Name of the model, the key of its answers."""
    mode: Mode
    ablation: str | None
    """Removed groups or parameters, joined by commas as in the file's name."""
    cases: tuple[Case, ...]
    answers: tuple[str | float, ...]
    """One answer a case; ``""`` is none."""

    data_hash: str
    """Hash of the data that was asked about, without the author's votes."""

    @property
    def data_version(self) -> str | None:
        """Name of that data; None where it isn't the published one."""
        return PUBLISHED_VERSION if self.data_hash == PUBLISHED_HASH else None


def asked_data_hash(cases: Sequence[Case], *, shortened: bool) -> str:
    """Hash of the data that the cases of an output come from.

    Where an output shortens the contexts, the published data are recognised without them.
    """
    whole = [case.model_copy(update={"author_vote": None}) for case in cases]
    if not shortened:
        return dataset_hash(whole)
    bare = dataset_hash(case.model_copy(update={"context": None}) for case in whole)
    return PUBLISHED_HASH if bare == _PUBLISHED_BARE else dataset_hash(whole)


def is_upstream(records: object) -> bool:
    """Tell upstream's records by their keys."""
    return isinstance(records, list) and any(
        isinstance(record, Mapping) and MARKS & record.keys() for record in records[:20]
    )


def answer_keys(records: Any) -> list[str]:
    """Names of the models whose answers the records hold: keys that the data file lacks.

    There are none in records that are not upstream's.
    """
    if not is_upstream(records):
        return []
    keys = (key for record in records if isinstance(record, Mapping) for key in record)
    return [key for key in dict.fromkeys(keys) if key not in UpstreamRecord.model_fields]


def to_case_fields(record: object, file: Path, place: str) -> dict[str, Any]:
    """Turn an upstream record into the fields of a Case.

    The id is made from query and intended side, so that a record whose context was shortened
    has the id of its whole case.

    Raises:
        InputError: A field is missing or of the wrong type, or a vote is neither 1 nor 2.
    """
    fields = check_model(record, UpstreamRecord, file, "record of CASE-Bench", record=place)
    side = "safe" if fields.context_intended_to_be_safe else "unsafe"
    votes = ["safe" if vote == 1 else "unsafe" for vote in fields.scores]
    return {
        "id": digest(fields.query, side),
        "query": fields.query,
        "context": fields.context,
        "category": fields.category,
        "intended": side,
        "votes": [
            {"rater": f"column-{column:02}", "verdict": verdict}
            for column, verdict in enumerate(votes[:ANNOTATORS], start=1)
        ],
        "author_vote": next(iter(votes[ANNOTATORS:]), None),
        "published_safe_rate": fields.safe_rate,
        "source": SOURCE,
        "licence": LICENCE,
        "language": "en",
    }


def read_answers(records: Sequence[Any], model: str, file: Path) -> tuple[str | float, ...]:
    """Answers under a model's key; ``""`` for a record without one.

    Raises:
        InputError: An answer is neither text nor a number.
    """
    # A record that is no object is found when its case is read.
    values = (record.get(model) if isinstance(record, Mapping) else None for record in records)
    answers = ["" if answer is None else answer for answer in values]
    for number, answer in enumerate(answers, start=1):
        if isinstance(answer, bool) or not isinstance(answer, str | int | float):
            raise InputError(
                "wrong answer",
                file,
                f"record {number}",
                field=model,
                found=answer,
                expected="text or a number",
            )
    return tuple(answers)


def output_condition(file: Path) -> tuple[Mode, str | None]:
    """Mode and ablation of an output file, by its name.

    Raises:
        InputError: It has another name than upstream's.
    """
    match = _NAME.fullmatch(file.name)
    if match is None:
        expected = "output_binary, output_score or output_logits, _REMOVED, .json"
        raise InputError("not the name of an output file", file, expected=expected)
    return match[1], match[2]  # type: ignore[return-value]


# --- any file -----------------------------------------------------------------------------------

KNOWN_FORMS = (
    "JSON Lines (one case a line), JSON, YAML, CSV with a column 'query', "
    "CASE-Bench's data file or one of its output files"
)


class _CaseFile(Strict):
    """Cases, the version of the file, and fields that may stand once for all of them."""

    cases: list[Any]
    version: str | None = None
    source: str | None = None
    licence: str | None = None
    language: str | None = None
    category: str | None = None


def _is_lines(path: Path) -> bool:
    """Tell JSON Lines from JSON, by the content first and by the name second.

    Raises:
        InputError: It is neither.
    """
    first = next(filter(str.strip, text_lines(path)), "").lstrip()
    if first[:1] not in ("[", "{"):
        raise InputError("not a file of cases", path, found=first, expected=KNOWN_FORMS)
    is_named = path.suffix.lower() in (".jsonl", ".ndjson") and first.startswith("{")
    return is_named or is_lines(path)


def _from_list(data: Any, path: Path) -> tuple[list[tuple[str, Any]], str | None]:
    """Records of a list of cases, of one case, or of ``cases`` beside what all share; a version."""
    if not isinstance(data, dict) or "cases" not in data:
        data = {"cases": [data] if isinstance(data, dict) else data}
    file = check_model(data, _CaseFile, path, "file of cases")
    shared = file.model_dump(exclude={"cases", "version"}, exclude_unset=True)
    return [
        (f"record {number}", shared | record if isinstance(record, dict) else record)
        for number, record in enumerate(file.cases, start=1)
    ], file.version


_ARMS = {"safe": "safe", "unsafe": "unsafe", "none": None}
"""Intended sides by the names of contexts."""


def _twins(record: Any, place: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Cases of a query that is written once, with ``contexts: {safe: ..., unsafe: ...}``."""
    if not isinstance(record, dict) or "contexts" not in record:
        yield place, record
        return
    shared = {**record}
    contexts = shared.pop("contexts")
    if not isinstance(contexts, dict) or not contexts or contexts.keys() - _ARMS:
        problem, expected = "wrong value", "contexts under 'safe', 'unsafe' or 'none'"
        raise InputError(problem, path, place, field="contexts", found=contexts, expected=expected)
    if own := [name for name in ("context", "intended", "id") if name in shared]:
        raise InputError(f"{own[0]!r} doesn't go with 'contexts'", path, place, field=own[0])
    for arm, context in contexts.items():
        yield f"{place} ({arm})", shared | {"context": context, "intended": _ARMS[arm]}


# --- rows of a table whose columns are the fields of a case ------------------------------------

_COUNTS = {"votes_safe": "safe", "votes_unsafe": "unsafe"}
_JSON_FIELDS = ("context", "history", "votes", "tags")
"""Fields that a cell holds as JSON."""


def row_record(cells: Row, place: str, path: Path) -> Row:
    """Record of a case in a row: empty cells are absent fields, and JSON in texts is opened.

    A context may also stand in columns ``sender.type``, ``recipient.background``..., votes in
    ``votes_safe`` and ``votes_unsafe``; ``tags`` may be separated by semicolons.
    """
    if isinstance(cells, InputError):
        return cells
    record: dict[str, Any] = {}
    context: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    for name, cell in cells.items():
        group, _, parameter = name.partition(".")
        if name != "query" and (cell in (None, "") or cell != cell):  # NaN is not equal to itself
            continue
        if name in _COUNTS:
            counts[_COUNTS[name]] = cell
        elif group in GROUPS and parameter:
            context.setdefault(group, {})[parameter] = cell
        elif name == "tags" and isinstance(cell, str) and not cell.startswith("["):
            record[name] = [tag.strip() for tag in cell.split(";") if tag.strip()]
        elif name in _JSON_FIELDS and isinstance(cell, str):
            try:
                record[name] = parse_json(cell, path, place)
            except InputError as error:
                expected = "JSON, as casewise writes it; other tables take casewise cases import"
                return InputError(
                    error.problem, path, place, field=name, found=cell, expected=expected
                )
        else:
            record[name] = cell
    for name, value in (("context", context), ("votes", counts)):
        if value and name in record:
            return InputError("given twice", path, place, field=name)
        if value:
            record[name] = value
    return record


# --- sets ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CaseSet(Sequence[Case]):
    """Cases in the order of their file: a sequence that knows its hash and version."""

    cases: tuple[Case, ...] = field(repr=False)
    name: str
    """Name of the set: ``starter``, ``casebench``, or the file's name."""
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
            {name: _cell(value) for name, value in fields.items()} for fields in self.to_dicts()
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
    raise_first(problems, f": casewise cases validate {quoted(path)}")
    return replace(loaded, source=name or str(path))


def raise_first(problems: Sequence[InputError], how: str = "") -> None:
    """Raise the first of several problems, with the number of the others and how to see them."""
    if problems:
        if len(problems) > 1:
            problems[0].args = (f"{problems[0]}\n(and {len(problems) - 1} more{how})",)
        raise problems[0]


def find_problems(path: Path | str) -> tuple[CaseSet, list[InputError]]:
    """Load what can be loaded, and list every record that can't.

    Raises:
        InputError: The file as a whole can't be read.
    """
    path = Path(path)
    return _load(path, path.name)


def _load(path: Path, name: str) -> tuple[CaseSet, list[InputError]]:
    """Load what can be loaded; of a table of another shape, say how it is imported."""
    try:
        cases, problems, notes, version = _read(path)
    except InputError as problem:
        _name_import(problem, path)
        raise
    if problems and not cases:
        _name_import(problems[0], path)
    return CaseSet(tuple(cases), name, notes, version), problems


def is_case_file(path: Path) -> bool:
    """Tell whether a file can be loaded as it is, without a fault."""
    try:
        # The first record tells most tables, of which not every row is then looked at.
        first, _ = validated(islice(_records(path).rows, 1), path)
        return bool(first) and not _read(path)[1]
    except InputError:
        return False


@dataclass(slots=True)
class _Records:
    """Raw records of cases in a file."""

    rows: Iterable[tuple[str, Any]]
    notes: Sequence[str] = ()
    version: str | None = None
    published: Sequence[Any] = ()
    """Those of upstream's form, as they stand in the file."""


def _records(path: Path) -> _Records:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        table = open_table(path, TableForm(header=1, guarded=True), ".csv")
        return _Records(((at, row_record(row, at, path)) for at, row in table.rows), table.notes)
    if suffix in (".yaml", ".yml"):
        data = read_plain_yaml(path, "file of cases", most_bytes=LARGEST)
        listed, version = _from_list(data, path)
        twins = (_twins(record, place, path) for place, record in listed)
        return _Records(chain.from_iterable(twins), version=version)
    if suffix in READERS.keys() - {".json", ".jsonl", ".ndjson", ".txt"}:
        raise InputError("a table of another form", path, expected="YAML, JSON, JSON Lines or CSV")
    if _is_lines(path):
        return _Records(open_table(path, suffix=".jsonl").rows)
    listed, version = _from_list(parse_json(read_text(path), path), path)
    raw = [record for _, record in listed]
    if not is_upstream(raw):
        return _Records(listed, version=version)
    return _Records(_upstream_fields(raw, path), version=version, published=raw)


def _read(path: Path) -> tuple[list[Case], list[InputError], tuple[str, ...], str | None]:
    """Cases, problems, notes and the version of a file."""
    contents = _records(path)
    cases, problems = validated(contents.rows, path)
    if not cases and not problems:
        raise InputError("the file holds no case", path)
    notes, version = contents.notes, contents.version
    if models := answer_keys(contents.published):
        remark = f"the answers of {', '.join(models)} are no part of the cases"
        notes = [f"{remark}; casewise score reads them"]
    elif contents.published and dataset_hash(cases) == PUBLISHED_HASH:
        version = PUBLISHED_VERSION
    return cases, problems, tuple(notes), version


def _name_import(problem: InputError, path: Path) -> None:
    """Add to a message how a table of another shape is imported, if the file is one."""
    try:
        _, row = next(iter(open_tables(path)[0].rows))
        # Those of CASE-Bench need no mapping.
        is_other = isinstance(row, dict) and not ({*row} <= {*Case.model_fields} or MARKS & {*row})
    except (InputError, StopIteration):
        is_other = False
    if is_other:
        problem.args = (
            f"{problem}\n(a table of another shape? casewise cases import --draft {quoted(path)} "
            "writes a mapping for it)",
        )


# --- published outputs ----------------------------------------------------------------------------

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
        mode, ablation = output_condition(path)
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
    bare_records = [
        {name: record[name] for name in record if name not in models}
        if isinstance(record, dict)
        else record
        for record in records
    ]
    key = (digest(bare_records), shortened)
    if key not in shared:
        cases, problems = validated(_upstream_fields(records, path), path)
        raise_first(problems[:1])
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


def _upstream_fields(
    records: Sequence[object], path: Path
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    for number, record in enumerate(records, start=1):
        place = f"record {number}"
        try:
            yield place, to_case_fields(record, path, place)
        except InputError as problem:
            yield place, problem


# --- records to cases -----------------------------------------------------------------------------


def validated(
    records: Iterable[tuple[str, Any]], path: Path
) -> tuple[list[Case], list[InputError]]:
    """Cases of records, each with its place, or the fault of those that are none."""
    cases: list[Case] = []
    problems: list[InputError] = []
    contexts: dict[str, Context] = {}
    places: dict[str, str] = {}
    for place, record in records:
        try:
            if isinstance(record, InputError):
                raise record
            case = checked_case(record, path, place, contexts)
            first = places.setdefault(case.id, place)
            if first is not place:
                problem = f"duplicate id, first used at {first}"
                expected = "an id of its own (without ids: another query, context or history)"
                raise InputError(problem, path, place, field="id", found=case.id, expected=expected)
            cases.append(case)
        except InputError as problem:
            problems.append(problem)
    return cases, problems


def checked_case(record: Any, path: Path, place: str, contexts: dict[str, Context]) -> Case:
    """Validate a raw record as a case.

    Args:
        record: The record.
        path: Its file.
        place: Its place there.
        contexts: Contexts of earlier cases, held once: many sets cross queries with contexts.

    Raises:
        InputError: It is none; the message names file, record and field.
    """
    if not isinstance(record, dict):
        raise InputError("not a case", path, place, found=record, expected="an object")
    # A null id is left out, so that the case is given its hash.
    data = {
        key: value
        for key, value in record.items()
        if value is not None or key not in ("id", "query_id")
    }
    context = repr(data.get("context"))
    if context in contexts:
        data["context"] = contexts[context]
    try:
        case = check_model(data, Case, path, "case", record=place)
        if case.context is not None:
            contexts[context] = case.context
        if "\\ud" in repr(record):
            json.dumps(record, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        # JSON's escapes can write half of a surrogate pair, which no UTF-8 file can hold.
        half = repr(error.object[error.start])[1:-1]
        fields = (name for name, value in record.items() if half in repr(value))
        raise InputError(
            "half of a character", path, place, field=next(fields, None), found=half
        ) from None
    return case


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


# --- writing --------------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """YAML's safe dumper, quoting text with line ends or control characters.

    YAML folds line breaks, U+0085 and U+2028 among them, in every other style.
    """

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def _to_yaml(cases: Iterable[Case]) -> str:
    fields = [to_fields(case) for case in cases]
    text: str = yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _to_csv(cases: Iterable[Case]) -> str:
    names = [*FIRST, *(name for name in Case.model_fields if name not in FIRST)]
    records = map(to_fields, cases)
    return csv_text(names, ([_cell(record.get(name, "")) for name in names] for record in records))


def _cell(value: Any) -> Any:
    """A value in a cell of a table: lists and mappings are JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


_WRITERS: dict[str, Callable[[Iterable[Case]], str]] = {
    ".jsonl": lambda cases: "\n".join([*map(to_line, cases), ""]),
    ".yaml": _to_yaml,
    ".yml": _to_yaml,
    ".csv": _to_csv,
}


def write_cases(cases: Sequence[Case], path: Path | str) -> None:
    """Write cases in the form that the path's suffix names (.jsonl, .yaml or .csv), atomically.

    Raises:
        UsageError: Another suffix.
    """
    path = Path(path)
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise UsageError(
            f"{path}: can't write cases as {path.suffix or 'a file without a suffix'}; "
            f"end the name in one of {', '.join(_WRITERS)}"
        )
    write_atomically(path, writer(cases).encode())
