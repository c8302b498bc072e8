"""Tables on a terminal: as wide as it is, and never at the price of a name or a figure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_GAP = 2
"""Spaces between columns."""

_EDGE = 1
"""Spaces left of a table."""


@dataclass(frozen=True, slots=True)
class _Column:
    head: str
    """Lines are parted by line ends."""
    right: bool
    wraps: bool
    """Whether cells and head may be folded at spaces and after slashes."""


class PlainTable:
    """A table in the house's style, which nothing is ever cut from.

    Where it doesn't fit, columns of words are folded, at spaces and after slashes; then the table
    is, into blocks below each other that repeat its first columns. A row of one cell is a heading
    of the rows below it, and as wide as the table.
    """

    def __init__(self, heading: str, *, keys: int = 1) -> None:
        """An empty table.

        Args:
            heading: What stands above it.
            keys: How many of the first columns say what a row is about.
        """
        self._heading = heading
        self._keys = keys
        self._columns: list[_Column] = []
        self._rows: list[tuple[Text, ...]] = []

    def add_column(self, head: str, *, right: bool = False, wraps: bool = True) -> None:
        """Add a column right of the others."""
        self._columns.append(_Column(head, right, wraps))

    def add_row(self, *cells: str | Text) -> None:
        """Add a row; text is shown as it is. One cell alone is a heading of rows."""
        self._rows.append(tuple(Text(one) if isinstance(one, str) else one for one in cells))

    def add_section(self) -> None:
        """Part the rows by an empty line."""
        self._rows.append(())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out for a width."""
        if self._heading:
            yield Text(self._heading, style="bold")
        for shown in _blocks(self._measured(), self._keys, options.max_width):
            yield Text()
            yield from self._block(shown, options.max_width)
        yield Text()

    def _measured(self) -> list["_Width"]:
        rows = [row for row in self._rows if len(row) > 1]
        return [
            _measure(column, [row[place].plain for row in rows if place < len(row)])
            for place, column in enumerate(self._columns)
        ]

    def _block(self, shown: dict[int, int], width: int) -> Iterator[Text]:
        """The lines of some columns, each with its width."""
        heads = {place: Text(self._columns[place].head, style="bold") for place in shown}
        yield from self._lines(heads, shown, at_bottom=True)
        yield Text(" " * _EDGE + "─" * (sum(shown.values()) + _GAP * (len(shown) - 1)))
        for row in self._rows:
            if len(row) == 1 < len(self._columns):
                for line in _folded(row[0], width - _EDGE):
                    yield Text(" " * _EDGE) + line
            else:
                cells = {place: row[place] for place in shown if place < len(row)}
                yield from self._lines(cells, shown)

    def _lines(
        self, cells: dict[int, Text], shown: dict[int, int], *, at_bottom: bool = False
    ) -> Iterator[Text]:
        folded = {place: _folded(cell, shown[place]) for place, cell in cells.items()}
        height = max(map(len, folded.values()), default=1)
        for number in range(height):
            line = Text(" " * _EDGE)
            for place, width in shown.items():
                parts = folded.get(place, [])
                at = number - (height - len(parts) if at_bottom else 0)
                part = parts[at] if 0 <= at < len(parts) else Text()
                spaces = " " * (width - part.cell_len)
                line += Text(spaces) + part if self._columns[place].right else part + Text(spaces)
                line += Text(" " * _GAP)
            line.rstrip()
            yield line


def plain_table(heading: str, heads: Sequence[str]) -> PlainTable:
    """An empty table in the house's style: the first column is text, the others numbers."""
    table = PlainTable(heading)
    table.add_column(heads[0])
    for head in heads[1:]:
        table.add_column(head, right=True, wraps=False)
    return table


@dataclass(frozen=True, slots=True)
class _Width:
    """Characters that a column takes."""

    whole: int
    """With nothing folded."""
    least: int
    """With all folded, and no word broken."""


def _measure(column: _Column, cells: Sequence[str]) -> _Width:
    lines = [line for text in (column.head, *cells) for line in text.split("\n")]
    whole = max(map(cell_len, lines), default=0)
    if not column.wraps:
        return _Width(whole, whole)
    pieces = [piece.group().rstrip() for line in lines for piece in _PIECE.finditer(line)]
    return _Width(whole, max(map(cell_len, pieces), default=0))


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
    """What columns take at least, with the gaps behind them."""
    return sum(one.least + _GAP for one in columns.values())


def _fit(columns: dict[int, _Width], room: int) -> dict[int, int]:
    """Widths that fill no more than the room; the widest columns give way first."""
    widths = {place: one.whole for place, one in columns.items()}
    excess = sum(widths.values()) + _GAP * (len(widths) - 1) - room
    for _ in range(excess):
        soft = [place for place in widths if widths[place] > columns[place].least]
        if not soft:
            break
        widths[max(soft, key=lambda place: widths[place])] -= 1
    return widths


_PIECE = re.compile(r"\s*(?:[^\s/]+/*|/+)\s*")
"""What is not broken if it can be helped: a word, or a part of a name with the slash behind it."""


def _folded(text: Text, width: int) -> list[Text]:
    """The lines of a text that is folded to a width; further lines are indented as the first."""
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
    """Where to break a line."""
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
