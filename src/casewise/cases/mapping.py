"""Mappings: the column of a table for each field of a case, and the fields that a row gives."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from casewise.cases.cells import (
    as_key,
    as_number,
    as_text,
    items,
    opened,
    plain,
    value_at,
    without_null,
)
from casewise.cases.model import MOST_VOTES, Side, Strict, message_fields
from casewise.errors import InputError, UsageError, one_of
from casewise.files.yaml import check_model, fault, read_model

ROW, EACH = BUILT_IN = ("@row", "@each")
"""Columns that every table has: the number of the row, and of rows that ``each`` makes the column
or item that they come from."""

# --- entries --------------------------------------------------------------------------------------

T = TypeVar("T")
Name = Annotated[StrictStr, Field(pattern=r"\S")]
Many = Annotated[
    tuple[T, ...], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
]
"""One or several, in a list."""
Values = Many[StrictStr | StrictBool | StrictInt | StrictFloat]


class _OfColumn(Strict):
    """Entry that may be written as the name of a column alone."""

    form: ClassVar[str]
    """How it is written, for messages."""

    @model_validator(mode="before")
    @classmethod
    def _is_a_name(cls, value: Any) -> Any:
        if not isinstance(value, str | dict):
            raise fault("wrong value", found=value, expected=cls.form)
        return {"column": value} if isinstance(value, str) else value


_PLACES = re.compile(r"\{([^{}]+)\}")
"""Place of a column in a text."""


class Value(_OfColumn):
    """A column, a text with columns in it, or one value for every row."""

    form = (
        "the name of a column, {text: TEXT} that names columns as {NAME}, or {constant: TEXT} for "
        "one value in every row (quote dates, yes and no)"
    )

    column: Name | None = None
    text: Annotated[StrictStr, Field(pattern=_PLACES.pattern)] | None = None
    """``May {sender} tell {recipient} this?``; the items of a list are joined by commas."""
    constant: StrictStr | StrictInt | StrictFloat | list[JsonValue] | dict[str, JsonValue] = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it names."""
        return (self.column,) if self.column else tuple(_PLACES.findall(self.text or ""))

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError(self.form)
        return self


_SIDES = ("safe", "unsafe", "none")


class Choice(_OfColumn):
    """Columns whose values are sides: by lists of values, or by the half of a scale."""

    form = (
        "{column: NAME, safe: [VALUES], unsafe: [VALUES], none: [VALUES]}, or {column: NAME, "
        "scale: [UNSAFE END, SAFE END]}"
    )

    column: Name | None = None
    """One column, whose cells may be lists."""
    columns: tuple[Name, ...] = ()
    """A column a person."""
    safe: Values = ()
    unsafe: Values = ()
    none: Values = ()
    """Values that are no answer: unsure, not applicable."""
    scale: tuple[float, float] | None = None
    """The end that means unsafe, then the end that means safe; the middle is no answer."""
    constant: Side | None = None
    """One side for every row."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return (self.column,) if self.column else self.columns

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """``safe``, ``unsafe`` or ``none`` by a value, as ``as_key`` writes it."""
        return {as_key(value): side for side in _SIDES for value in getattr(self, side)}

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if [bool(self.column), bool(self.columns), bool(self.constant)].count(True) != 1:
            raise ValueError("column: NAME, or columns: [NAMES]")
        if len(self.meanings) < sum(len(getattr(self, side)) for side in _SIDES):
            raise ValueError("each value once, under one side")
        if not (self.safe or self.unsafe or self.constant or len({*(self.scale or ())}) == 2):
            raise ValueError("values under safe or unsafe, or a scale with two ends that differ")
        return self

    def position(self, number: float) -> float:
        """Place of a number on the scale, 0 at its unsafe end and 1 at its safe one."""
        unsafe, safe = self.scale or (0.0, 1.0)
        return (number - unsafe) / (safe - unsafe)


class Share(Choice):
    """A share of people, or a mean of ratings, on a scale."""

    scale: tuple[float, float] = (0, 1)


class Unpivot(_OfColumn):
    """Wide to long: a row for each of several columns, or for each item of a list in a cell."""

    form = "a column that holds lists; or {columns: [NAMES], name: NEW COLUMN, value: NEW COLUMN}"

    column: Name | None = None
    """Column that holds lists or mappings, or a path to them."""
    columns: tuple[Name, ...] = ()
    name: Name | None = None
    """New column that holds the name of the old one."""
    value: Name | None = None
    """New column that holds the cell."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        wide = bool(self.columns and self.name and self.value)
        if wide == (self.column is not None):
            raise ValueError(self.form)
        return self


# --- the mapping file -----------------------------------------------------------------------------

EXAMPLE = "every-key"
"""A shipped mapping that explains every key; its columns are nobody's."""

_FOLDER = Path(str(files("casewise.data"))) / "mappings"
MAPPINGS = tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml") if path.stem != EXAMPLE))
"""The mappings that ship with casewise."""

CONTEXT = "context."

_TABLE_KEYS = ("each", "header", "encoding", "sheet", "cases")
"""Keys of the whole table, not of one case of a row."""
_EXCLUSIVE_KEYS = (
    ("query", "turns"),
    ("vote", "votes"),
    ("vote", "votes_safe"),
    ("votes", "votes_safe"),
)
"""Keys that exclude each other."""
_REQUIRED_KEYS = (("rater", "vote"), ("votes_safe", "votes_unsafe"), ("votes_unsafe", "votes_safe"))
"""Keys that are nothing without another."""


class CaseMapping(BaseModel):
    """A checked mapping. Of ``query`` and ``turns`` exactly one is given."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Value] = {}
    """Parameters of the context, under ``context.PATH``."""

    query: Value | None = None
    """Query of the user."""
    turns: Name | None = None
    """A whole conversation: its last user turn is the query, those before are the history."""
    id: Value | None = None
    query_id: Value | None = None
    category: Value | None = None
    language: Value | None = None
    source: Value
    licence: Value
    tags: tuple[Value, ...] = ()
    intended: Choice | None = None
    """Side that the authors mean, with a context or without."""
    votes_safe: Name | None = None
    votes_unsafe: Name | None = None
    vote: Choice | None = None
    """One person's vote a row: the rows of one case are joined."""
    rater: Name | None = None
    votes: Choice | None = None
    """All votes on a case in one row: a list in one column, or a column for each person."""
    published_safe_rate: Share | None = None
    """A share of people who say safe, or the mean of ratings: its place on their scale."""
    context: Value | None = None
    """A whole context, as a mapping, as JSON, or as text."""
    where: dict[Name, Annotated[Values, Field(min_length=1)]] = {}
    """Filter: the wanted values by column."""
    cases: tuple["CaseMapping", ...] = ()
    """Mappings of the several cases of a row, each whole."""

    each: Many[Unpivot] = ()
    """Wide to long: the columns, or the items of a list, that become a row each; one after the
    other."""
    header: Annotated[StrictInt, Field(ge=1)] | None = None
    """The row of the column names, from 1; None finds it."""
    encoding: StrictStr | None = None
    """Encoding of text files; None takes UTF-8, and Windows-1252 for what isn't."""
    sheet: StrictStr | None = None
    """Sheet of a workbook; None takes the first that holds anything."""

    @cached_property
    def parameters(self) -> Mapping[str, Value]:
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
            for key, entry in (*mapping, *(("tags", tag) for tag in mapping.tags)):
                yield from ((key, name) for name in getattr(entry, "names", ()))
                if isinstance(entry, str) and key not in _TABLE_KEYS:
                    yield key, entry
            yield from (("where", column) for column in mapping.where)

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
                raise fault("unknown key", key, expected=one_of(key, known))
            if any(other.startswith(f"{key}.") for other in parameters):
                raise fault("is a value and holds others", key)
        if not isinstance(data.get("cases"), list):
            return data
        shared = {key: value for key, value in data.items() if key not in _TABLE_KEYS}
        whole = []
        for number, entry in enumerate(data["cases"]):
            if not isinstance(entry, dict) or {*entry} & {*_TABLE_KEYS}:
                expected = f"keys of a case; {', '.join(_TABLE_KEYS)} stand beside 'cases'"
                raise fault("wrong value", "cases", number, found=entry, expected=expected)
            merged = shared | entry
            whole.append({key: value for key, value in merged.items() if value is not None})
        return data | {"cases": whole}

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        keys = {name for name, value in self if value not in (None, (), {})}
        keys |= {"context.GROUP.NAME"} if self.parameters else set()
        if not keys & {"query", "turns", "cases"}:
            raise fault("which column is the query?", expected="'query', or 'turns'")
        for key, other in (*_EXCLUSIVE_KEYS, ("context", "context.GROUP.NAME")):
            if {key, other} <= keys:
                raise fault(f"{key!r} does not go with {other!r}", key)
        for key, other in _REQUIRED_KEYS:
            if key in keys and other not in keys:
                raise fault(f"{key!r} without {other!r}", key)
        if self.id is not None and not self.id.names:
            raise fault("one id for all cases", "id", expected="the name of a column")
        return self


def load_mapping(source: Path | str | Mapping[str, Any]) -> CaseMapping:
    """Load a mapping by the name of a shipped one (see ``MAPPINGS``), a YAML file, or its keys.

    Raises:
        InputError: There is no such mapping, or it can't be used.
    """
    if isinstance(source, Mapping):
        keys = dict(source)
        return check_model(keys, CaseMapping, Path("mapping"), "mapping")
    path = _FOLDER / f"{source}.yaml" if source in MAPPINGS else Path(source)
    return read_model(path, CaseMapping, "mapping", MAPPINGS)


def example_mapping(name: str) -> str:
    """Text of a shipped mapping, as a start for one's own.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in (EXAMPLE, *MAPPINGS):
        known = ", ".join(MAPPINGS)
        raise UsageError(f"no mapping {name!r} ships: {EXAMPLE} explains every key, or {known}")
    return (_FOLDER / f"{name}.yaml").read_text("utf-8")


# --- a row, read through a mapping ----------------------------------------------------------------


@dataclass(slots=True)
class MappedRow:
    """A row of a table and the mapping that it is read through."""

    cells: Mapping[str, Any]
    mapping: CaseMapping
    file: Path
    place: str
    """Place of the row in its file: ``row 3``."""
    decimal: str | None
    """Decimal mark of numbers in text; None tells by the number."""
    used_paths: set[str]
    """Paths that lead to something, of all rows."""
    unused_columns: Counter[str]
    """Parts of cells that no case takes, of all rows."""
    abstentions: int = 0
    """People's verdicts that take no side, once the fields are read."""

    def cell(self, name: str) -> Any:
        """Value of a column or path; None where it is empty."""
        if name in self.cells:
            return plain(self.cells[name])
        value = plain(value_at(self.cells, name))
        if value not in (None, [], {}):
            self.used_paths.add(name)
        return value

    def wrong(
        self, field: str, expected: str, found: object, column: str | None = None
    ) -> InputError:
        """Error of a row that doesn't give a field."""
        problem = f"wrong value in column {column!r}" if column else "wrong value"
        # A query is never shown; whatever stands in its place is.
        shown = ... if field == "query" and isinstance(found, str) else found
        return InputError(
            problem, self.file, self.place, field=field, found=shown, expected=expected
        )

    @property
    def is_wanted(self) -> bool:
        """Tell whether the row passes the mapping's filter."""
        cells = ((self.cell(name), values) for name, values in self.mapping.where.items())
        return all(cell is not None and as_key(cell) in map(as_key, own) for cell, own in cells)

    def case_fields(self) -> dict[str, Any] | None:
        """The fields of the row's case, those without a value left out; None without a query.

        Raises:
            InputError: A cell can't be what the mapping takes it for.
        """
        mapping = self.mapping
        query, history = self._conversation() if mapping.turns else (self.text("query"), [])
        if query is None:
            return None
        fields: dict[str, Any] = {"query": query, "history": history, "context": self._context()}
        for name in ("id", "query_id", "category", "language", "source", "licence"):
            fields[name] = self.text(name)
            if fields[name] is None and name in ("source", "licence"):
                raise self.wrong(name, "text: it stays on every case", None)
        fields["tags"] = [*dict.fromkeys(text for tag in mapping.tags for text in self._tags(tag))]
        if choice := mapping.intended:
            sides = (side for _, side in self._sides(choice, "intended"))
            fields["intended"] = choice.constant or next(sides, None)
        fields["votes"] = self._votes()
        if share := mapping.published_safe_rate:
            fields["published_safe_rate"] = self._share(share)
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def text(self, field: str, value: Value | None = None) -> str | None:
        """Text of a field's value in the mapping; None where it, or a part of it, is empty."""
        value = value or getattr(self.mapping, field)
        if value is None:
            return None
        if value.text is not None:
            parts = {name: ", ".join(self._texts(name)) for name in value.names}
            whole = _PLACES.sub(lambda match: parts[match[1]], value.text)
            return whole if all(parts.values()) else None
        if value.column is None:
            return str(value.constant)
        cell = self.cell(value.column)
        text = as_text(cell)
        if (text is None and cell is not None) or (field == "query" and text != cell):
            expected = f"text (of a list: {{text: '{{{value.column}}}'}}; of messages: turns)"
            raise self.wrong(field, expected, cell, value.column)
        return text

    def _texts(self, name: str) -> list[str]:
        return list(filter(None, map(as_text, items(self.cell(name)))))

    def _tags(self, value: Value) -> list[str]:
        """Tags of a value: its text, or the items of a list."""
        if value.column:
            return self._texts(value.column)
        return [text] if (text := self.text("tags", value)) else []

    # --- labels -----------------------------------------------------------------------------

    def _filled(self, choice: Choice) -> list[tuple[str, Any]]:
        """Filled cells of several columns, or the items of one, each with its column."""
        return [(name, item) for name in choice.names for item in items(self.cell(name))]

    def _sides(self, choice: Choice, field: str) -> list[tuple[str, str | None]]:
        """Column and side of each filled cell; None for neither side."""
        sides = []
        for column, cell in self._filled(choice):
            side = choice.meanings.get(as_key(cell))
            if side is None and choice.scale:
                place = choice.position(self._number(cell, field, column, choice.scale))
                side = "none" if place == 0.5 else "safe" if place > 0.5 else "unsafe"
            elif side is None:
                expected = f"one of {', '.join(map(repr, choice.meanings))}"
                raise self.wrong(field, expected, cell, column)
            sides.append((column, None if side == "none" else side))
        return sides

    def _votes(self) -> Any:
        """Votes with their raters, or counts of them."""
        mapping = self.mapping
        if mapping.votes_safe and mapping.votes_unsafe:
            columns = {"safe": mapping.votes_safe, "unsafe": mapping.votes_unsafe}
            counts = {
                side: self._number(cell, f"votes_{side}", column, (0, MOST_VOTES))
                for side, column in columns.items()
                if (cell := self.cell(column)) is not None
            }
            return counts or None
        votes = []
        if choice := mapping.vote or mapping.votes:
            who = as_text(self.cell(mapping.rater)) if mapping.rater else None
            for column, side in self._sides(choice, "vote" if mapping.vote else "votes"):
                rater = column if choice.columns else who
                if side is None:
                    self.abstentions += 1
                else:
                    votes.append({"verdict": side} | ({"rater": rater} if rater else {}))
        return votes

    def _number(self, cell: Any, field: str, column: str, ends: Sequence[float]) -> float:
        """The number in a cell, between two ends."""
        try:
            number = as_number(cell, self.decimal)
        except ValueError as error:
            raise self.wrong(field, str(error), cell, column) from None
        if not min(ends) <= number <= max(ends):
            expected = f"a number from {ends[0]:g} to {ends[1]:g}, or another scale"
            raise self.wrong(field, expected, number, column)
        return number

    def _share(self, choice: Share) -> float | None:
        """Place of the mean of the cells on their scale."""
        places = []
        for column, cell in self._filled(choice):
            if as_key(cell) in choice.meanings:
                continue
            if isinstance(cell, str) and cell.strip().endswith("%"):
                bare = cell.strip().removesuffix("%")
                places.append(self._number(bare, "published_safe_rate", column, (0, 100)) / 100)
            else:
                number = self._number(cell, "published_safe_rate", column, choice.scale)
                places.append(choice.position(number))
        return sum(places) / len(places) if places else None

    # --- contexts and conversations ---------------------------------------------------------

    def _context(self) -> dict[str, Any] | None:
        context: dict[str, Any] = {}
        if (whole := self.mapping.context) is not None:
            parameter = self._parameter(whole, "context")
            name = (whole.column or "context").rsplit(".", 1)[-1]
            context = (
                parameter if isinstance(parameter, dict) else {name: parameter} if parameter else {}
            )
        for path, value in self.mapping.parameters.items():
            parameter = self._parameter(value, f"{CONTEXT}{path}")
            if parameter not in (None, [], {}):
                *groups, name = path.split(".")
                inner = context
                for group in groups:
                    inner = inner.setdefault(group, {})
                inner[name] = parameter
        return context or None

    def _parameter(self, value: Value, field: str) -> Any:
        """A parameter: a text, or what has parts as it is (roles in a list, a profile, turns)."""
        cell = opened(self.cell(value.column)) if value.column else value.constant
        # Parquet gives every row all keys, with null for those that it has not.
        return without_null(cell) if isinstance(cell, list | dict) else self.text(field, value)

    def _conversation(self) -> tuple[str | None, list[Any]]:
        """Query and earlier turns of a conversation: of texts by turns, or of messages."""
        column = str(self.mapping.turns)
        cell = opened(self.cell(column))
        turns = [
            _turn(n, message)
            for n, message in enumerate(cell if isinstance(cell, list) else [cell])
        ]
        is_cut = isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{")
        users = [n for n, turn in enumerate(turns) if turn.get("role") == "user"]
        if cell is None:
            return None, []
        if is_cut or not users or not isinstance(query := turns[users[-1]].get("content"), str):
            expected = "a conversation in which a user speaks: texts, or {role, content}"
            raise self.wrong("turns", expected, [turn.get("role") for turn in turns], column)
        if after := len(turns) - users[-1] - 1:
            self.unused_columns[f"{column} (turns after the last of the user)"] += after
        return query if query.strip() else None, turns[: users[-1]]


def _turn(number: int, message: Any) -> dict[str, Any]:
    """A message of a conversation with the names of a turn's fields."""
    if not isinstance(message, Mapping):
        return {"role": ("user", "assistant")[number % 2], "content": message}
    return {name: value for name, value in message_fields(message).items() if value is not None}
