"""The values of a mapping file: columns, constants, templates, choices, scales; from plain YAML."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from casewise.cases._case import RatingRule

ROW, FILE, SPLIT = "@row", "@file", "@split"
BUILT_IN = (ROW, FILE, SPLIT)
"""Columns that every table has: the number of the row, the name of its file, its split."""


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


@dataclass(frozen=True, slots=True)
class Beside:
    """A second file, whose rows belong to those of the first."""

    file: str
    """Path relative to the first file's folder, or to the folder that is imported."""
    by: str | None = None
    """Column of both files that joins their rows; None joins them in their order."""


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
    raise ValueError("the name of a column, or {constant: TEXT} for one value in every row")


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


_SCALE = "[UNSAFE END, SAFE END]: two numbers that differ"


def to_share(value: object) -> Scaled:
    """Read a column of shares, or of numbers on a scale."""
    if isinstance(value, str) and value.strip():
        return Scaled((value,), None)
    expected = f"the name of a column, or {{column: NAME, scale: {_SCALE}}}"
    return _to_scaled(value, {"column", "scale"}, expected)


def to_ratings(value: object) -> Scaled:
    """Read columns of ratings with their scale, and the rule that makes a label of them."""
    expected = f"{{column: NAME, scale: {_SCALE}, rule: sides or position}}, or columns: [NAMES]"
    return _to_scaled(value, {"column", "columns", "scale", "rule", "list"}, expected)


def _to_scaled(value: Any, keys: set[str], expected: str) -> Scaled:
    columns = _columns(value, keys, expected)
    match value.get("scale"), value.get("rule"):
        case [unsafe, safe], None | RatingRule.SIDES | RatingRule.POSITION as rule if {
            type(unsafe),
            type(safe),
        } <= {int, float} and unsafe != safe:
            scale = float(unsafe), float(safe)
            made = RatingRule(rule) if rule else None
            return Scaled(columns, scale, made, _separator(value.get("list")))
    raise ValueError(expected)


def to_beside(value: object) -> dict[str, Beside]:
    """Read other files, by name."""
    expected = "{NAME: FILE}, or {NAME: {file: FILE, by: COLUMN}}"
    if not isinstance(value, dict) or not value:
        raise ValueError(expected)
    beside = {}
    for name, given in value.items():
        entry = {"file": given} if isinstance(given, str) else given
        fits = isinstance(entry, dict) and not entry.keys() - {"file", "by"}
        if not fits or not all(isinstance(text, str) and text for text in entry.values()):
            raise ValueError(expected)
        if "file" not in entry or Path(entry["file"]).is_absolute():
            raise ValueError(f"{expected}; the file by its place beside the first")
        beside[name] = Beside(**entry)
    return beside


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
