"""A table: typed columns, and rows of values that the columns say how to write."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from casewise.sheets._numbers import (
    UNDEFINED,
    Measured,
    count,
    estimate,
    interval,
    margin,
    money,
    number,
    p_value,
    percent,
    seconds,
    signed,
)


class Kind(StrEnum):
    """What a column holds, and so how its values are written."""

    TEXT = "text"
    COUNT = "count"
    NUMBER = "number"
    CHANGE = "change"
    """A difference, with its sign."""
    SHARE = "share"
    """In 0..1."""
    PERCENT = "percent"
    """A share in 0..1 that is written as per cent."""
    P_VALUE = "p-value"
    INTERVAL = "interval"
    """A lower and an upper end."""
    ESTIMATE = "estimate"
    """A value with its interval in brackets."""
    MARGIN = "margin"
    """A value with half the width of its interval."""
    MONEY = "money"
    SECONDS = "seconds"


class Tone(StrEnum):
    """What a word says of its row: colours on a terminal, weight elsewhere."""

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
    """A text that leads somewhere, where the form has links."""

    text: str
    address: str
    """In which brackets and spaces are quoted."""


Cell = str | float | tuple[float, float] | Measured | Word | Code | Link | None
"""A value as its column's kind asks for. A text stands as it is, in a column of numbers too."""


_HYPHEN = re.compile(r"(?<=\w)-\n")


@dataclass(frozen=True, slots=True)
class Column:
    """A column."""

    heading: str
    """It may be broken at line ends; a hyphen before one is only seen where it is."""
    kind: Kind = Kind.TEXT
    digits: int | None = None
    """After the point; None is the kind's usual number."""
    key: str = ""
    """Its name for programs (CSV, JSON); empty is its heading."""

    @property
    def is_text(self) -> bool:
        """Whether it holds words, and so is written from the left."""
        return self.kind is Kind.TEXT

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
    Kind.MARGIN: margin,
    Kind.MONEY: money,
    Kind.SECONDS: seconds,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a cell for each column."""

    cells: Sequence[Cell]
    group: str = ""
    """What this row and its neighbours of the same group are about: a heading above them."""
    dim: bool = False
    """Whether it only stands there to be compared with."""
    apart: bool = False
    """Whether it is parted from the rows above."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    """What must be known to read it."""
    keys: int = 1
    """How many of the first columns say what a row is about."""

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
