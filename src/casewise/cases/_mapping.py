"""The mapping file: the column of a table for each field of a case."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from casewise.cases import _mapping_values as values
from casewise.cases._case import RatingRule
from casewise.cases._yaml_files import expectation, read_plain_yaml
from casewise.errors import InputError, UsageError, did_you_mean

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


_Value = Annotated[values.Value, BeforeValidator(values.to_value)]
_Parameter = Annotated[values.Value, BeforeValidator(values.to_parameter)]
_Column = Annotated[values.ColumnValue, BeforeValidator(values.to_column)]
_Key = Annotated[values.Value, BeforeValidator(values.to_key)]
_Choice = Annotated[values.Choice, BeforeValidator(values.to_choice)]


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
    tags: Annotated[tuple[values.Value, ...], BeforeValidator(values.to_tags)] = ()
    intended: Annotated[
        values.Choice | values.Constant | None,
        BeforeValidator(values.to_side),
    ] = None
    """Side that the authors mean, with a context or without."""
    votes_safe: _Column | None = None
    votes_unsafe: _Column | None = None
    vote: _Choice | None = None
    """One person's vote a row: the rows of one case are joined."""
    rater: _Column | None = None
    votes: Annotated[values.Choice | None, BeforeValidator(values.to_votes)] = None
    """All votes on a case in one row: a list in one column, or a column for each person."""
    published_safe_rate: Annotated[values.Scaled | None, BeforeValidator(values.to_share)] = None
    ratings: Annotated[values.Scaled | None, BeforeValidator(values.to_ratings)] = None
    """Ratings on a scale, or their mean."""
    context: _Column | None = None
    """A whole context, as a mapping or as JSON."""
    parameters: dict[str, _Parameter] = {}
    """Parameters by their paths ("recipient.type"): the keys ``context.PATH`` of the file."""
    where: Annotated[dict[str, tuple[str, ...]], BeforeValidator(values.to_where)] = {}
    """Filter: the wanted values by column."""
    cases: tuple["CaseMapping", ...] = ()
    """Mappings of the several cases of a row, each whole."""

    split: str | None = None
    """The split of a data set that is taken; None takes all."""
    join: bool = False
    """True if rows of one case that differ in their tags are one case with all of them."""
    beside: Annotated[dict[str, values.Beside], BeforeValidator(values.to_beside)] = {}
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

    def _own_columns(self) -> Iterator[tuple[str, str]]:
        parameters = ((f"{_CONTEXT}{path}", value) for path, value in self.parameters.items())
        for key, value in (*self, *(("tags", tag) for tag in self.tags), *parameters):
            for name in getattr(value, "columns", ()):
                yield key, name
        for column in self.where:
            yield "where", column


_TABLE_KEYS = ("split", "join", "beside", "header", "encoding", "decimal", "sheet", "cases")
"""Keys of the whole table, not of one case of a row."""

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
    if given("rater") and not given("vote"):
        raise InputError("a rater without a vote", path, field="rater", expected="'vote' too")


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
