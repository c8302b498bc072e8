"""Tables: typed columns, which write their values, and rows; and how a terminal shows them.

Numbers are written ``.500``, ``< .001``, ``.41 to .58``; what is unknown or undefined (None, NaN)
is a dash, whatever its kind. On a terminal a table is fitted to its width, with no name or figure
cut.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any, Protocol

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

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


_NOISE = 6
"""Decimals of the last digit within which floats stand for the same number: .0249999999 is .025."""


def rounded(value: float, digits: int = 0) -> float:
    """Round a number, halves away from zero: .125 is .13, and -2.5 is -3.

    Every figure that is printed is rounded so, on the page's own script as well.
    """
    if not math.isfinite(value):
        return value
    places = 10.0**digits
    return math.copysign(math.floor(round(abs(value) * places, _NOISE) + 0.5) / places, value)


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a share in 0..1, as the field prints it: ``.500``, ``-1.250``.

    Per cent and seconds keep the zero before the point.
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return _without_zero(f"{rounded(value, digits):z,.{digits}f}")


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
    """Write a share in 0..1 as per cent: ``81.3 %``."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{rounded(100 * value, digits):z,.{digits}f} %"


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


def plural(n: int, noun: str) -> str:
    """A count with its noun: ``1 case``, ``2 cases``, ``2 queries``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("ry") else f"{n} {noun}s"


def money(amount: float | None, currency: str = "") -> str:
    """Write an amount with two digits, below a cent with four: ``$3.20``, ``12.50 EUR``."""
    if amount is None or math.isnan(amount):
        return UNDEFINED
    digits = 4 if 0 < abs(amount) < CENT else 2
    text = f"{rounded(abs(amount), digits):,.{digits}f}"
    sign = "-" if amount < 0 and text.strip("0.,") else ""
    if currency in ("", "$"):
        return f"{sign}{currency}{text}"
    return f"{sign}{text} {currency}"


def seconds(value: float | None, digits: int = 0) -> str:
    """Write a time in seconds: ``12 s``."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{rounded(value, digits):z,.{digits}f} s"


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
    DATE = "date"
    """A day and a time, as they are written; never folded."""


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
    """Heading, with line ends where it may be broken. A hyphen before one shows only if it is; a
    non-breaking one (U+2011) always does."""
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
        """Tell whether it is aligned to the left: words, dates, figures with their intervals."""
        return self.is_text or self.kind in (Kind.ESTIMATE, Kind.DATE)

    @property
    def title(self) -> str:
        """The heading in one line."""
        whole = _HYPHEN.sub("", self.heading).replace("\u2011\n", "-")
        return whole.replace("\n", " ").strip()

    @property
    def broken(self) -> str:
        """The heading with its line ends."""
        return self.heading.replace("\u2011", "-")

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
    Kind.DATE: str,
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


_GAP = 2
"""Spaces between columns."""

_EDGE = 1
"""Spaces left of a table."""

_STYLES = {Tone.GOOD: "green", Tone.BAD: "bold red", Tone.DOUBT: "yellow"}


def terminal(*parts: Table | Word | str) -> RenderableType:
    """Renderable of tables and lines of text below each other; tones are colours.

    Nothing is ever cut from a table. Where it doesn't fit, headings and words are folded, at
    spaces and after slashes; then the table is, into blocks below each other that repeat its first
    columns. The name of a group of rows stands above them and is as wide as the table.
    """
    return Group(*map(_part, parts))


def fits(table: Table, width: int) -> bool:
    """Tell whether a table is whole on a terminal, and not in blocks."""
    return len(_Drawn(table).blocks(width)) == 1


def _part(part: Table | Word | str) -> RenderableType:
    if isinstance(part, Word):
        return _plain(part.text, _STYLES[part.tone])
    return _plain(part) if isinstance(part, str) else _Drawn(part)


def _plain(text: str, style: str = "") -> Text:
    """Text without markup and control characters."""
    shown = "".join(one if one.isprintable() or one == "\n" else " " for one in text)
    return Text(shown, style=style)


class _Drawn:
    """A table that is laid out for the width it is given."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._grouped = any(row.group for row in table.rows)
        self._texts = [self._cells(row) for row in table.rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out for a width."""
        table = self._table
        if table.title:
            yield _plain(table.title, "bold")
        for shown in self.blocks(options.max_width):
            yield Text()
            yield from self._block(shown, options.max_width)
        yield Text()
        if table.note:
            yield from (_plain(table.note, "dim"), Text())

    def blocks(self, width: int) -> list[dict[int, int]]:
        """The columns of each block, with their widths."""
        widths = [
            _measure(column, [cells[place].plain for cells in self._texts])
            for place, column in enumerate(self._table.columns)
        ]
        return _blocks(widths, self._table.keys, width)

    def _cells(self, row: Row) -> list[Text]:
        """A row's texts; those of a group are indented under its name."""
        texts = []
        for place, (column, cell) in enumerate(zip(self._table.columns, row.cells, strict=True)):
            style = "dim" if row.dim else ""
            style = _STYLES[cell.tone] if isinstance(cell, Word) else style
            indent = "  " if self._grouped and row.group and place == 0 else ""
            texts.append(_plain(indent + column.write(cell), style))
        return texts

    def _block(self, shown: dict[int, int], width: int) -> Iterator[Text]:
        """The lines of some columns, each with its width."""
        headings = {place: _plain(self._table.columns[place].broken, "bold") for place in shown}
        yield from self._lines(headings, shown, at_bottom=True)
        yield Text(" " * _EDGE + "─" * (sum(shown.values()) + _GAP * (len(shown) - 1)))
        rows = zip(self._table.rows, self._texts, strict=True)
        for group, members in groupby(rows, key=lambda one: one[0].group):
            if group:
                for line in _folded(_plain(group, "bold"), width - _EDGE):
                    yield Text(" " * _EDGE) + line
            for row, cells in members:
                if row.apart:
                    yield Text()
                yield from self._lines({place: cells[place] for place in shown}, shown)

    def _lines(
        self, cells: dict[int, Text], shown: dict[int, int], *, at_bottom: bool = False
    ) -> Iterator[Text]:
        folded = {place: _folded(cell, shown[place]) for place, cell in cells.items()}
        height = max(map(len, folded.values()), default=1)
        for number in range(height):
            line = Text(" " * _EDGE)
            for place, width in shown.items():
                parts = folded[place]
                at = number - (height - len(parts) if at_bottom else 0)
                part = parts[at] if 0 <= at < len(parts) else Text()
                spaces = " " * (width - part.cell_len)
                left = self._table.columns[place].from_left
                line += part + Text(spaces) if left else Text(spaces) + part
                line += Text(" " * _GAP)
            line.rstrip()
            yield line


@dataclass(frozen=True, slots=True)
class _Width:
    """Widths of a column, in characters."""

    whole: int
    """Width with nothing folded."""
    least: int
    """Width with all folded, and no word broken."""


def _measure(column: Column, cells: Sequence[str]) -> _Width:
    """Width of a column: headings and words may be folded, figures are not."""
    heading = column.broken.split("\n")
    lines = [line for text in cells for line in text.split("\n")]
    whole = max(map(cell_len, [*heading, *lines]), default=0)
    soft = [*heading, *lines] if column.is_text else heading
    pieces = [piece.group().rstrip() for line in soft for piece in _PIECE.finditer(line)]
    figures = [] if column.is_text else lines
    return _Width(whole, max(map(cell_len, [*pieces, *figures]), default=0))


def _blocks(columns: Sequence[_Width], keys: int, width: int) -> list[dict[int, int]]:
    """The columns of each block, with their widths."""
    room = width - _EDGE
    whole = dict(enumerate(columns))
    if _taken(whole) - _GAP <= room:
        return [_fit(whole, room)]
    first = dict(enumerate(columns[:keys]))
    if _taken(first) + max((one.least for one in columns[keys:]), default=0) > room:
        # Half of the room is for the names; a word of them, or of the others, may be broken.
        share = max(1, room // 2 // keys - _GAP)
        first = {place: _Width(one.whole, min(one.least, share)) for place, one in first.items()}
    left = room - _taken(first)
    blocks: list[dict[int, _Width]] = []
    used = room
    for place, one in enumerate(columns[keys:], start=keys):
        least = max(1, min(one.least, left))
        if not blocks or used + _GAP + least > left:
            blocks.append(dict(first))
            used = -_GAP
        blocks[-1][place] = _Width(max(one.whole, least), least)
        used += _GAP + least
    return [_fit(block, room) for block in blocks or [first]]


def _taken(columns: dict[int, _Width]) -> int:
    """Least width of columns, with the gaps behind them."""
    return sum(one.least + _GAP for one in columns.values())


def _fit(columns: dict[int, _Width], room: int) -> dict[int, int]:
    """Widths that fit into the room, as far as words allow; the widest columns shrink first."""
    widths = {place: one.whole for place, one in columns.items()}
    excess = sum(widths.values()) + _GAP * (len(widths) - 1) - room
    for _ in range(excess):
        soft = [place for place in widths if widths[place] > columns[place].least]
        if not soft:
            break
        widths[max(soft, key=lambda place: widths[place])] -= 1
    return widths


_PIECE = re.compile(r"\s*(?:[^\s/]+/*|/+)\s*")
"""Unbroken piece: a word, or a part of a name with the slash behind it."""


def _folded(text: Text, width: int) -> list[Text]:
    """Lines of a text folded to a width; further lines are indented as the first."""
    lines = []
    for line in text.split("\n", allow_blank=True):
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        indent = indent if indent < width // 2 else 0
        first, *others = line.divide(_breaks(line.plain, width, indent))
        lines += [first, *(Text(" " * indent) + one for one in others)]
    for one in lines:
        one.rstrip()
    return lines


def _breaks(line: str, width: int, indent: int) -> list[int]:
    """Places to break a line, at words where possible."""
    breaks: list[int] = []
    start = 0

    def fits(end: int) -> bool:
        return cell_len(line[start:end].rstrip()) <= width - (indent if breaks else 0)

    for piece in _PIECE.finditer(line):
        if start < piece.start() and not fits(piece.end()):
            start = piece.start()
            breaks.append(start)
        while not fits(piece.end()):
            # A word that is wider than the column is broken where the column ends.
            end = next(
                end for end in range(piece.end(), start, -1) if end == start + 1 or fits(end)
            )
            start = end
            breaks.append(start)
    return breaks
