"""Tables on a terminal: fitted to its width, with no name or figure cut."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from casewise.sheets._table import Column, Row, Table, Tone, Word

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
        headings = {place: _plain(self._table.columns[place].heading, "bold") for place in shown}
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
    heading = column.heading.split("\n")
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
