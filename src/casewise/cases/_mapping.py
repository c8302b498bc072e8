"""The mapping file: which column of somebody's table is which field of a case."""

import difflib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, ValidationError
from pydantic_core import ErrorDetails

from casewise.cases import _mapping_values as values
from casewise.cases._case import RatingRule
from casewise.cases._yaml_files import read_plain_yaml
from casewise.errors import InputError, UsageError

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


_AnyValue = (
    InstanceOf[values.ColumnValue] | InstanceOf[values.Constant] | InstanceOf[values.ColumnTemplate]
)
_Value = Annotated[_AnyValue, BeforeValidator(values.to_value)]
_Parameter = Annotated[_AnyValue, BeforeValidator(values.to_parameter)]
_Column = Annotated[InstanceOf[values.ColumnValue], BeforeValidator(values.to_column)]
_Key = Annotated[_AnyValue, BeforeValidator(values.to_key)]
_Choice = Annotated[InstanceOf[values.Choice], BeforeValidator(values.to_choice)]


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
    tags: Annotated[tuple[_AnyValue, ...], BeforeValidator(values.to_tags)] = ()
    intended: Annotated[
        InstanceOf[values.Choice] | InstanceOf[values.Constant] | None,
        BeforeValidator(values.to_side),
    ] = None
    """Side that the authors mean, with a context or without."""
    votes_safe: _Column | None = None
    votes_unsafe: _Column | None = None
    vote: _Choice | None = None
    """One person's vote a row: the rows of one case are joined."""
    rater: _Column | None = None
    votes: Annotated[InstanceOf[values.Choice] | None, BeforeValidator(values.to_votes)] = None
    """All votes on a case in one row: a list in one column, or a column for each person."""
    published_safe_rate: Annotated[
        InstanceOf[values.Scaled] | None, BeforeValidator(values.to_share)
    ] = None
    ratings: Annotated[InstanceOf[values.Scaled] | None, BeforeValidator(values.to_ratings)] = None
    """Ratings on a scale, or their mean."""
    context: _Column | None = None
    """A whole context, as a mapping or as JSON."""
    parameters: dict[str, _Parameter] = {}
    """Parameters by their paths ("recipient.type"): the keys ``context.PATH`` of the file."""
    where: Annotated[dict[str, tuple[str, ...]], BeforeValidator(values.to_where)] = {}
    """Values whose rows are taken, by column."""
    cases: tuple["CaseMapping", ...] = ()
    """Several cases of one row: each a whole mapping, its own keys over those of all."""

    split: str | None = None
    """The split of a data set that is taken; None takes all."""
    join: bool = False
    """True if rows of one case that differ in their tags are one case with all of them."""
    beside: Annotated[dict[str, InstanceOf[values.Beside]], BeforeValidator(values.to_beside)] = {}
    """Other files, by the name of its column or before the names of its columns."""
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
        """The mappings of the cases that a row makes: mostly this one alone."""
        return self.cases or (self,)

    def columns(self) -> Iterator[tuple[str, str]]:
        """Each key that names a column, with the column."""
        for mapping in self.of_row:
            yield from mapping._own_columns()
        for name, other in self.beside.items():
            if other.by is not None:
                yield f"beside.{name}.by", other.by

    def _own_columns(self) -> Iterator[tuple[str, str]]:
        for key in type(self).model_fields:
            for name in _named(getattr(self, key)):
                yield key, name
        for tag in self.tags:
            for name in _named(tag):
                yield "tags", name
        for path, value in self.parameters.items():
            for name in _named(value):
                yield f"{_CONTEXT}{path}", name
        for column in self.where:
            yield "where", column


def _named(value: object) -> tuple[str, ...]:
    """The columns that a value of the mapping names."""
    if isinstance(value, values.ColumnValue):
        return (value.name,)
    return (
        value.columns
        if isinstance(value, values.Choice | values.Scaled | values.ColumnTemplate)
        else ()
    )


_OF_TABLE = ("split", "join", "beside", "header", "encoding", "decimal", "sheet", "cases")
"""Keys that hold for the whole table, not for one case of a row."""

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
    entries = data.pop("cases", None)
    mapping = _validated(data, path)
    if entries is None:
        _check_together(mapping, path)
        return mapping
    return mapping.model_copy(update={"cases": tuple(_of_row(data, entries, path))})


def _of_row(data: dict[str, Any], entries: Any, path: Path) -> Iterator[CaseMapping]:
    """The mapping of each case of a row; null takes back what stands for all."""
    if not isinstance(entries, list) or not entries or not all(map(_is_entry, entries)):
        expected = "a list; each entry holds the keys of one case of a row: [{query: COLUMN}, ...]"
        raise InputError("wrong value", file=path, field="cases", found=entries, expected=expected)
    shared = {key: value for key, value in data.items() if key not in _OF_TABLE}
    for entry in entries:
        for key in entry:
            if key in _OF_TABLE:
                expected = "this key for the whole table, beside 'cases'"
                raise InputError("wrong place", file=path, field=f"cases.{key}", expected=expected)
        merged = {key: value for key, value in (shared | entry).items() if value is not None}
        mapping = _validated(merged, path)
        _check_together(mapping, path)
        yield mapping


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and bool(entry) and all(isinstance(key, str) for key in entry)


def _validated(data: dict[str, Any], path: Path) -> CaseMapping:
    try:
        return CaseMapping.model_validate(_gathered(data, path))
    except ValidationError as error:
        raise _explain(error.errors(), path) from None


def example_mapping(name: str) -> str:
    """The text of a shipped mapping, to start one's own from.

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
        ("votes", "vote"),
        ("votes", "votes_safe"),
    ):
        if given(option) and given(other):
            shown = "context.GROUP.NAME" if other == "parameters" else other
            raise InputError(f"{option!r} does not go with {shown!r}", file=path, field=option)
    rule = mapping.ratings.rule if mapping.ratings is not None else None
    for other in _MADE.get(rule, ()) if rule is not None else ():
        if given(other):
            problem = f"the rule '{rule}' makes what {other!r} gives"
            raise InputError(problem, file=path, field="ratings", expected="one of the two")
    if given("rater") and not given("vote"):
        raise InputError("a rater without a vote", file=path, field="rater", expected="'vote' too")


_MADE = {
    RatingRule.SIDES: ("votes", "vote", "votes_safe"),
    RatingRule.POSITION: ("published_safe_rate",),
}
"""Fields, by the rule that makes a label of ratings, that would give that label."""

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
