"""The mapping file: which column of somebody's table is which field of a case."""

import datetime
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, ValidationError
from pydantic_core import ErrorDetails

from casewise.cases._yaml_files import read_plain_yaml
from casewise.errors import InputError

MAPPINGS = ("sorry-bench", "xstest")
"""The mappings that ship with casewise."""

EXAMPLE = "every-key"
"""A shipped mapping that explains every key; its columns are nobody's."""

_CONTEXT = "context."


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a column, row by row."""

    name: str
    prefix: str = ""
    """Put before the value; of tags alone."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One value for every row."""

    value: str


Value = ColumnValue | Constant


@dataclass(frozen=True, slots=True)
class Choice:
    """A column whose values mean safe, unsafe or neither."""

    column: str
    meanings: Mapping[str, str]
    """From a value, as ``as_key`` writes it, to ``safe``, ``unsafe`` or ``none``."""

    @property
    def known(self) -> str:
        """The values that mean something, for a message."""
        return ", ".join(map(repr, self.meanings))


def as_key(value: object) -> str:
    """A cell or an entry of the mapping for comparison: 1, 1.0 and "1" are one value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().casefold()


# --- what a person writes -------------------------------------------------------------------


def _to_value(value: object) -> Value | None:
    if isinstance(value, str) and value.strip():
        return ColumnValue(value)
    if isinstance(value, dict) and value.keys() == {"column"} and isinstance(value["column"], str):
        return ColumnValue(value["column"])
    if isinstance(value, dict) and value.keys() == {"constant"}:
        constant = value["constant"]
        plain = isinstance(constant, str | int | float) and not isinstance(constant, bool)
        if plain and str(constant).strip():
            return Constant(str(constant))
        raise ValueError("a constant of text (quote dates, yes and no)")
    raise ValueError("the name of a column, or {constant: TEXT} for one value in every row")


def _to_column(value: object) -> ColumnValue | None:
    column = _to_value(value)
    if isinstance(column, Constant):
        raise ValueError("the name of a column")
    return column


def _to_tag(value: object) -> Value | None:
    if isinstance(value, dict) and value.keys() == {"column", "prefix"}:
        column, prefix = value["column"], value["prefix"]
        if isinstance(column, str) and isinstance(prefix, str):
            return ColumnValue(column, prefix)
    return _to_value(value)


def _to_tags(value: object) -> tuple[Value | None, ...]:
    if not isinstance(value, list):
        raise ValueError(
            "a list; each entry is a column, {constant: TEXT}, or {column: NAME, prefix: TEXT}"
        )
    return tuple(_to_tag(tag) for tag in value)


_SIDES = ("safe", "unsafe", "none")
_CHOICE = "{column: NAME, safe: [VALUES], unsafe: [VALUES]}, and none: [VALUES] for neither"


def _to_choice(value: object) -> Choice:
    if not isinstance(value, dict) or not isinstance(value.get("column"), str):
        raise ValueError(_CHOICE)
    if value.keys() - {"column", *_SIDES} or not (value.get("safe") or value.get("unsafe")):
        raise ValueError(_CHOICE)
    meanings: dict[str, str] = {}
    for side in _SIDES:
        given = value.get(side, [])
        for meaning in given if isinstance(given, list) else [given]:
            if isinstance(meaning, list | dict | datetime.date) or meaning is None:
                raise ValueError(_CHOICE)
            if meanings.setdefault(as_key(meaning), side) != side:
                raise ValueError(
                    f"each value under one side ({as_key(meaning)!r} stands under two)"
                )
    return Choice(value["column"], meanings)


def _to_where(value: object) -> dict[str, tuple[str, ...]]:
    expected = "{COLUMN: VALUE} or {COLUMN: [VALUES]}"
    if not isinstance(value, dict) or not value:
        raise ValueError(expected)
    wanted = {}
    for column, given in value.items():
        listed = given if isinstance(given, list) else [given]
        if not listed or any(isinstance(entry, list | dict) or entry is None for entry in listed):
            raise ValueError(expected)
        wanted[column] = tuple(as_key(entry) for entry in listed)
    return wanted


_Value = Annotated[InstanceOf[ColumnValue] | InstanceOf[Constant], BeforeValidator(_to_value)]
_Column = Annotated[InstanceOf[ColumnValue], BeforeValidator(_to_column)]
_Choice = Annotated[InstanceOf[Choice], BeforeValidator(_to_choice)]
_Tag = InstanceOf[ColumnValue] | InstanceOf[Constant]


class CaseMapping(BaseModel):
    """A checked mapping. Of ``query`` and ``turns`` exactly one is given."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: _Column | None = None
    """What the user asks."""
    turns: _Column | None = None
    """A whole conversation: its last user turn is the query, those before are the history."""
    history: _Column | None = None
    """The earlier turns, beside ``query``."""
    id: _Column | None = None
    query_id: _Column | None = None
    category: _Value | None = None
    language: _Value | None = None
    source: _Value
    licence: _Value
    tags: Annotated[tuple[_Tag, ...], BeforeValidator(_to_tags)] = ()
    intended: _Choice | None = None
    """What the source labels the row; a tag ``label:SIDE`` where the case has no context."""
    votes_safe: _Column | None = None
    votes_unsafe: _Column | None = None
    vote: _Choice | None = None
    """One person's vote a row: the rows of one case are joined."""
    rater: _Column | None = None
    published_safe_rate: _Column | None = None
    context: _Column | None = None
    """A whole context, as a mapping or as JSON."""
    parameters: dict[str, _Value] = {}
    """By their paths ("recipient.type"): the keys ``context.PATH`` of the file."""
    where: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_to_where)] = {}
    """By column, the values whose rows are taken."""
    split: str | None = None
    """The split of a data set that is taken; None takes all."""
    join: bool = False
    """Whether rows of one case that differ in their tags are one case with all of them."""

    def columns(self) -> Iterator[tuple[str, str]]:
        """Each key that names a column, with the column."""
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, ColumnValue):
                yield key, value.name
            elif isinstance(value, Choice):
                yield key, value.column
        for tag in self.tags:
            if isinstance(tag, ColumnValue):
                yield "tags", tag.name
        for path, value in self.parameters.items():
            if isinstance(value, ColumnValue):
                yield f"{_CONTEXT}{path}", value.name
        for column in self.where:
            yield "where", column


KEYS = (
    *(name for name in CaseMapping.model_fields if name != "parameters"),
    "context.GROUP.NAME",
)


# --- loading --------------------------------------------------------------------------------


def load_mapping(source: Path | str) -> CaseMapping:
    """Load a mapping by the name of a shipped one (see ``MAPPINGS``), or from a YAML file.

    Raises:
        InputError: There is no such mapping, or it can't be used.
    """
    path = _shipped(source) if source in MAPPINGS else Path(source)
    data = read_plain_yaml(path, "mapping", MAPPINGS)
    if not isinstance(data, dict):
        expected = "a mapping from fields of a case to columns"
        raise InputError("not a mapping file", file=path, found=data, expected=expected)
    try:
        mapping = CaseMapping.model_validate(_gathered(data, path))
    except ValidationError as error:
        raise _explain(error.errors(), path) from None
    _check_together(mapping, path)
    return mapping


def example_mapping(name: str) -> str:
    """The text of a shipped mapping, to start one's own from."""
    return Path(_shipped(name)).read_text("utf-8")


def _shipped(name: Path | str) -> Path:
    return Path(str(files("casewise.data"))) / "mappings" / f"{name}.yaml"


def _gathered(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """The keys ``context.GROUP.NAME`` as one field."""
    dotted = {key: value for key, value in data.items() if key.startswith(_CONTEXT)}
    if "parameters" in data:
        raise _unknown("parameters", path)
    for key in dotted:
        if not all(key.split(".")):
            expected = "context.GROUP.NAME, for example context.recipient.type"
            raise InputError("unknown key", file=path, field=key, expected=expected)
    names = [key.removeprefix(_CONTEXT) for key in dotted]
    for name in names:
        if any(other.startswith(f"{name}.") for other in names):
            problem = "is a value and holds others"
            raise InputError(problem, file=path, field=f"{_CONTEXT}{name}")
    rest = {key: value for key, value in data.items() if key not in dotted}
    return rest | {"parameters": dict(zip(names, dotted.values(), strict=True))}


def _check_together(mapping: CaseMapping, path: Path) -> None:
    def given(name: str) -> bool:
        return bool(getattr(mapping, name))

    if given("query") == given("turns"):
        expected = "'query' (a column), or 'turns' (a column of whole conversations): one of them"
        raise InputError("which column is the query?", file=path, expected=expected)
    if given("votes_safe") != given("votes_unsafe"):
        field = "votes_unsafe" if given("votes_safe") else "votes_safe"
        raise InputError("counts of votes come in pairs", file=path, field=field, expected="both")
    for option, other in (
        ("turns", "history"),
        ("context", "parameters"),
        ("vote", "votes_safe"),
    ):
        if given(option) and given(other):
            shown = "context.GROUP.NAME" if other == "parameters" else other
            raise InputError(f"{option!r} does not go with {shown!r}", file=path, field=option)
    if given("rater") and not given("vote"):
        raise InputError("a rater without a vote", file=path, field="rater", expected="'vote' too")


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
        return InputError("the mapping must name it", file=path, field=key, expected=_MUST)
    expected = _EXPECTED.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    return InputError("wrong value", file=path, field=key, found=detail["input"], expected=expected)


def _unknown(key: str, path: Path) -> InputError:
    near = difflib.get_close_matches(key, KEYS, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return InputError(
        "unknown key", file=path, field=key, expected=f"{meant}one of {', '.join(KEYS)}"
    )
