"""The values of a mapping file: columns, constants, templates, choices, scales; from plain YAML."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casewise.cases._case import RatingRule

ROW, FILE, SPLIT = "@row", "@file", "@split"
BUILT_IN = (ROW, FILE, SPLIT)
"""Columns that every table has: the number of the row, the name of its file, its split."""


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a column, row by row."""

    name: str
    prefix: str = ""
    """Put before the value; of tags alone."""
    cut: tuple[str, ...] = ()
    """Texts that are cut from the value."""
    join: str | None = None
    """Text between the items of a list that becomes a text; None keeps lists."""
    separator: str | None = None
    """Text between the items of a text that is a list; empty for a printed list."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One value for every row."""

    value: Any


@dataclass(frozen=True, slots=True)
class ColumnTemplate:
    """A text with the values of columns in it: ``May {sender} tell {recipient} this?``."""

    text: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(PLACES.findall(self.text))


PLACES = re.compile(r"\{([^{}]+)\}")
"""Place of a column in a template."""

Value = ColumnValue | Constant | ColumnTemplate


@dataclass(frozen=True, slots=True)
class Choice:
    """Columns whose values mean safe, unsafe or neither; several, or a list, only of votes."""

    columns: tuple[str, ...]
    meanings: Mapping[str, str]
    """From a value, as ``as_key`` writes it, to ``safe``, ``unsafe`` or ``none``."""
    separator: str | None = None
    """Text between the votes of one cell; None for a list of them."""

    @property
    def known(self) -> str:
        """The values that mean something, for a message."""
        return ", ".join(map(repr, self.meanings))


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
    """Beside the first, or in the folder that is imported."""
    by: str | None = None
    """The column of both that says which rows belong together; None takes them in their order."""


def as_key(value: object) -> str:
    """A cell or an entry of the mapping for comparison: 1, 1.0 and "1" are one value."""
    if isinstance(value, str):
        value = value.strip()
        if _WHOLE.fullmatch(value):
            return value.split(".")[0]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).casefold()


_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)\.0*")


# --- what a person writes -------------------------------------------------------------------

_VALUE = "the name of a column, or {constant: TEXT} for one value in every row"


def to_value(value: object) -> Value | None:
    if isinstance(value, str) and value.strip():
        return ColumnValue(value)
    if isinstance(value, dict) and value.keys() == {"constant"}:
        constant = value["constant"]
        plain = isinstance(constant, str | int | float) and not isinstance(constant, bool)
        if plain and str(constant).strip():
            return Constant(str(constant))
        raise ValueError("a constant of text (quote dates, yes and no)")
    if isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str):
        template = ColumnTemplate(value["text"])
        if template.columns:
            return template
        raise ValueError("a text that names columns, as {NAME}")
    if isinstance(value, dict) and isinstance(value.get("column"), str):
        return _to_options(value)
    raise ValueError(_VALUE)


_OPTIONS = "{column: NAME} with cut: TEXT or [TEXTS], join: TEXT, list: true or list: SEPARATOR"


def _to_options(value: dict[str, Any]) -> ColumnValue:
    given = value.get("cut", [])
    cut = given if isinstance(given, list) else [given]
    join, listed = value.get("join"), value.get("list")
    fits = (
        not value.keys() - {"column", "cut", "join", "list"}
        and all(isinstance(text, str) and text for text in cut)
        and (join is None or isinstance(join, str))
        and (listed in (None, True) or (isinstance(listed, str) and listed))
    )
    if not fits:
        raise ValueError(_OPTIONS)
    return ColumnValue(value["column"], "", tuple(cut), join, _separator(listed))


def _separator(listed: object) -> str | None:
    return "" if listed is True else listed if isinstance(listed, str) else None


def to_parameter(value: object) -> Value | None:
    """As other values; and a constant may be a list or a mapping."""
    if (
        isinstance(value, dict)
        and value.keys() == {"constant"}
        and isinstance(value["constant"], list | dict)
        and value["constant"]
    ):
        return Constant(value["constant"])
    return to_value(value)


def to_column(value: object) -> ColumnValue | None:
    column = to_value(value)
    if not isinstance(column, ColumnValue):
        raise ValueError("the name of a column")
    return column


def to_key(value: object) -> Value | None:
    key = to_value(value)
    if isinstance(key, Constant):
        raise ValueError("the name of a column, or {text: TEXT} that names columns")
    return key


def _to_tag(value: object) -> Value | None:
    if isinstance(value, dict) and value.keys() == {"column", "prefix"}:
        column, prefix = value["column"], value["prefix"]
        if isinstance(column, str) and isinstance(prefix, str):
            return ColumnValue(column, prefix)
    return to_value(value)


def to_tags(value: object) -> tuple[Value | None, ...]:
    if not isinstance(value, list):
        raise ValueError(
            "a list; each entry is a column, {constant: TEXT}, or {column: NAME, prefix: TEXT}"
        )
    return tuple(_to_tag(tag) for tag in value)


_SIDES = ("safe", "unsafe", "none")
_CHOICE = "{column: NAME, safe: [VALUES], unsafe: [VALUES]}, and none: [VALUES] for neither"


def to_choice(value: object) -> Choice:
    return _chosen(value, {"column"}, _CHOICE)


def to_side(value: object) -> Choice | Constant:
    if isinstance(value, dict) and value.keys() == {"constant"}:
        if value["constant"] in ("safe", "unsafe"):
            return Constant(value["constant"])
        raise ValueError("{constant: safe} or {constant: unsafe}")
    return _chosen(value, {"column"}, f"{_CHOICE}; or {{constant: safe}}, {{constant: unsafe}}")


def to_votes(value: object) -> Choice:
    return _chosen(
        value, {"column", "columns", "list"}, _CHOICE.replace("column: NAME", "columns: [NAMES]")
    )


def _chosen(value: object, keys: set[str], expected: str) -> Choice:
    columns = _columns(value, keys)
    if columns is None or not isinstance(value, dict):
        raise ValueError(expected)
    if value.keys() - keys - set(_SIDES) or not (value.get("safe") or value.get("unsafe")):
        raise ValueError(expected)
    meanings: dict[str, str] = {}
    for side in _SIDES:
        given = value.get(side, [])
        for meaning in given if isinstance(given, list) else [given]:
            if isinstance(meaning, list | dict | datetime.date) or meaning is None:
                raise ValueError(expected)
            if meanings.setdefault(as_key(meaning), side) != side:
                raise ValueError(
                    f"each value under one side ({as_key(meaning)!r} stands under two)"
                )
    return Choice(columns, meanings, _separator(value.get("list")))


def _columns(value: object, keys: set[str]) -> tuple[str, ...] | None:
    """The columns that an entry names under ``column`` or ``columns``."""
    if not isinstance(value, dict) or ("column" in value) == ("columns" in value):
        return None
    named = value.get("columns") if "columns" in keys else None
    listed: list[Any] = named if isinstance(named, list) else [value.get("column")]
    return tuple(listed) if listed and all(isinstance(name, str) for name in listed) else None


_SCALE = "[UNSAFE END, SAFE END]: two numbers that differ"
_SHARE = f"the name of a column, or {{column: NAME, scale: {_SCALE}}}"
_RATINGS = f"{{column: NAME, scale: {_SCALE}, rule: sides or position}}, or columns: [NAMES]"


def to_share(value: object) -> Scaled:
    if isinstance(value, str) and value.strip():
        return Scaled((value,), None)
    return _to_scaled(value, {"column", "scale"}, _SHARE)


def to_ratings(value: object) -> Scaled:
    return _to_scaled(value, {"column", "columns", "scale", "rule", "list"}, _RATINGS)


def _to_scaled(value: object, keys: set[str], expected: str) -> Scaled:
    columns = _columns(value, keys)
    if columns is None or not isinstance(value, dict) or value.keys() - keys:
        raise ValueError(expected)
    given, rule = value.get("scale"), value.get("rule")
    scale: list[Any] = given if isinstance(given, list) else []
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in scale)
    if not numbers or len(scale) != 2 or scale[0] == scale[1]:
        raise ValueError(expected)
    if rule is not None and rule not in list(RatingRule):
        raise ValueError(expected)
    made = RatingRule(rule) if rule is not None else None
    ends = float(scale[0]), float(scale[1])
    return Scaled(columns, ends, made, _separator(value.get("list")))


def to_beside(value: object) -> dict[str, Beside]:
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
        beside[name] = Beside(entry["file"], entry.get("by"))
    return beside


def to_where(value: object) -> dict[str, tuple[str, ...]]:
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
