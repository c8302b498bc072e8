"""Tables: typed columns, which write their values, and rows; and how a terminal shows them.

Numbers are written ``.500``, ``< .001``, ``.41 to .58``; what is unknown or undefined (None, NaN)
is a dash, whatever its kind. On a terminal a table is fitted to its width, with no name or figure
cut.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as Grid
from rich.text import Text

UNDEFINED = "–"
"""Text of an unknown or undefined value."""

SMALLEST_P = 0.001
"""Least p-value that is written as a number; smaller ones are a bound."""

CENT = 0.01
"""Least amount of money with two digits; smaller ones have four, or they would look like 0."""


class IntervalEstimate(Protocol):
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


def estimate(measured: IntervalEstimate | None, digits: int = 3) -> str:
    """Write an estimate and its interval: ``.812 (.771 to .853)``; alone where it has none."""
    if measured is None:
        return UNDEFINED
    text, ends = number(measured.value, digits), interval(measured.interval, digits)
    return text if UNDEFINED in (text, ends) else f"{text} ({ends})"


def count(n: float | None) -> str:
    """Write a whole number, its thousands apart: ``18,900``."""
    return number(n, 0)


def plural(n: int, noun: str) -> str:
    """A count with its noun: ``1 case``, ``2 cases``, ``2 queries``, ``2 people``."""
    if n == 1:
        return f"1 {noun}"
    if noun == "person":
        return f"{count(n)} people"
    has_ies = noun[-1] == "y" and noun[-2] not in "aeiou"
    return f"{count(n)} {noun[:-1]}ies" if has_ies else f"{count(n)} {noun}s"


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
    P_VALUE = "p-value"
    INTERVAL = "interval"
    """A lower and an upper end."""
    ESTIMATE = "estimate"
    """A value with its interval in brackets."""
    MONEY = "money"


_WRITERS: Mapping[Kind, Callable[..., str]] = {
    Kind.TEXT: str,
    Kind.COUNT: count,
    Kind.NUMBER: number,
    Kind.CHANGE: signed,
    Kind.SHARE: number,
    Kind.P_VALUE: p_value,
    Kind.INTERVAL: interval,
    Kind.ESTIMATE: estimate,
    Kind.MONEY: money,
}


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


Cell = str | float | tuple[float, float] | IntervalEstimate | Word | None
"""Value of the column's kind; a text is written as it is in any column."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column."""

    heading: str
    kind: Kind = Kind.TEXT
    digits: int | None = None
    """Digits after the point; None is the kind's usual number."""

    @property
    def is_text(self) -> bool:
        """Tell whether it holds words, or figures with their intervals: from the left."""
        return self.kind in (Kind.TEXT, Kind.ESTIMATE)

    def write(self, cell: Cell) -> str:
        """Write a value of the column."""
        if cell is None:
            return UNDEFINED
        if isinstance(cell, str | Word):
            return cell if isinstance(cell, str) else cell.text
        more = {} if self.digits is None else {"digits": self.digits}
        return _WRITERS[self.kind](cell, **more)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: a cell for each column."""

    cells: Sequence[Cell]
    dim: bool = False
    """True for a row that others are compared with."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    """Note for the reader."""

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

    @property
    def texts(self) -> list[list[str]]:
        """Cells as they are written."""
        return [list(map(Column.write, self.columns, row.cells)) for row in self.rows]


def figures(kind: Kind, *headings: str, digits: int | None = None) -> list[Column]:
    """Columns of one kind."""
    return [Column(heading, kind, digits) for heading in headings]


_GAP = 2
"""Spaces between columns."""

_READABLE = 14
"""Width below which no words are folded."""

_STYLES = {Tone.GOOD: "green", Tone.BAD: "bold red", Tone.DOUBT: "yellow"}


def terminal(*parts: Table | Word | str) -> RenderableType:
    """Renderable of tables and lines of text below each other; tones are colours.

    Nothing is ever cut from a table. Where it doesn't fit, headings and words are folded; then
    the table is, into blocks below each other that repeat its first column.
    """
    return Group(*map(_part, parts))


def _part(part: Table | Word | str) -> RenderableType:
    if isinstance(part, Word):
        return _plain(part.text, _STYLES[part.tone])
    return _plain(part) if isinstance(part, str) else _FittedTable(part)


def _plain(text: str, style: str = "") -> Text:
    """Text without markup and control characters."""
    printable = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
    return Text(printable, style=style, overflow="fold")


@dataclass(frozen=True, slots=True)
class _FittedTable:
    """A table that is laid out for the width it is given."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out for a width."""
        if self.table.title:
            yield _plain(self.table.title, "bold")
        texts = self.table.texts
        for widths in _blocks(self.table, texts, options.max_width - 1):
            yield Text()
            for line in console.render_lines(self._grid(texts, widths), options, pad=False):
                text = Text.assemble(" ", *((piece.text, piece.style or "") for piece in line))
                text.rstrip()
                yield text
        yield Text()
        if self.table.note:
            yield from (_plain(self.table.note, "dim"), Text())

    def _grid(self, texts: Sequence[Sequence[str]], widths: Mapping[int, int]) -> Grid:
        """Some columns, each with its width."""
        grid = Grid(
            box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0)
        )
        for place, width in widths.items():
            column = self.table.columns[place]
            grid.add_column(
                _plain(column.heading),
                width=width,
                justify="left" if column.is_text else "right",
                overflow="fold",
            )
        for row, cells in zip(self.table.rows, texts, strict=True):
            styles = [_STYLES[cell.tone] if isinstance(cell, Word) else "" for cell in row.cells]
            shown = (_plain(cells[place], styles[place]) for place in widths)
            grid.add_row(*shown, style="dim" if row.dim else "")
        return grid


def _blocks(table: Table, texts: Sequence[Sequence[str]], room: int) -> Iterator[dict[int, int]]:
    """Columns of each block, with their widths; the first column is in all."""
    whole, least = {}, {}
    for place, column in enumerate(table.columns):
        cells = [line for row in texts for line in row[place].split("\n")]
        soft = [column.heading, *(cells if column.kind is Kind.TEXT else ())]
        pieces = [word for text in soft for word in text.split()]
        pieces += [] if column.kind is Kind.TEXT else cells
        whole[place] = max(map(cell_len, [column.heading, *cells]))
        least[place] = max(map(cell_len, pieces), default=0)
        if column.kind is Kind.TEXT:
            least[place] = max(least[place], min(whole[place], _READABLE))
        least[place] = max(1, min(least[place], room // 2 - _GAP))
    block: dict[int, int] = {}
    for place in whole:
        if sum(least[column] + _GAP for column in (*block, place)) - _GAP > room:
            yield _fit_widths(block, least, room)
            block = {0: whole[0]}
        block[place] = whole[place]
    yield _fit_widths(block, least, room)


def _fit_widths(widths: Mapping[int, int], least: Mapping[int, int], room: int) -> dict[int, int]:
    """Widths that fit into the room; the widest columns shrink first."""
    fitting = {place: max(width, least[place]) for place, width in widths.items()}
    while sum(width + _GAP for width in fitting.values()) - _GAP > room:
        soft = [place for place in fitting if fitting[place] > least[place]]
        if not soft:
            break
        fitting[max(soft, key=fitting.__getitem__)] -= 1
    return fitting
