"""Mappings: the column of a table for each field of a case, and a row read through them.

First the values of a mapping file, then the file, then the fields of one row's case.
"""

import datetime
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from casewise.cases._case import REPLY_TAG, RatingRule, Ratings, Turn, find_turn_fault, read_turns
from casewise.cases.cells import as_number, as_text, items, opened, plain, printed
from casewise.errors import InputError, UsageError, did_you_mean
from casewise.files import parse_json
from casewise.files.yaml import expectation, read_plain_yaml

ROW, FILE, SPLIT, EACH = "@row", "@file", "@split", "@each"
BUILT_IN = (ROW, FILE, SPLIT, EACH)
"""Columns that every table has: the number of the row, the name of its file, its split, and of
rows that ``each`` makes the column or item that they come from."""

# --- places in a row ------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _path(text: str) -> Any:
    """A JMESPath, compiled; dotted names of any letters are one too. None for other texts."""
    for attempt in (text, ".".join(map(_quoted, text.split(".")))):
        with suppress(JMESPathError, RecursionError), warnings.catch_warnings():
            # A form of literals that JMESPath will drop.
            warnings.simplefilter("error", PendingDeprecationWarning)
            with suppress(PendingDeprecationWarning):
                return jmespath.compile(attempt)
    return None


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


@lru_cache(maxsize=1024)
def path_root(text: str) -> str | None:
    """The column that a path begins in."""
    path = _path(text)
    left = [path.parsed] if path else []
    while left:
        node = left.pop()
        if node["type"] == "field":
            return str(node["value"])
        left += reversed(node["children"])
    return None


def column_of(name: str, columns: Sequence[str]) -> str | None:
    """The column that a name in a mapping takes: itself or a path's root; None where it is none."""
    if name in columns or name in BUILT_IN:
        return name
    root = path_root(name)
    return root if root in columns else None


def value_at(cells: Mapping[str, Any], name: str) -> Any:
    """Value of a column, or of a path into the cells of a row; JSON in a text is opened.

    Raises:
        ValueError: The path asks of a value what it can't give.
    """
    if name in cells:
        return cells[name]
    path = _path(name)
    if path is None or path_root(name) not in cells:
        return None
    root = path_root(name)
    inside = {
        column: opened(cell) if column in name or column == root else cell
        for column, cell in cells.items()
    }
    try:
        return path.search(inside)
    except JMESPathError as error:
        raise ValueError(f"what the path can be applied to ({error})") from None


def inner_paths(value: Any, place: str = "", deep: int = 3) -> Iterator[str]:
    """Paths of the values inside nested mappings, and inside lists of them."""
    value = opened(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value, place = value[0], f"{place}[]"
    if not isinstance(value, dict) or not value or not deep:
        yield place
        return
    for key, inner in value.items():
        named = path_of(str(key))
        yield from inner_paths(inner, f"{place}.{named}" if place else named, deep - 1)


def path_of(name: str) -> str:
    """A name as a step of a path, quoted where JMESPath needs it."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else _quoted(name)


# --- values ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """Value of a column."""

    name: str
    prefix: str = ""
    """Text before the value; of tags alone."""
    cut: tuple[str, ...] = ()
    """Texts that are cut from the value."""
    join: str | None = None
    """Text between the items of a list that becomes a text; None keeps lists."""
    separator: str | None = None
    """Text between the items of a text that is a list; empty for a printed list."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Constant:
    """One value for every row."""

    value: Any
    columns: ClassVar[tuple[str, ...]] = ()


PLACES = re.compile(r"\{([^{}]+)\}")
"""Place of a column in a template."""


@dataclass(frozen=True, slots=True)
class ColumnTemplate:
    """A text with the values of columns in it: ``May {sender} tell {recipient} this?``."""

    text: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(PLACES.findall(self.text))


Value = ColumnValue | Constant | ColumnTemplate


@dataclass(frozen=True, slots=True)
class Choice:
    """Columns whose values mean safe, unsafe or neither; several, or a list, only of votes."""

    columns: tuple[str, ...]
    meanings: Mapping[str, str]
    """``safe``, ``unsafe`` or ``none`` by a value, as ``as_key`` writes it."""
    separator: str | None = None
    """Text between the votes of one cell; None for a list of them."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """Numbers on a scale: one column, one that holds lists, or a column for each person."""

    columns: tuple[str, ...]
    scale: tuple[float, float] | None
    """The end that means unsafe, then the end that means safe; None for a share of 0..1, or a
    percentage that is marked as one."""
    rule: RatingRule | None = None
    separator: str | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    """Numbers of the steps of a scale of words, from 1 at its unsafe end."""
    neither: frozenset[str] = frozenset()
    """Values that are no rating: unsure, not applicable."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A second file, whose rows belong to those of the first."""

    file: str
    """Path relative to the first file's folder, or to the folder that is imported."""
    by: str | None = None
    """Column of the first file that joins the rows of both; None joins them in their order."""
    key: str | None = None
    """The same column in this file."""


@dataclass(frozen=True, slots=True)
class Each:
    """Wide to long: a row for each of several columns, or for each item of a list in a cell."""

    columns: tuple[str, ...]
    name: str | None
    """New column that holds the name of the old one; None for a list."""
    value: str
    """New column that holds the cell, or the item."""


def as_key(value: object) -> str:
    """Key that compares a cell with an entry of the mapping: 1, 1.0 and "1" are one value."""
    if isinstance(value, str):
        value = value.strip()
        if _WHOLE.fullmatch(value):
            return value.split(".")[0]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).casefold()


_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)\.0*")


# --- readers of entries: each raises ValueError with what it expects ------------------------


def to_value(value: Any) -> Value:
    """Read a column, a constant of text, or a template."""
    match value:
        case str() if value.strip():
            return ColumnValue(value)
        case {"constant": constant, **others} if not others:
            if type(constant) in (str, int, float) and str(constant).strip():
                return Constant(str(constant))
            raise ValueError("a constant of text (quote dates, yes and no)")
        case {"text": str(text), **others} if not others:
            if PLACES.search(text):
                return ColumnTemplate(text)
            raise ValueError("a text that names columns, as {NAME}")
        case {"column": str(name), **options}:
            return _with_options(name, options)
    quoted = "; quote it: YAML reads yes, no, on and off as true and false"
    raise ValueError(
        "the name of a column, or {constant: TEXT} for one value in every row"
        + quoted * isinstance(value, bool)
    )


def _with_options(name: str, options: dict[Any, Any]) -> ColumnValue:
    cut, join, listed = _listed(options.get("cut", [])), options.get("join"), options.get("list")
    if (
        options.keys() - {"cut", "join", "list"}
        or not all(isinstance(text, str) and text for text in cut)
        or not isinstance(join, str | None)
        or not (listed in (None, True) or (isinstance(listed, str) and listed))
    ):
        raise ValueError(
            "{column: NAME} with cut: TEXT or [TEXTS], join: TEXT, list: true or list: SEPARATOR"
        )
    return ColumnValue(name, "", tuple(cut), join, _separator(listed))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _separator(listed: object) -> str | None:
    return "" if listed is True else listed if isinstance(listed, str) else None


def to_parameter(value: object) -> Value:
    """Read a parameter of a context: a constant may be a list or a mapping."""
    match value:
        case {"constant": list() | dict() as constant, **others} if constant and not others:
            return Constant(constant)
    return to_value(value)


def to_column(value: object) -> ColumnValue:
    """Read a column."""
    column = to_value(value)
    if not isinstance(column, ColumnValue):
        raise ValueError("the name of a column")
    return column


def to_key(value: object) -> Value:
    """Read a column or a template: a constant would give every row the same id."""
    key = to_value(value)
    if isinstance(key, Constant):
        raise ValueError("the name of a column, or {text: TEXT} that names columns")
    return key


def _to_tag(value: object) -> Value:
    match value:
        case {"column": str(column), "prefix": str(prefix), **others} if not others:
            return ColumnValue(column, prefix)
    return to_value(value)


def to_tags(value: object) -> tuple[Value, ...]:
    """Read a list of tags; a column may have a prefix."""
    if not isinstance(value, list):
        raise ValueError(
            "a list; each entry is a column, {constant: TEXT}, or {column: NAME, prefix: TEXT}"
        )
    return tuple(map(_to_tag, value))


_SIDES = ("safe", "unsafe", "none")
_CHOICE = "{column: NAME, safe: [VALUES], unsafe: [VALUES]}, and none: [VALUES] for neither"


def to_choice(value: object) -> Choice:
    """Read a column with the values that mean safe, unsafe or neither."""
    return _chosen(value, {"column"}, _CHOICE)


def to_side(value: object) -> Choice | Constant:
    """Read a choice, or a side that is constant."""
    match value:
        case {"constant": constant, **others} if not others:
            if constant in ("safe", "unsafe"):
                return Constant(constant)
            raise ValueError("{constant: safe} or {constant: unsafe}")
    return _chosen(value, {"column"}, f"{_CHOICE}; or {{constant: safe}}, {{constant: unsafe}}")


def to_votes(value: object) -> Choice:
    """Read a choice of a column that holds lists, or of a column for each person."""
    expected = _CHOICE.replace("column: NAME", "columns: [NAMES]")
    return _chosen(value, {"column", "columns", "list"}, expected)


def _chosen(value: Any, keys: set[str], expected: str) -> Choice:
    columns = _columns(value, {*keys, *_SIDES}, expected)
    if not (value.get("safe") or value.get("unsafe")):
        raise ValueError(expected)
    meanings: dict[str, str] = {}
    for side in _SIDES:
        for meaning in _listed(value.get(side, [])):
            if isinstance(meaning, list | dict | datetime.date | None):
                raise ValueError(expected)
            key = as_key(meaning)
            if meanings.setdefault(key, side) != side:
                raise ValueError(f"each value under one side ({key!r} stands under two)")
    return Choice(columns, meanings, _separator(value.get("list")))


def _columns(value: Any, keys: set[str], expected: str) -> tuple[str, ...]:
    """Columns of an entry that has no other keys than these."""
    if (
        not isinstance(value, dict)
        or value.keys() - keys
        or ("column" in value) == ("columns" in value)
    ):
        raise ValueError(expected)
    columns = value.get("columns", [value.get("column")])
    if not isinstance(columns, list) or not columns or {*map(type, columns)} != {str}:
        raise ValueError(expected)
    return tuple(columns)


_SCALE = "[UNSAFE END, SAFE END]: two numbers that differ, or all words of a scale in their order"


def to_share(value: object) -> Scaled:
    """Read a column of shares, or of numbers on a scale."""
    if isinstance(value, str) and value.strip():
        return Scaled((value,), None)
    expected = f"the name of a column, or {{column: NAME, scale: {_SCALE}}}"
    return _to_scaled(value, {"column", "scale"}, expected)


def to_ratings(value: object) -> Scaled:
    """Read columns of ratings with their scale, and the rule that makes a label of them."""
    expected = f"{{column: NAME, scale: {_SCALE}, rule: sides or position}}, or columns: [NAMES]"
    return _to_scaled(value, {"column", "columns", "scale", "rule", "list", "none"}, expected)


def _to_scaled(value: Any, keys: set[str], expected: str) -> Scaled:
    columns = _columns(value, keys, expected)
    scale, rule, neither = value.get("scale"), value.get("rule"), _listed(value.get("none", []))
    steps = scale if isinstance(scale, list) else []
    kinds = {*map(type, steps)}
    words: dict[str, float] = {}
    if kinds == {str}:
        words = {as_key(word): float(number) for number, word in enumerate(steps, start=1)}
        ends = [1.0, float(len(steps))] if len(words) == len(steps) > 1 else []
    else:
        ends = [float(end) for end in steps] if kinds and kinds <= {int, float} else []
    is_rule = rule in (None, RatingRule.SIDES, RatingRule.POSITION)
    if len(ends) != 2 or ends[0] == ends[1] or not is_rule:
        raise ValueError(expected)
    return Scaled(
        columns,
        (ends[0], ends[1]),
        RatingRule(rule) if rule else None,
        _separator(value.get("list")),
        words,
        frozenset(map(as_key, neither)),
    )


def to_beside(value: object) -> dict[str, Beside]:
    """Read other files, by name."""
    expected = (
        "{NAME: FILE}, or {NAME: {file: FILE, by: COLUMN}}, or by: {COLUMN: COLUMN OF THIS FILE}"
    )
    if not isinstance(value, dict) or not value:
        raise ValueError(expected)
    beside = {}
    for name, given in value.items():
        entry: Any = {"file": given} if isinstance(given, str) else given
        fits = isinstance(entry, dict) and not entry.keys() - {"file", "by"}
        if fits and isinstance(entry.get("by"), dict) and len(entry["by"]) == 1:
            ((by, key),) = entry["by"].items()
            entry = {**entry, "by": by, "key": key}
        if not fits or not all(isinstance(text, str) and text for text in entry.values()):
            raise ValueError(expected)
        if "file" not in entry or Path(entry["file"]).is_absolute():
            raise ValueError(f"{expected}; the file by its place beside the first")
        beside[name] = Beside(**{"key": entry.get("by"), **entry})
    return beside


def to_each(value: object) -> Each:
    """Read what becomes a row each: columns, or the items of a list."""
    match value:
        case str() if value.strip():
            return Each((value,), None, value.rsplit(".", 1)[-1])
        case {"columns": [*names], "name": str(name), "value": str(cell), **others} if (
            names and {*map(type, names)} == {str} and not others
        ):
            return Each(tuple(names), name, cell)
    raise ValueError(
        "a column that holds lists; or {columns: [NAMES], name: NEW COLUMN, value: NEW COLUMN}"
    )


def to_where(value: object) -> dict[str, tuple[str, ...]]:
    """Read the wanted values of columns."""
    wanted = {
        column: _listed(given)
        for column, given in (value.items() if isinstance(value, dict) else ())
    }
    if not wanted or any(
        not entries or any(isinstance(entry, list | dict | None) for entry in entries)
        for entries in wanted.values()
    ):
        raise ValueError("{COLUMN: VALUE} or {COLUMN: [VALUES]}")
    return {column: tuple(map(as_key, entries)) for column, entries in wanted.items()}


# --- the mapping file ------------------------------------------------------------------------

MAPPINGS = tuple(
    sorted(
        path.name.removesuffix(".yaml")
        for path in (files("casewise.data") / "mappings").iterdir()
        if path.name.endswith(".yaml") and path.name != "every-key.yaml"
    )
)
"""The mappings that ship with casewise."""

EXAMPLE = "every-key"
"""A shipped mapping that explains every key; its columns are nobody's."""

_CONTEXT = "context."


_Value = Annotated[Value, BeforeValidator(to_value)]
_Parameter = Annotated[Value, BeforeValidator(to_parameter)]
_Column = Annotated[ColumnValue, BeforeValidator(to_column)]
_Key = Annotated[Value, BeforeValidator(to_key)]
_Choice = Annotated[Choice, BeforeValidator(to_choice)]


class CaseMapping(BaseModel):
    """A checked mapping. Of ``query`` and ``turns`` exactly one is given."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: _Value | None = None
    """Query of the user."""
    turns: _Column | None = None
    """A whole conversation: its last user turn is the query, those before are the history."""
    history: _Column | None = None
    """The earlier turns, beside ``query``."""
    id: _Key | None = None
    query_id: _Key | None = None
    category: _Value | None = None
    language: _Value | None = None
    source: _Value
    licence: _Value
    tags: Annotated[tuple[Value, ...], BeforeValidator(to_tags)] = ()
    intended: Annotated[
        Choice | Constant | None,
        BeforeValidator(to_side),
    ] = None
    """Side that the authors mean, with a context or without."""
    votes_safe: _Column | None = None
    votes_unsafe: _Column | None = None
    vote: _Choice | None = None
    """One person's vote a row: the rows of one case are joined."""
    rater: _Column | None = None
    reply: _Column | None = None
    """A model's reply to the query: no part of the case."""
    reply_label: Annotated[Choice | None, BeforeValidator(to_choice)] = None
    """Verdict on the reply, which is no label of the case; it is kept as a tag."""
    votes: Annotated[Choice | None, BeforeValidator(to_votes)] = None
    """All votes on a case in one row: a list in one column, or a column for each person."""
    published_safe_rate: Annotated[Scaled | None, BeforeValidator(to_share)] = None
    ratings: Annotated[Scaled | None, BeforeValidator(to_ratings)] = None
    """Ratings on a scale, or their mean."""
    context: _Column | None = None
    """A whole context, as a mapping or as JSON."""
    parameters: dict[str, _Parameter] = {}
    """Parameters by their paths ("recipient.type"): the keys ``context.PATH`` of the file."""
    where: Annotated[dict[str, tuple[str, ...]], BeforeValidator(to_where)] = {}
    """Filter: the wanted values by column."""
    cases: tuple["CaseMapping", ...] = ()
    """Mappings of the several cases of a row, each whole."""

    each: Annotated[Each | None, BeforeValidator(to_each)] = None
    """Wide to long: the columns, or the items of a list, that become a row each."""
    split: str | None = None
    """The split of a data set that is taken; None takes all."""
    join: bool = False
    """True if rows that repeat a case are one case with all their tags, whatever else differs."""
    beside: Annotated[dict[str, Beside], BeforeValidator(to_beside)] = {}
    """Other files by name: the name of the only column, or the prefix of several."""
    header: Annotated[int, Field(ge=1)] | None = None
    """The row of the column names, from 1; None takes the first."""
    encoding: str | None = None
    """Encoding of text files; None takes UTF-8, and Windows-1252 for what isn't."""
    decimal: Literal[".", ","] | None = None
    """Decimal mark of numbers in text; None tells by the numbers."""
    sheet: str | None = None
    """Sheet of a workbook; None takes the first that holds anything."""

    @property
    def of_row(self) -> "tuple[CaseMapping, ...]":
        """Mappings of the cases of a row: this one alone, unless ``cases`` has several."""
        return self.cases or (self,)

    def columns(self) -> Iterator[tuple[str, str]]:
        """Each key that names a column, with the column."""
        for mapping in self.of_row:
            yield from mapping._own_columns()
        for name, other in self.beside.items():
            if other.by is not None:
                yield f"beside.{name}.by", other.by

    @property
    def is_row_each(self) -> bool:
        """Whether a row is one person's vote or rating, so that the rows of a case are joined."""
        return self.vote is not None or (self.ratings is not None and self.rater is not None)

    def _own_columns(self) -> Iterator[tuple[str, str]]:
        parameters = ((f"{_CONTEXT}{path}", value) for path, value in self.parameters.items())
        for key, value in (*self, *(("tags", tag) for tag in self.tags), *parameters):
            # What 'each' names is gone once it is done.
            for name in () if isinstance(value, Each) else getattr(value, "columns", ()):
                yield key, name
        for column in self.where:
            yield "where", column


_TABLE_KEYS = ("each", "split", "join", "beside", "header", "encoding", "decimal", "sheet", "cases")
"""Keys of the whole table, not of one case of a row."""

KEYS = (
    *(name for name in CaseMapping.model_fields if name != "parameters"),
    "context.GROUP.NAME",
)


# --- loading --------------------------------------------------------------------------------


def load_mapping(source: Path | str | Mapping[str, Any]) -> CaseMapping:
    """Load a mapping by the name of a shipped one (see ``MAPPINGS``), a YAML file, or its keys.

    Raises:
        InputError: There is no such mapping, or it can't be used.
    """
    data: Any
    if isinstance(source, Mapping):
        path, data = Path("mapping"), dict(source)
    else:
        path = _shipped(source) if source in MAPPINGS else Path(source)
        data = read_plain_yaml(path, "mapping", MAPPINGS)
    if not isinstance(data, dict):
        expected = "a mapping from fields of a case to columns"
        raise InputError("not a mapping file", path, found=data, expected=expected)
    entries = data.pop("cases", None)
    mapping = _validated(data, path)
    if entries is None:
        _check_together(mapping, path)
        return mapping
    return mapping.model_copy(update={"cases": tuple(_case_mappings(data, entries, path))})


def _case_mappings(data: dict[str, Any], entries: Any, path: Path) -> Iterator[CaseMapping]:
    """Mapping of each case of a row; null in an entry removes a key that all share."""
    is_list = isinstance(entries, list) and bool(entries)
    if not is_list or not all(isinstance(entry, dict) and entry for entry in entries):
        expected = "a list; each entry holds the keys of one case of a row: [{query: COLUMN}, ...]"
        raise InputError("wrong value", path, field="cases", found=entries, expected=expected)
    shared = {key: value for key, value in data.items() if key not in _TABLE_KEYS}
    for entry in entries:
        for key in entry:
            if key in _TABLE_KEYS:
                expected = "this key for the whole table, beside 'cases'"
                raise InputError("wrong place", path, field=f"cases.{key}", expected=expected)
        merged = {key: value for key, value in (shared | entry).items() if value is not None}
        mapping = _validated(merged, path)
        _check_together(mapping, path)
        yield mapping


def _validated(data: dict[str, Any], path: Path) -> CaseMapping:
    try:
        return CaseMapping.model_validate(_gathered(data, path))
    except ValidationError as error:
        raise _explain(error.errors(), path) from None


def example_mapping(name: str) -> str:
    """Text of a shipped mapping, as a start for one's own.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in (EXAMPLE, *MAPPINGS):
        raise UsageError(
            f"no mapping {name!r} ships: {EXAMPLE} explains every key, or one of "
            f"{', '.join(MAPPINGS)}"
        )
    return Path(_shipped(name)).read_text("utf-8")


def _shipped(name: Path | str) -> Path:
    return Path(str(files("casewise.data"))) / "mappings" / f"{name}.yaml"


def _gathered(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """The keys of a mapping file, with all ``context.GROUP.NAME`` in one field."""
    if "parameters" in data:
        raise _unknown("parameters", path)
    fields: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    for key, value in data.items():
        is_parameter = key.startswith(_CONTEXT)
        (parameters if is_parameter else fields)[key.removeprefix(_CONTEXT)] = value
    for name in parameters:
        if not all(name.split(".")):
            expected = "context.GROUP.NAME, for example context.recipient.type"
            raise InputError("unknown key", path, field=f"{_CONTEXT}{name}", expected=expected)
    for name in parameters:
        if any(other.startswith(f"{name}.") for other in parameters):
            raise InputError("is a value and holds others", path, field=f"{_CONTEXT}{name}")
    return fields | {"parameters": parameters}


def _check_together(mapping: CaseMapping, path: Path) -> None:
    def given(name: str) -> bool:
        return bool(getattr(mapping, name))

    if given("query") == given("turns"):
        expected = "'query' (a column), or 'turns' (a column of whole conversations): one of them"
        raise InputError("which column is the query?", path, expected=expected)
    if given("votes_safe") != given("votes_unsafe"):
        field = "votes_unsafe" if given("votes_safe") else "votes_safe"
        raise InputError("counts of votes come in pairs", path, field=field, expected="both")
    for option, other in (
        ("turns", "history"),
        ("context", "parameters"),
        ("vote", "votes_safe"),
        ("votes", "vote"),
        ("votes", "votes_safe"),
    ):
        if given(option) and given(other):
            shown = "context.GROUP.NAME" if other == "parameters" else other
            raise InputError(f"{option!r} does not go with {shown!r}", path, field=option)
    rule = mapping.ratings.rule if mapping.ratings is not None else None
    for other in _FIELDS_OF_RULE[rule]:
        if given(other):
            problem = f"the rule '{rule}' makes what {other!r} gives"
            raise InputError(problem, path, field="ratings", expected="one of the two")
    if given("rater") and not (given("vote") or given("ratings")):
        expected = "'vote' or 'ratings' too"
        raise InputError("a rater without a vote", path, field="rater", expected=expected)
    if given("reply_label") and mapping.reply_label == mapping.intended:
        expected = "'reply_label' for a verdict on the reply, 'intended' for one on the case"
        raise InputError("one column labels both", path, field="reply_label", expected=expected)


_FIELDS_OF_RULE: dict[RatingRule | None, tuple[str, ...]] = {
    None: (),
    RatingRule.SIDES: ("votes", "vote", "votes_safe"),
    RatingRule.POSITION: ("published_safe_rate",),
}
"""Fields that a rule for ratings makes, and that the mapping may not give too."""

_MUST = "{constant: TEXT}, or the name of a column: it stays on every case"
_EXPECTED = {"bool_type": "true or false", "string_type": "text"}


def _explain(details: list[ErrorDetails], path: Path) -> InputError:
    detail = next((detail for detail in details if detail["type"] == "extra_forbidden"), details[0])
    key = str(detail["loc"][0])
    if key == "parameters" and len(detail["loc"]) > 1:
        key = f"{_CONTEXT}{detail['loc'][1]}"
    if detail["type"] == "extra_forbidden":
        return _unknown(key, path)
    if detail["type"] == "missing":
        return InputError("the mapping must name it", path, field=key, expected=_MUST)
    expected = _EXPECTED.get(detail["type"]) or expectation(detail)
    return InputError("wrong value", path, field=key, found=detail["input"], expected=expected)


def _unknown(key: str, path: Path) -> InputError:
    expected = f"{did_you_mean(key, KEYS)}one of {', '.join(KEYS)}"
    return InputError("unknown key", path, field=key, expected=expected)


# --- a row, read through a mapping -----------------------------------------------------------

_ROLES = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "ai": "assistant",
    "chatbot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}
"""Roles by the names of speakers in data sets."""

_SAID = re.compile(r"(?m)^\s*(Human|User|Assistant|AI|Bot|System):[ \t]*")
"""Who speaks, at the beginning of a line of a conversation that is one text."""
_TEXTS = ("content", "value", "text")
_SPEAKERS = ("role", "from", "speaker")
_TOOL_KEYS = ("tool_calls", "tool_call_id")


@dataclass(slots=True)
class _Cell:
    """A row's value in a column, as it is read for a field of a case."""

    row: "MappedRow"
    column: str
    field: str
    value: Any
    """None where the cell is empty."""
    rater: str | None = None
    """Whose vote or rating it is, where the column's name says."""

    def wrong(self, expected: str, found: object = ...) -> InputError:
        """Error of a cell that can't be the field; ``found`` defaults to its value."""
        found = self.value if found is ... else found
        return self.row.wrong(self.field, expected, found, self.column)

    def text(self, value: ColumnValue) -> str | None:
        """Text of the cell, cut and joined as the mapping says; None where it is empty."""
        cell = self.value
        if value.join is not None:
            parts = [as_text(item) for item in items(cell, value.separator)]
            if None not in parts:
                cell = value.join.join(filter(None, parts)) or None
        text = as_text(cell)
        if text is None and cell is not None:
            hint = f" (for a list: {{column: {self.column}, join: ', '}})"
            raise self.wrong("text" + (hint if isinstance(cell, list) else ""), cell)
        if text is None or not value.cut:
            return text
        for fixed in value.cut:
            text = text.replace(fixed, "")
        return text.strip() or None

    def number(self) -> float:
        """Number in the cell."""
        try:
            return as_number(self.value, self.row.decimal)
        except ValueError as error:
            raise self.wrong(str(error)) from None

    def step(self, words: Mapping[str, float]) -> float:
        """Number in the cell, or that of its word on a scale of words."""
        if not words:
            return self.number()
        if as_key(self.value) not in words:
            raise self.wrong(f"one of {', '.join(map(repr, words))}")
        return words[as_key(self.value)]

    def count(self) -> int | None:
        """Whole number in the cell; None where it is empty."""
        if self.value is None:
            return None
        number = self.number()
        if not number.is_integer() or number < 0:
            raise self.wrong("a whole number, 0 or more", number)
        return int(number)

    def side(self, choice: Choice) -> str | None:
        """Side that the cell means; None where it means neither."""
        side = choice.meanings.get(as_key(self.value))
        if side is None:
            raise self.wrong(f"one of {', '.join(map(repr, choice.meanings))}")
        return None if side == "none" else side

    def structure(self) -> Any:
        """The cell, as a list or mapping where it holds one as JSON."""
        text = self.value
        if not isinstance(text, str) or text.lstrip()[:1] not in ("[", "{"):
            return text
        structure = printed(text)
        if isinstance(structure, str):
            row = self.row
            return parse_json(text, row.file, f"{row.record}, field {self.field!r}")
        return structure

    def turns(self) -> Sequence[Turn]:
        """Messages of a conversation: texts of user and assistant in turn, or objects."""
        cell = self.structure()
        if cell is None:
            return ()
        if not isinstance(cell, Sequence) or isinstance(cell, str):
            raise self.wrong("a list of texts or of {role, content}", cell)
        messages = []
        for number, message in enumerate(cell):
            role: object = ("user", "assistant")[number % 2]
            content: object = message
            of_tools: dict[str, Any] = {}
            if isinstance(message, Mapping):
                spoken = next((message[name] for name in _SPEAKERS if name in message), None)
                role = _ROLES.get(str(spoken).lower())
                content = next((message[name] for name in _TEXTS if name in message), None)
                names = (*_TOOL_KEYS, "name") if role == "tool" else _TOOL_KEYS
                of_tools = {name: message[name] for name in names if message.get(name)}
            if not isinstance(role, str) or not (isinstance(content, str | list) or of_tools):
                shown = list(message) if isinstance(message, Mapping) else type(message).__name__
                raise self.wrong("texts, or {role, content} of known roles", shown)
            messages.append({"role": role, "content": content, **of_tools})
        try:
            return read_turns(messages)
        except ValidationError as error:
            roles = [message["role"] for message in messages]
            raise self.wrong(expectation(error.errors()[0]), roles) from None

    def in_order(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        """Earlier turns as JSON values, once their order is checked."""
        if (fault := find_turn_fault(turns)) is not None:
            raise self.wrong(fault, [turn.role for turn in turns])
        return [turn.model_dump(mode="json") for turn in turns]


@dataclass(frozen=True, slots=True)
class MappedRow:
    """A row of a table and the mapping that it is read through."""

    cells: Mapping[str, Any]
    mapping: CaseMapping
    file: Path
    record: str
    """Place of the row in its file: ``row 3``."""
    decimal: str | None = None
    """Decimal mark of numbers in text; None tells by the number."""

    def _cell(self, column: str, field: str) -> _Cell:
        try:
            return _Cell(self, column, field, plain(value_at(self.cells, column)))
        except ValueError as error:
            raise self.wrong(
                field, str(error), self.cells.get(path_root(column) or ""), column
            ) from None

    def _filled(
        self, columns: Sequence[str], field: str, separator: str | None = None
    ) -> list[_Cell]:
        """Filled cells of several columns, or one for each item in the cell of a single one."""
        cells = [self._cell(column, field) for column in columns]
        for cell in cells[: len(cells) * (len(cells) > 1)]:
            cell.rater = cell.column
        if len(cells) == 1:
            values = items(cells[0].value, separator)
            return [replace(cells[0], value=value) for value in values]
        return [cell for cell in cells if cell.value is not None]

    def wrong(
        self, field: str, expected: str, found: object, column: str | None = None
    ) -> InputError:
        """Error of a row that doesn't give a field."""
        problem = f"wrong value in column {column!r}" if column else "wrong value"
        # A query is never shown; whatever stands in its place is.
        shown = ... if field == "query" and isinstance(found, str) else found
        return InputError(
            problem, self.file, self.record, field=field, found=shown, expected=expected
        )

    @property
    def is_wanted(self) -> bool:
        """Tell whether the row passes the mapping's filter."""
        cells = ((self._cell(name, "where"), keys) for name, keys in self.mapping.where.items())
        return all(one.value is not None and as_key(one.value) in keys for one, keys in cells)

    def case_fields(self) -> dict[str, Any] | None:
        """The fields of the row's case, those without a value left out; None without a query.

        Raises:
            InputError: A cell can't be what the mapping takes it for.
        """
        mapping = self.mapping
        query, history = self._query_and_history()
        if query is None:
            return None
        fields: dict[str, Any] = {"query": query, "history": history}
        for name in ("id", "query_id", "category", "language", "source", "licence"):
            value = getattr(mapping, name)
            fields[name] = self._text(value, name)
            if fields[name] is None and name in ("source", "licence"):
                column = value.name if isinstance(value, ColumnValue) else None
                raise self.wrong(name, "text: it stays on every case", None, column)
        fields["context"] = self._context()
        tags = [text for tag in mapping.tags for text in self._tags(tag)]
        if isinstance(mapping.intended, Constant):
            fields["intended"] = mapping.intended.value
        elif mapping.intended is not None:
            label = self._cell(mapping.intended.columns[0], "intended")
            if label.value is not None:
                fields["intended"] = label.side(mapping.intended)
                if fields["intended"] is None:
                    # A label that means neither side is kept all the same.
                    tags.append(f"label:{str(label.value).strip()}")
        if mapping.reply_label is not None:
            verdict = self._cell(mapping.reply_label.columns[0], "reply_label")
            if verdict.value is not None:
                tags.append(f"{REPLY_TAG}{verdict.side(mapping.reply_label) or 'none'}")
        fields["tags"] = list(dict.fromkeys(tag for tag in tags if tag is not None))
        fields["votes"] = self._votes()
        if mapping.published_safe_rate is not None:
            fields["published_safe_rate"] = self._share(mapping.published_safe_rate)
        if mapping.ratings is not None:
            fields |= self._rated(mapping.ratings)
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def rater(self) -> str | None:
        """Whose vote or rating the row is."""
        return self._text(self.mapping.rater, "rater")

    def why_unlabelled(self) -> str:
        """Reason why the row's case has neither votes nor another label, in words."""
        mapping, ratings = self.mapping, self.mapping.ratings
        labels = (mapping.intended, mapping.votes, mapping.vote, mapping.published_safe_rate)
        columns = [label.columns for label in (*labels, mapping.votes_safe, ratings) if label]
        if not columns and mapping.reply_label is not None:
            return "a reply to them is labelled, and not they"
        if not columns:
            return "the mapping names none for them (intended, votes, published_safe_rate, ratings)"
        reasons: dict[str, None] = {}
        for names in columns:
            filled = self._filled(names, "label")
            if filled and len(columns) == 1 and ratings is not None and ratings.rule is None:
                return "the mapping names no rule for the ratings (rule: sides or position)"
            reasons[f"{', '.join(names)} {'says neither side' if filled else 'is empty'}"] = None
        return " and ".join(reasons)

    def _text(self, value: Value | None, field: str) -> str | None:
        """Text of a value of the mapping; None where it, or a part of a template, is empty."""
        if isinstance(value, ColumnValue):
            return self._cell(value.name, field).text(value)
        if not isinstance(value, ColumnTemplate):
            return value.value if value else None
        texts = {name: self._text(ColumnValue(name, join=", "), field) for name in value.columns}
        if None in texts.values():
            return None
        return PLACES.sub(lambda match: str(texts[match[1]]), value.text)

    def _tags(self, value: Value) -> list[str]:
        """Tags of a value: its text, the items of a list, or the names that are true."""
        prefix = value.prefix if isinstance(value, ColumnValue) else ""
        if isinstance(value, ColumnValue) and value.join is None:
            cell = self._cell(value.name, "tags").value
            cell = opened(cell)
            if isinstance(cell, dict):
                return [f"{prefix}{name}" for name, is_set in cell.items() if is_set is True]
            if isinstance(cell, list):
                texts = map(as_text, items(cell, None))
                return [f"{prefix}{text}" for text in texts if text is not None]
        text = self._text(value, "tags")
        return [] if text is None else [f"{prefix}{text}"]

    # --- labels -----------------------------------------------------------------------------

    def _votes(self) -> Any:
        mapping = self.mapping
        if mapping.vote is not None:
            cell = self._cell(mapping.vote.columns[0], "vote")
            side = None if cell.value is None else cell.side(mapping.vote)
            rater = self._text(mapping.rater, "rater")
            return None if side is None else [{"verdict": side, "rater": rater}]
        if mapping.votes is not None:
            votes = mapping.votes
            cells = self._filled(votes.columns, "votes", votes.separator)
            return _vote_rows(cells, [cell.side(votes) for cell in cells])
        if mapping.votes_safe is None or mapping.votes_unsafe is None:
            return None
        cells = [
            self._cell(mapping.votes_safe.name, "votes_safe"),
            self._cell(mapping.votes_unsafe.name, "votes_unsafe"),
        ]
        counts = [cell.count() for cell in cells]
        if counts == [None, None]:
            return None
        for cell in cells:
            if cell.value is None:
                raise cell.wrong("both counts, or neither")
        return dict(zip(("safe", "unsafe"), counts, strict=True))

    def _share(self, scaled: Scaled) -> float | None:
        cell = self._cell(scaled.columns[0], "published_safe_rate")
        if cell.value is None:
            return None
        unsafe, safe = scaled.scale or (0.0, 1.0)
        if isinstance(cell.value, str) and cell.value.strip().endswith("%"):
            unsafe, safe = scaled.scale or (0.0, 100.0)
            cell = replace(cell, value=cell.value.strip().removesuffix("%"))
        number = cell.number()
        if not min(unsafe, safe) <= number <= max(unsafe, safe):
            expected = f"a share from {unsafe:g} (nobody) to {safe:g} (all say safe)"
            if scaled.scale is None and 1 < number <= 100:
                expected += f"; for a percentage: {{column: {cell.column}, scale: [0, 100]}}"
            raise cell.wrong(expected, number)
        return (number - unsafe) / (safe - unsafe)

    def _rated(self, scaled: Scaled) -> dict[str, Any]:
        """Fields that ratings give: themselves, and the votes or the rate that their rule makes."""
        cells = self._filled(scaled.columns, "ratings", scaled.separator)
        cells = [cell for cell in cells if as_key(cell.value) not in scaled.neither]
        if not cells:
            return {}
        values = [cell.step(scaled.words) for cell in cells]
        rated = {"values": values, "scale": scaled.scale, "rule": scaled.rule}
        try:
            ratings = Ratings.model_validate(rated)
        except ValidationError as error:
            expected, columns = expectation(error.errors()[0]), ", ".join(scaled.columns)
            raise self.wrong("ratings", expected, values, columns) from None
        fields: dict[str, Any] = {"ratings": ratings}
        if scaled.rule is RatingRule.POSITION:
            fields["published_safe_rate"] = ratings.position()
        elif scaled.rule is RatingRule.SIDES:
            if self.mapping.rater is not None:
                cells = [
                    replace(one, rater=self._text(self.mapping.rater, "rater")) for one in cells
                ]
            fields["votes"] = _vote_rows(cells, ratings.sides())
        return fields

    # --- contexts and conversations ---------------------------------------------------------

    def _context(self) -> Any:
        if self.mapping.context is not None:
            cell = self._cell(self.mapping.context.name, "context")
            whole = cell.structure()
            if not isinstance(whole, dict | None):
                raise cell.wrong("a mapping, or JSON of one", whole)
            # Parquet gives every row all keys, with null for those that it has not.
            return _without_null(whole) or None
        context: dict[str, Any] = {}
        for path, value in self.mapping.parameters.items():
            held = self._parameter(value, f"context.{path}")
            if held in (None, [], {}):
                continue
            *groups, name = path.split(".")
            inner = context
            for group in groups:
                inner = inner.setdefault(group, {})
            inner[name] = held
        return context or None

    def _parameter(self, value: Value, field: str) -> Any:
        """A parameter: a text, or what has parts as it is (roles in a list, a profile, turns)."""
        if isinstance(value, ColumnValue) and value.join is None:
            cell = self._cell(value.name, field).value
            if value.separator is not None:
                return _without_null(items(cell, value.separator))
            if isinstance(cell, list | dict):
                return _without_null(cell)
        return self._text(value, field)

    def _query_and_history(self) -> tuple[str | None, list[dict[str, Any]]]:
        if self.mapping.turns is not None:
            return _conversation(self._cell(self.mapping.turns.name, "turns"))
        query, history = self.mapping.query, self.mapping.history
        if isinstance(query, ColumnValue):
            cell = self._cell(query.name, "query")
            is_joined = isinstance(cell.value, list) and query.join is not None
            if not is_joined and not isinstance(cell.value, str | None):
                raise cell.wrong(
                    "text (for a list of messages: turns; of texts: {column: NAME, join: ', '})"
                )
        text = self._text(query, "query")
        if history is None:
            return text, []
        cell = self._cell(history.name, "history")
        return text, cell.in_order(cell.turns())


def _conversation(cell: _Cell) -> tuple[str | None, list[dict[str, Any]]]:
    """Query and history in a cell that holds a query, or a conversation that ends in it."""
    query = cell.structure()
    if isinstance(query, str):
        before, *parts = _SAID.split(query)
        if before.strip() or not parts:
            return query, []
        said = zip(parts[::2], parts[1::2], strict=True)
        cell.value = [{"role": who.lower(), "content": text.strip()} for who, text in said]
    turns = cell.turns()
    if not turns:
        return None, []
    *history, last = turns
    if last.role != "user":
        raise cell.wrong("a conversation that a user ends", last.role)
    return (last.content if last.content.strip() else None), cell.in_order(history)


def _vote_rows(cells: Sequence[_Cell], sides: Sequence[str | None]) -> list[dict[str, str]]:
    """Votes, each with its rater where the table names one."""
    return [
        {"verdict": side} | ({} if cell.rater is None else {"rater": cell.rater})
        for cell, side in zip(cells, sides, strict=True)
        if side is not None
    ]


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return as_text(value) if isinstance(value, datetime.date | Decimal) else value
