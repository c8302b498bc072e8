"""Tables: typed columns, which write their values, and rows.

Numbers are written ``.500``, ``< .001``, ``.41 to .58``; what is unknown or undefined (None, NaN)
is a dash, whatever its kind.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

UNDEFINED = "–"
"""Text of an unknown or undefined value."""

SMALLEST_P = 0.001
"""Least p-value that is written as a number; smaller ones are a bound."""

CENT = 0.01
"""Least amount of money with two digits; smaller ones have four, or they would look like 0."""


class Measured(Protocol):
    """An estimate and its 95 % interval."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def interval(self) -> tuple[float, float]:
        """Its lower and upper end; NaN where unknown."""


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a share in 0..1, as the field prints it: ``.500``, ``-1.250``.

    Per cent and seconds keep the zero before the point.
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return _without_zero(f"{value:z,.{digits}f}")


def _without_zero(text: str) -> str:
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def setting(value: float) -> str:
    """Write a number that a person chose, in as few digits as it has: ``.05``, ``-.5``, ``6``."""
    return _without_zero(f"{value:zg}")


def signed(value: float | None, digits: int = 3) -> str:
    """Write a change with its sign, unless it rounds to 0: ``+.041``."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip(".0") else text


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share in 0..1 as per cent: ``81.2 %``."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{100 * value:z,.{digits}f} %"


def p_value(p: float | None) -> str:
    """Write a p-value with three digits, small ones as a bound: ``.049``, ``< .001``."""
    if p is None or math.isnan(p):
        return UNDEFINED
    return f"< {number(SMALLEST_P)}" if p < SMALLEST_P else number(p)


def interval(ends: tuple[float, float] | None, digits: int = 3, *, with_signs: bool = False) -> str:
    """Write an interval: ``.41 to .58``; a dash where an end is undefined."""
    if ends is None or any(map(math.isnan, ends)):
        return UNDEFINED
    write = signed if with_signs else number
    return " to ".join(write(end, digits) for end in ends)


def estimate(found: Measured | None, digits: int = 3, *, with_signs: bool = False) -> str:
    """Write an estimate and its interval: ``.812 (.771 to .853)``; alone where it has none."""
    if found is None:
        return UNDEFINED
    text = (signed if with_signs else number)(found.value, digits)
    ends = interval(found.interval, digits, with_signs=with_signs)
    return text if UNDEFINED in (text, ends) else f"{text} ({ends})"


def count(n: float | None) -> str:
    """Write a whole number, its thousands apart: ``18,900``."""
    return number(n, 0)


def money(amount: float | None, currency: str = "") -> str:
    """Write an amount with two digits, below a cent with four: ``$3.20``, ``12.50 EUR``."""
    if amount is None or math.isnan(amount):
        return UNDEFINED
    digits = 4 if 0 < abs(amount) < CENT else 2
    text = f"{abs(amount):,.{digits}f}"
    sign = "-" if amount < 0 and text.strip("0.,") else ""
    if currency in ("", "$"):
        return f"{sign}{currency}{text}"
    return f"{sign}{text} {currency}"


def seconds(value: float | None, digits: int = 0) -> str:
    """Write a time in seconds: ``12 s``."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:z,.{digits}f} s"


class Kind(StrEnum):
    """Kind of a column's values, which decides how they are written."""

    TEXT = "text"
    COUNT = "count"
    NUMBER = "number"
    CHANGE = "change"
    """A difference, with its sign."""
    SHARE = "share"
    """Share in 0..1."""
    PERCENT = "percent"
    """A share in 0..1 that is written as per cent."""
    P_VALUE = "p-value"
    INTERVAL = "interval"
    """A lower and an upper end."""
    ESTIMATE = "estimate"
    """A value with its interval in brackets."""
    MONEY = "money"
    SECONDS = "seconds"


class Tone(StrEnum):
    """Tone of a word: colours on a terminal, weight elsewhere."""

    GOOD = "good"
    BAD = "bad"
    DOUBT = "doubt"


@dataclass(frozen=True, slots=True)
class Word:
    """A word with a tone."""

    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Code:
    """A name that programs read, such as a command or an address."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link; plain text in forms without links."""

    text: str
    address: str
    """Address, with brackets and spaces quoted."""


Cell = str | float | tuple[float, float] | Measured | Word | Code | Link | None
"""Value of the column's kind; a text is written as it is in any column."""


_HYPHEN = re.compile(r"(?<=\w)-\n")


@dataclass(frozen=True, slots=True)
class Column:
    """A column."""

    heading: str
    """Heading, with line ends where it may be broken; a hyphen before one shows only if it is."""
    kind: Kind = Kind.TEXT
    digits: int | None = None
    """Digits after the point; None is the kind's usual number."""
    key: str = ""
    """Name for programs (CSV, JSON); empty is the heading."""

    @property
    def is_text(self) -> bool:
        """Tell whether it holds words."""
        return self.kind is Kind.TEXT

    @property
    def from_left(self) -> bool:
        """Tell whether it is aligned to the left: words, and figures with their intervals."""
        return self.is_text or self.kind is Kind.ESTIMATE

    @property
    def title(self) -> str:
        """The heading in one line."""
        return _HYPHEN.sub("", self.heading).replace("\n", " ").strip()

    def write(self, cell: Cell) -> str:
        """Write a value of the column."""
        if cell is None:
            return UNDEFINED
        if isinstance(cell, str):
            return cell
        if isinstance(cell, Word | Code | Link):
            return cell.text
        more = {} if self.digits is None else {"digits": self.digits}
        return _WRITERS[self.kind](cell, **more)


_WRITERS: Mapping[Kind, Callable[..., str]] = {
    Kind.TEXT: str,
    Kind.COUNT: count,
    Kind.NUMBER: number,
    Kind.CHANGE: signed,
    Kind.SHARE: number,
    Kind.PERCENT: percent,
    Kind.P_VALUE: p_value,
    Kind.INTERVAL: interval,
    Kind.ESTIMATE: estimate,
    Kind.MONEY: money,
    Kind.SECONDS: seconds,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a cell for each column."""

    cells: Sequence[Cell]
    group: str = ""
    """Subject of this row and its neighbours: a heading above them."""
    dim: bool = False
    """True for a row that others are compared with."""
    apart: bool = False
    """True for a gap above the row."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    """Note for the reader."""
    keys: int = 1
    """Number of first columns that name a row."""
    groups: str = ""
    """Heading of a column for the names of groups in Markdown; empty lays each group apart."""

    def __post_init__(self) -> None:
        """Refuse rows of another length.

        Raises:
            ValueError: A row has too few cells, or too many.
        """
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"{self.title or 'table'}: a row of {len(row.cells)} cells under "
                    f"{len(self.columns)} columns"
                )

    @classmethod
    def of_records(cls, records: Sequence[Mapping[str, Any]]) -> "Table":
        """A table of records, with a column for each key that any of them has."""
        names = list(dict.fromkeys(name for record in records for name in record))
        rows = [Row([record.get(name) for name in names]) for record in records]
        return cls([Column(name) for name in names], rows)


def figures(kind: Kind, *headings: str, digits: int | None = None) -> list[Column]:
    """Columns of one kind."""
    return [Column(heading, kind, digits) for heading in headings]
