"""Mappings: the column of a table for each field of a case, and the fields that a row gives."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    ValidationError,
    model_validator,
)

from casewise.cases.cells import as_key, as_number, as_text, items, opened, plain, without_null
from casewise.cases.model import REPLY_TAG, RatingRule, Ratings, find_turn_fault, read_turns
from casewise.errors import InputError, UsageError, did_you_mean
from casewise.files.yaml import check_model, expectation, fault, read_model

ROW, FILE, SPLIT, EACH = "@row", "@file", "@split", "@each"
BUILT_IN = (ROW, FILE, SPLIT, EACH)
"""Columns that every table has: the number of the row, the name of its file, its split, and of
rows that ``each`` makes the column or item that they come from."""

# --- places in a row ------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _path(text: str) -> Any:
    """A JMESPath, compiled; dotted names of any letters are one too. None for other texts."""
    for attempt in (text, ".".join(json.dumps(one, ensure_ascii=False) for one in text.split("."))):
        with suppress(JMESPathError, RecursionError), warnings.catch_warnings():
            # A form of literals that JMESPath will drop.
            warnings.simplefilter("error", PendingDeprecationWarning)
            with suppress(PendingDeprecationWarning):
                return jmespath.compile(attempt)
    return None


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


def value_at(cells: Mapping[str, Any], name: str) -> Any:
    """Value of a column, or of a path into the cells of a row; JSON in a text is opened.

    Raises:
        ValueError: The path asks of a value what it can't give.
    """
    if name in cells:
        return cells[name]
    path, root = _path(name), path_root(name)
    if path is None or root not in cells:
        return None
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
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    return name if is_plain else json.dumps(name, ensure_ascii=False)


# --- entries --------------------------------------------------------------------------------------

T = TypeVar("T")
Name = Annotated[StrictStr, Field(pattern=r"\S")]
Scalar = StrictStr | StrictBool | StrictInt | StrictFloat
Many = Annotated[
    tuple[T, ...], BeforeValidator(lambda given: given if isinstance(given, list) else [given])
]
"""One or several, in a list."""


def _under(key: str) -> BeforeValidator:
    """Take a text for an entry that has it under a key."""
    return BeforeValidator(lambda given: {key: given} if isinstance(given, str) else given)


class Entry(BaseModel):
    """What stands under a key of a mapping."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it takes."""
        return ()


class Column(Entry):
    """Value of a column."""

    column: Name
    prefix: StrictStr = ""
    """Text before the value."""
    cut: Many[Name] = ()
    """Texts that are cut from the value."""
    join: StrictStr | None = None
    """Text between the items of a list that becomes a text; None keeps lists."""
    list: Literal[True] | Name | None = None
    """Text between the items of a text that is a list; True for a printed list."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


class Constant(Entry):
    """One value for every row."""

    constant: StrictStr | StrictInt | StrictFloat | list[JsonValue] | dict[str, JsonValue]


_PLACES = re.compile(r"\{([^{}]+)\}")
"""Place of a column in a template."""


class Template(Entry):
    """A text with the values of columns in it: ``May {sender} tell {recipient} this?``."""

    text: Annotated[StrictStr, Field(pattern=_PLACES.pattern)]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(_PLACES.findall(self.text))


class _OfColumns(Entry):
    """An entry on one column, or on several."""

    column: Name | None = None
    columns: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    list: Literal[True] | Name | None = None
    """Text between the items of a cell; True, as None, for a list or a printed one."""
    none: Many[Scalar] = ()
    """Values that are no answer: unsure, not applicable."""

    @model_validator(mode="after")
    def _has_columns(self) -> Self:
        if (self.column is None) == (self.columns is None):
            raise ValueError("column: NAME, or columns: [NAMES]")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns or (str(self.column),)


class Choice(_OfColumns):
    """Columns whose values mean safe, unsafe or neither."""

    safe: Many[Scalar] = ()
    unsafe: Many[Scalar] = ()

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """``safe``, ``unsafe`` or ``none`` by a value, as ``as_key`` writes it."""
        sides = {"safe": self.safe, "unsafe": self.unsafe, "none": self.none}
        return {as_key(value): side for side, values in sides.items() for value in values}

    @model_validator(mode="after")
    def _has_sides(self) -> Self:
        keys = [as_key(value) for value in (*self.safe, *self.unsafe, *self.none)]
        twice = [key for key in self.meanings if keys.count(key) > 1]
        if twice:
            raise ValueError(f"each value once, under one side ({twice[0]!r} stands twice)")
        if not (self.safe or self.unsafe):
            raise ValueError("values under safe or unsafe")
        return self


class Scale(_OfColumns):
    """Numbers, or words, on a scale: one column, one that holds lists, or a column a person."""

    scale: tuple[StrictStr | StrictInt | StrictFloat, ...] | None = None
    """The end that means unsafe, then the end that means safe, or all words from one to the other;
    None for a share of 0..1, or a percentage that is marked as one."""
    rule: RatingRule | None = None

    @cached_property
    def words(self) -> Mapping[str, float]:
        """Numbers of the steps of a scale of words, from 1 at its unsafe end."""
        steps = self.scale or ()
        if not all(isinstance(step, str) for step in steps):
            return {}
        return {as_key(step): float(number) for number, step in enumerate(steps, start=1)}

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The unsafe end and the safe end."""
        if self.words:
            return 1.0, float(len(self.words))
        return (float(self.scale[0]), float(self.scale[1])) if self.scale else (0.0, 1.0)

    @model_validator(mode="after")
    def _has_ends(self) -> Self:
        steps = self.scale
        if steps is not None and not self.words:
            is_numbers = len(steps) == 2 and not any(isinstance(step, str) for step in steps)
            if not is_numbers or steps[0] == steps[1]:
                raise ValueError("two numbers that differ, or all words of a scale in their order")
        elif steps is not None and not 1 < len(steps) == len(self.words):
            raise ValueError("the words of a scale, each once")
        return self


class Beside(Entry):
    """A second file, whose rows belong to those of the first."""

    file: Name
    """Path relative to the first file's folder, or to the folder that is imported."""
    by: Name | Annotated[dict[Name, Name], Field(min_length=1, max_length=1)] | None = None
    """Column that joins the rows of both, or its name in the first and in this file; None joins
    them in their order."""

    @property
    def keys(self) -> tuple[str, str] | None:
        """The column in the first file, and in this one."""
        if isinstance(self.by, dict):
            return next(iter(self.by.items()))
        return (self.by, self.by) if self.by else None

    @model_validator(mode="after")
    def _is_beside(self) -> Self:
        if Path(self.file).is_absolute():
            raise ValueError("the file by its place beside the first")
        return self


class Each(Entry):
    """Wide to long: a row for each of several columns, or for each item of a list in a cell."""

    column: Name | None = None
    """Column that holds lists or mappings, or a path to them."""
    columns: tuple[Name, ...] = ()
    name: Name | None = None
    """New column that holds the name of the old one."""
    value: Name | None = None
    """New column that holds the cell, or the item."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        wide = bool(self.columns and self.name and self.value)
        if wide == (self.column is not None):
            raise ValueError(EXPECTED["each"])
        return self


def _kind(given: Any) -> str | None:
    """Form of an entry, by the key that only it has."""
    if isinstance(given, Entry):
        return f"a {next(iter(type(given).model_fields))}"
    if not isinstance(given, dict):
        return None
    return f"a {next((key for key in ('constant', 'text') if key in given), 'column')}"


_Value = Annotated[
    Annotated[Column, Tag("a column")]
    | Annotated[Constant, Tag("a constant")]
    | Annotated[Template, Tag("a text")],
    Discriminator(_kind),
]
Value = Annotated[_Value, _under("column")]
_Side = Annotated[
    Annotated[Choice, Tag("a column")] | Annotated[Constant, Tag("a constant")],
    Discriminator(_kind),
]
_ColumnOnly = Annotated[Column, _under("column")]

# --- the mapping file -----------------------------------------------------------------------------

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

CONTEXT = "context."

_A_VALUE = (
    "the name of a column, {column: NAME, ...}, {text: TEXT} that names columns as {NAME}, or "
    "{constant: TEXT} for one value in every row (quote dates, yes and no)"
)
_A_COLUMN = "the name of a column"
_A_CHOICE = "{column: NAME, safe: [VALUES], unsafe: [VALUES]}, and none: [VALUES] for neither"
_A_SCALE = "scale: [UNSAFE END, SAFE END], two numbers that differ, or all words in their order"
EXPECTED: Mapping[str, str] = {
    **dict.fromkeys(("query", "id", "query_id", "category", "language"), _A_VALUE),
    **dict.fromkeys(("source", "licence"), f"{_A_VALUE}: it stays on every case"),
    **dict.fromkeys(("turns", "history", "context", "rater", "reply"), _A_COLUMN),
    **dict.fromkeys(("votes_safe", "votes_unsafe"), _A_COLUMN),
    **dict.fromkeys(("vote", "reply_label"), _A_CHOICE),
    "intended": f"{_A_CHOICE}; or {{constant: safe}}, {{constant: unsafe}}",
    "votes": _A_CHOICE.replace("column: NAME", "columns: [NAMES]"),
    "tags": "a list of columns, {constant: TEXT} or {column: NAME, prefix: TEXT}",
    "published_safe_rate": f"{_A_COLUMN}, or {{column: NAME, {_A_SCALE}}}",
    "ratings": f"{{column: NAME, {_A_SCALE}, rule: sides or position}}, or columns: [NAMES]",
    "where": "{COLUMN: VALUE} or {COLUMN: [VALUES]}",
    "beside": "{NAME: FILE}, or {NAME: {file: FILE, by: COLUMN}}, the file beside the first",
    "each": "a column that holds lists; or {columns: [NAMES], name: NEW COLUMN, value: NEW COLUMN}",
}
"""Form of the entry under each key, for messages."""

_TABLE_KEYS = ("each", "split", "join", "beside", "header", "encoding", "decimal", "sheet", "cases")
"""Keys of the whole table, not of one case of a row."""
_APART = (
    *(("turns", "history"), ("vote", "votes_safe"), ("votes", "vote"), ("votes", "votes_safe")),
)
"""Keys that exclude each other."""
_MADE = {RatingRule.SIDES: ("votes", "vote", "votes_safe"), None: ()} | {
    RatingRule.POSITION: ("published_safe_rate",)
}
"""Fields that a rule for ratings makes, and that the mapping may not give too."""


class CaseMapping(BaseModel):
    """A checked mapping. Of ``query`` and ``turns`` exactly one is given."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Value] = {}
    """Parameters of the context, under ``context.PATH``."""

    query: Value | None = None
    """Query of the user."""
    turns: _ColumnOnly | None = None
    """A whole conversation: its last user turn is the query, those before are the history."""
    history: _ColumnOnly | None = None
    """The earlier turns, beside ``query``."""
    id: Value | None = None
    query_id: Value | None = None
    category: Value | None = None
    language: Value | None = None
    source: Value
    licence: Value
    tags: tuple[Value, ...] = ()
    intended: _Side | None = None
    """Side that the authors mean, with a context or without."""
    votes_safe: _ColumnOnly | None = None
    votes_unsafe: _ColumnOnly | None = None
    vote: Choice | None = None
    """One person's vote a row: the rows of one case are joined."""
    rater: _ColumnOnly | None = None
    reply: _ColumnOnly | None = None
    """A model's reply to the query: no part of the case."""
    reply_label: Choice | None = None
    """Verdict on the reply, which is no label of the case; it is kept as a tag."""
    votes: Choice | None = None
    """All votes on a case in one row: a list in one column, or a column for each person."""
    published_safe_rate: Annotated[Scale, _under("column")] | None = None
    ratings: Scale | None = None
    """Ratings on a scale, or their mean."""
    context: _ColumnOnly | None = None
    """A whole context, as a mapping, as JSON, or as text."""
    where: dict[Name, Annotated[Many[Scalar], Field(min_length=1)]] = {}
    """Filter: the wanted values by column."""
    cases: tuple["CaseMapping", ...] = ()
    """Mappings of the several cases of a row, each whole."""

    each: Many[Annotated[Each, _under("column")]] = ()
    """Wide to long: the columns, or the items of a list, that become a row each; one after the
    other."""
    split: StrictStr | None = None
    """The split of a data set that is taken; None takes all."""
    join: StrictBool = False
    """True if rows that repeat a case are one case with all their tags, whatever else differs."""
    beside: dict[Name, Annotated[Beside, _under("file")]] = {}
    """Other files by name: the name of the only column, or the prefix of several."""
    header: Annotated[StrictInt, Field(ge=1)] | None = None
    """The row of the column names, from 1; None finds it."""
    encoding: StrictStr | None = None
    """Encoding of text files; None takes UTF-8, and Windows-1252 for what isn't."""
    decimal: Literal[".", ","] | None = None
    """Decimal mark of numbers in text; None tells by the numbers."""
    sheet: StrictStr | None = None
    """Sheet of a workbook; None takes the first that holds anything."""

    @property
    def parameters(self) -> Mapping[str, "Column | Constant | Template"]:
        """Parameters of the context by their paths: ``recipient.type``."""
        extra = self.__pydantic_extra__ or {}
        return {key.removeprefix(CONTEXT): value for key, value in extra.items()}

    @property
    def of_row(self) -> "tuple[CaseMapping, ...]":
        """Mappings of the cases of a row: this one alone, unless ``cases`` has several."""
        return self.cases or (self,)

    def names(self) -> Iterator[tuple[str, str]]:
        """Each key that names a column, with the column."""
        for mapping in self.of_row:
            entries = [*mapping, *(("tags", tag) for tag in mapping.tags)]
            for key, entry in entries:
                yield from ((key, name) for name in getattr(entry, "names", ()))
            yield from (("where", column) for column in mapping.where)
        for name, other in self.beside.items():
            yield from ((f"beside.{name}.by", key) for key in (other.keys or ())[:1])

    @property
    def is_row_each(self) -> bool:
        """Whether a row is one person's vote or rating, so that the rows of a case are joined."""
        return self.vote is not None or (self.ratings is not None and self.rater is not None)

    @model_validator(mode="before")
    @classmethod
    def _take_keys(cls, data: Any) -> Any:
        """Refuse unknown keys, and make a whole mapping of each of several cases of a row."""
        if not isinstance(data, dict):
            return data
        known = (*cls.model_fields, "context.GROUP.NAME")
        parameters = [key for key in data if key.startswith(CONTEXT)]
        for key in data:
            if key not in cls.model_fields and (key not in parameters or ".." in f"{key}."):
                near = did_you_mean(key, known)
                raise fault("unknown key", key, expected=f"{near}one of {', '.join(known)}")
            if any(other.startswith(f"{key}.") for other in parameters):
                raise fault("is a value and holds others", key)
        if not isinstance(data.get("cases"), list):
            return data
        shared = {key: value for key, value in data.items() if key not in _TABLE_KEYS}
        whole = []
        for number, entry in enumerate(data["cases"]):
            if not isinstance(entry, dict) or not entry:
                raise fault("wrong value", "cases", number, found=entry, expected="keys of a case")
            if misplaced := [key for key in entry if key in _TABLE_KEYS]:
                expected = "this key for the whole table, beside 'cases'"
                raise fault("wrong place", "cases", number, misplaced[0], expected=expected)
            merged = shared | entry
            whole.append({key: value for key, value in merged.items() if value is not None})
        return data | {"cases": whole}

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        given = {name for name, value in self if value not in (None, (), {})}
        if "cases" in given:
            return self
        if ("query" in given) == ("turns" in given):
            expected = "'query' (a column), or 'turns' (whole conversations): one of them"
            raise fault("which column is the query?", expected=expected)
        if len(given & {"votes_safe", "votes_unsafe"}) == 1:
            raise fault("counts of votes come in pairs", "votes_safe", expected="both")
        if "context" in given and self.parameters:
            raise fault("'context' does not go with 'context.GROUP.NAME'", "context")
        for one, other in _APART:
            if {one, other} <= given:
                raise fault(f"{one!r} does not go with {other!r}", one)
        rule = self.ratings.rule if self.ratings else None
        for other in given & {*_MADE[rule]}:
            problem = f"the rule '{rule}' makes what {other!r} gives"
            raise fault(problem, "ratings", expected="one of the two")
        if "ratings" in given and self.ratings and self.ratings.scale is None:
            raise fault("wrong value", "ratings", expected=EXPECTED["ratings"])
        if "rater" in given and not given & {"vote", "ratings"}:
            raise fault("a rater without a vote", "rater", expected="'vote' or 'ratings' too")
        if "reply_label" in given and self.reply_label == self.intended:
            expected = "'reply_label' for a verdict on the reply, 'intended' for one on the case"
            raise fault("one column labels both", "reply_label", expected=expected)
        if isinstance(self.id, Constant):
            raise fault("one id for all cases", "id", expected=_A_COLUMN)
        side = self.intended
        if isinstance(side, Constant) and side.constant not in ("safe", "unsafe"):
            raise fault("wrong value", "intended", found=side.constant, expected="safe or unsafe")
        return self


def load_mapping(source: Path | str | Mapping[str, Any]) -> CaseMapping:
    """Load a mapping by the name of a shipped one (see ``MAPPINGS``), a YAML file, or its keys.

    Raises:
        InputError: There is no such mapping, or it can't be used.
    """
    if isinstance(source, Mapping):
        given = dict(source)
        return check_model(given, CaseMapping, Path("mapping"), "mapping", expected=EXPECTED)
    path = _shipped(source) if source in MAPPINGS else Path(source)
    return read_model(path, CaseMapping, "mapping", MAPPINGS, expected=EXPECTED)


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
    return _shipped(name).read_text("utf-8")


def _shipped(name: Path | str) -> Path:
    return Path(str(files("casewise.data"))) / "mappings" / f"{name}.yaml"


# --- a row, read through a mapping ----------------------------------------------------------------

_ROLES = {
    **dict.fromkeys(("user", "human", "prompter", "customer"), "user"),
    **dict.fromkeys(("assistant", "gpt", "model", "bot", "ai", "chatbot", "agent"), "assistant"),
    **{"system": "system", "developer": "system", "tool": "tool"},
}
"""Roles by the names of speakers in data sets."""

_SAID = re.compile(r"(?m)^\s*(Human|User|Assistant|AI|Bot|System):[ \t]*")
"""Who speaks, at the beginning of a line of a conversation that is one text."""


@dataclass(slots=True)
class MappedRow:
    """A row of a table and the mapping that it is read through."""

    cells: Mapping[str, Any]
    mapping: CaseMapping
    file: Path
    record: str
    """Place of the row in its file: ``row 3``."""
    decimal: str | None = None
    """Decimal mark of numbers in text; None tells by the number."""
    reached: set[str] = field(default_factory=set)
    """Paths that lead to something, of all rows."""
    untaken: Counter[str] = field(default_factory=Counter)
    """Parts of cells that no case takes, of all rows."""

    def cell(self, column: str, field: str) -> Any:
        """Value of a column or path; None where it is empty."""
        try:
            return plain(self.cells[column])
        except KeyError:
            pass
        try:
            value = plain(value_at(self.cells, column))
        except ValueError as error:
            self.reached.add(column)
            found = self.cells.get(path_root(column) or "")
            raise self.wrong(field, str(error), found, column) from None
        if value not in (None, [], {}):
            self.reached.add(column)
        return value

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
        cells = ((self.cell(name, "where"), values) for name, values in self.mapping.where.items())
        return all(cell is not None and as_key(cell) in map(as_key, own) for cell, own in cells)

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
            fields[name] = self.text(getattr(mapping, name), name)
            if fields[name] is None and name in ("source", "licence"):
                raise self.wrong(name, "text: it stays on every case", None)
        fields["context"] = self._context()
        tags = [text for tag in mapping.tags for text in self._tags(tag)]
        if isinstance(mapping.intended, Constant):
            fields["intended"] = mapping.intended.constant
        elif mapping.intended is not None:
            for label, _, side in self._sides(mapping.intended, "intended"):
                fields["intended"] = side
                # A label that means neither side is kept all the same.
                tags += [] if side else [f"label:{str(label).strip()}"]
        if mapping.reply_label is not None:
            sides = self._sides(mapping.reply_label, "reply_label")
            tags += [f"{REPLY_TAG}{side or 'none'}" for _, _, side in sides]
        fields["tags"] = list(dict.fromkeys(tags))
        fields["votes"] = self._votes()
        if mapping.published_safe_rate is not None:
            fields["published_safe_rate"] = self._share(mapping.published_safe_rate)
        if mapping.ratings is not None:
            fields |= self._rated(mapping.ratings)
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def rater(self) -> str | None:
        """Whose vote or rating the row is."""
        return self.text(self.mapping.rater, "rater")

    def why_unlabelled(self) -> str:
        """Reason why the row's case has neither votes nor another label, in words."""
        mapping, ratings = self.mapping, self.mapping.ratings
        labels = (mapping.intended, mapping.votes, mapping.vote, mapping.published_safe_rate)
        columns = [label.names for label in (*labels, mapping.votes_safe, ratings) if label]
        if not columns and mapping.reply_label is not None:
            return "a reply to them is labelled, and not they"
        if not columns:
            return "the mapping names none for them (intended, votes, published_safe_rate, ratings)"
        filled = [any(self.cell(name, "label") is not None for name in names) for names in columns]
        if filled == [True] and ratings is not None and ratings.rule is None:
            return "the mapping names no rule for the ratings (rule: sides or position)"
        told = zip(columns, filled, strict=True)
        return " and ".join(
            dict.fromkeys(
                f"{', '.join(names)} {'says neither side' if is_filled else 'is empty'}"
                for names, is_filled in told
            )
        )

    def text(self, value: Any, field: str) -> str | None:
        """Text of a value of the mapping; None where it, or a part of a template, is empty."""
        match value:
            case None:
                return None
            case Constant():
                return str(value.constant)
            case Template():
                parts = {
                    name: self.text(Column(column=name, join=", "), field) for name in value.names
                }
                if None in parts.values():
                    return None
                return _PLACES.sub(lambda match: str(parts[match[1]]), value.text)
        cell = self.cell(value.column, field)
        if value.join is not None:
            texts = [as_text(item) for item in items(cell, value.list)]
            if None not in texts:
                cell = value.join.join(filter(None, texts)) or None
        text = as_text(cell)
        if text is None and cell is not None:
            hint = f" (for a list: {{column: {value.column}, join: ', '}})"
            expected = "text" + (hint if isinstance(cell, list) else "")
            raise self.wrong(field, expected, cell, value.column)
        for fixed in value.cut if text else ():
            text = (text or "").replace(fixed, "")
        text = (text.strip() or None) if text and value.cut else text
        return f"{value.prefix}{text}" if text and value.prefix else text

    def _tags(self, value: Any) -> list[str]:
        """Tags of a value: its text, the items of a list, or the names that are true."""
        cell = None
        if isinstance(value, Column) and value.join is None:
            cell = opened(self.cell(value.column, "tags"))
        if isinstance(cell, dict):
            texts = [name if is_set is True else None for name, is_set in cell.items()]
        elif isinstance(cell, list):
            texts = [as_text(item) for item in items(cell, None)]
        else:
            text = self.text(value, "tags")
            return [] if text is None else [text]
        return [f"{value.prefix}{text}" for text in texts if text is not None]

    # --- labels -----------------------------------------------------------------------------

    def _filled(self, entry: _OfColumns, field: str) -> list[tuple[Any, str]]:
        """Filled cells of several columns, or the items of one, each with its column."""
        cells = [(self.cell(name, field), name) for name in entry.names]
        if entry.columns is None:
            ((cell, name),) = cells
            cells = [(item, name) for item in items(cell, entry.list)]
        return [(cell, name) for cell, name in cells if cell is not None]

    def _sides(self, choice: Choice, field: str) -> list[tuple[Any, str, str | None]]:
        """Each filled cell with its column and its side; None for neither."""
        sides = []
        for cell, name in self._filled(choice, field):
            side = choice.meanings.get(as_key(cell))
            if side is None:
                expected = f"one of {', '.join(map(repr, choice.meanings))}"
                raise self.wrong(field, expected, cell, name)
            sides.append((cell, name, None if side == "none" else side))
        return sides

    def _votes(self) -> Any:
        mapping = self.mapping
        choice = mapping.vote or mapping.votes
        if choice is not None:
            sides = self._sides(choice, "vote" if mapping.vote else "votes")
            raters = [name if choice.columns else self.rater() for _, name, _ in sides]
            return _vote_rows(raters, [side for _, _, side in sides])
        if mapping.votes_safe is None or mapping.votes_unsafe is None:
            return None
        counts = {
            side: self._count(entry.column, f"votes_{side}")
            for side, entry in (("safe", mapping.votes_safe), ("unsafe", mapping.votes_unsafe))
        }
        if list(counts.values()) == [None, None]:
            return None
        for side, count in counts.items():
            if count is None:
                raise self.wrong(f"votes_{side}", "both counts, or neither", None)
        return counts

    def _number(self, cell: Any, field: str, column: str) -> float:
        try:
            return as_number(cell, self.decimal)
        except ValueError as error:
            raise self.wrong(field, str(error), cell, column) from None

    def _count(self, column: str, field: str) -> int | None:
        cell = self.cell(column, field)
        if cell is None:
            return None
        number = self._number(cell, field, column)
        if not number.is_integer() or number < 0:
            raise self.wrong(field, "a whole number, 0 or more", number, column)
        return int(number)

    def _share(self, scale: Scale) -> float | None:
        name, (unsafe, safe) = "published_safe_rate", scale.ends
        for cell, column in self._filled(scale, name):
            if isinstance(cell, str) and cell.strip().endswith("%"):
                cell = cell.strip().removesuffix("%")
                unsafe, safe = scale.ends if scale.scale else (0.0, 100.0)
            number = self._number(cell, name, column)
            if not min(unsafe, safe) <= number <= max(unsafe, safe):
                expected = f"a share from {unsafe:g} (nobody) to {safe:g} (all say safe)"
                if scale.scale is None and 1 < number <= 100:
                    expected += f"; for a percentage: {{column: {column}, scale: [0, 100]}}"
                raise self.wrong(name, expected, number, column)
            return (number - unsafe) / (safe - unsafe)
        return None

    def _rated(self, scale: Scale) -> dict[str, Any]:
        """Fields that ratings give: themselves, and the votes or the rate that their rule makes."""
        neither = {*map(as_key, scale.none)}
        cells = [one for one in self._filled(scale, "ratings") if as_key(one[0]) not in neither]
        if not cells:
            return {}
        values = [self._step(cell, scale, column) for cell, column in cells]
        try:
            ratings = Ratings(values=tuple(values), scale=scale.ends, rule=scale.rule)
        except ValidationError as error:
            expected = expectation(error.errors()[0])
            raise self.wrong("ratings", expected, values, ", ".join(scale.names)) from None
        fields: dict[str, Any] = {"ratings": ratings}
        if scale.rule is RatingRule.POSITION:
            fields["published_safe_rate"] = ratings.position()
        elif scale.rule is RatingRule.SIDES:
            raters = [name if scale.columns else self.rater() for _, name in cells]
            fields["votes"] = _vote_rows(raters, ratings.sides())
        return fields

    def _step(self, cell: Any, scale: Scale, column: str) -> float:
        """Number in the cell, or that of its word on a scale of words."""
        if not scale.words:
            return self._number(cell, "ratings", column)
        if as_key(cell) not in scale.words:
            raise self.wrong("ratings", f"one of {', '.join(map(repr, scale.words))}", cell, column)
        return scale.words[as_key(cell)]

    # --- contexts and conversations ---------------------------------------------------------

    def _context(self) -> Any:
        if self.mapping.context is not None:
            column = self.mapping.context.column
            whole = self._structure(column, "context")
            if isinstance(whole, str):
                return {column.rsplit(".", 1)[-1]: whole}
            if not isinstance(whole, dict | None):
                raise self.wrong("context", "a text, a mapping, or JSON of one", whole, column)
            # Parquet gives every row all keys, with null for those that it has not.
            return without_null(whole) or None
        context: dict[str, Any] = {}
        for path, value in self.mapping.parameters.items():
            held = self._parameter(value, f"{CONTEXT}{path}")
            if held in (None, [], {}):
                continue
            *groups, name = path.split(".")
            inner = context
            for group in groups:
                inner = inner.setdefault(group, {})
            inner[name] = held
        return context or None

    def _parameter(self, value: Any, field: str) -> Any:
        """A parameter: a text, or what has parts as it is (roles in a list, a profile, turns)."""
        if isinstance(value, Constant) and isinstance(value.constant, list | dict):
            return value.constant
        if isinstance(value, Column) and value.join is None:
            cell = self.cell(value.column, field)
            if value.list is not None:
                return without_null(items(cell, value.list))
            if isinstance(cell, list | dict):
                return without_null(cell)
        return self.text(value, field)

    def _structure(self, column: str, field: str) -> Any:
        """The cell, as a list or mapping where it holds one as JSON."""
        cell = self.cell(column, field)
        structure = opened(cell)
        if isinstance(structure, str) and structure.lstrip()[:1] in ("[", "{"):
            raise self.wrong(field, "whole JSON", "a text that begins as JSON", column)
        return structure

    def _query_and_history(self) -> tuple[str | None, list[dict[str, Any]]]:
        mapping = self.mapping
        if mapping.turns is not None:
            return self._conversation(mapping.turns.column)
        if isinstance(mapping.query, Column) and mapping.query.join is None:
            cell = self.cell(mapping.query.column, "query")
            if not isinstance(cell, str | None):
                expected = "text (of a list of messages: turns; of texts: {column: NAME, join: ''})"
                raise self.wrong("query", expected, cell, mapping.query.column)
        text = self.text(mapping.query, "query")
        if mapping.history is None:
            return text, []
        column = mapping.history.column
        turns = self._turns(self._structure(column, "history"), "history", column)
        return text, self._in_order(turns, "history", column)

    def _conversation(self, column: str) -> tuple[str | None, list[dict[str, Any]]]:
        """Query and history in a cell that holds a query, or a conversation that ends in it."""
        said = self._structure(column, "turns")
        if isinstance(said, str):
            before, *parts = _SAID.split(said)
            if before.strip() or not parts:
                return said, []
            pairs = zip(parts[::2], parts[1::2], strict=True)
            said = [{"role": who.lower(), "content": text.strip()} for who, text in pairs]
        turns = self._turns(said, "turns", column)
        if not turns:
            return None, []
        at = max((n for n, turn in enumerate(turns) if turn.role == "user"), default=None)
        if at is None:
            roles = [turn.role for turn in turns]
            raise self.wrong("turns", "a conversation in which a user speaks", roles, column)
        if after := len(turns) - at - 1:
            self.untaken[f"{column} (turns after the last of the user)"] += after
        query = turns[at].content if turns[at].content.strip() else None
        return query, self._in_order(turns[:at], "turns", column)

    def _turns(self, cell: Any, field: str, column: str) -> Sequence[Any]:
        """Messages of a conversation: texts of user and assistant in turn, or objects."""
        if cell is None:
            return ()
        if not isinstance(cell, list | tuple):
            raise self.wrong(field, "a list of texts or of {role, content}", cell, column)
        messages = []
        for number, message in enumerate(cell):
            turn: dict[str, Any] = {"role": ("user", "assistant")[number % 2], "content": message}
            if isinstance(message, Mapping):
                spoken = (message[key] for key in ("role", "from", "speaker") if key in message)
                texts = (message[key] for key in ("content", "value", "text") if key in message)
                kept = ("tool_calls", "tool_call_id", *(["name"] if "role" in message else []))
                turn = {key: message[key] for key in kept if message.get(key)}
                turn["role"] = _ROLES.get(str(next(spoken, None)).lower())
                turn["content"] = next(texts, None)
                if turn["role"] != "tool":
                    turn.pop("name", None)
            is_said = isinstance(turn["content"], str | list) or len(turn) > 2
            if turn["role"] is None or not is_said:
                shown = list(message) if isinstance(message, Mapping) else type(message).__name__
                raise self.wrong(field, "texts, or {role, content} of known roles", shown, column)
            messages.append(turn)
        try:
            return read_turns(messages)
        except ValidationError as error:
            roles = [message["role"] for message in messages]
            raise self.wrong(field, expectation(error.errors()[0]), roles, column) from None

    def _in_order(self, turns: Sequence[Any], field: str, column: str) -> list[dict[str, Any]]:
        """Earlier turns as JSON values, once their order is checked."""
        if (wrong := find_turn_fault(turns)) is not None:
            raise self.wrong(field, wrong, [turn.role for turn in turns], column)
        return [turn.model_dump(mode="json") for turn in turns]


def _vote_rows(
    raters: Sequence[str | None], sides: Sequence[str | None]
) -> list[dict[str, str]] | None:
    """Votes, each with its rater where the table names one."""
    return [
        {"verdict": side} | ({} if rater is None else {"rater": rater})
        for rater, side in zip(raters, sides, strict=True)
        if side is not None
    ] or None
