"""Markdown: tables, and texts in which nothing is markup."""

import html
import re
import unicodedata
from itertools import groupby

from casewise.sheets._table import Cell, Code, Column, Link, Row, Table, Tone, Word

_MARKS = re.compile(r"[\\`*\[\]>|~&$#]|<(?=[\w/!?])|!(?=\[)|(?<![^\W_])_|_(?![^\W_])")
"""What starts emphasis, code, a link, a cell, HTML or a formula; an underscore inside of a word
does not, and neither does ``<`` before a space."""

_LIST = re.compile(r"^([+-]|\d+[.)])(?=\s)")
"""What makes a list at the start of a line."""


def escape(text: object) -> str:
    """A text on one line in which nothing is markup."""
    plain = _MARKS.sub(lambda found: f"\\{found[0]}", _one_line(str(text)))
    return _LIST.sub(lambda found: f"{found[1][:-1]}\\{found[1][-1]}", plain)


def code_block(text: str, language: str) -> str:
    """A text in a fence that it can't close."""
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return f"{fence}{language}\n{text}\n{fence}"


def to_markdown(table: Table) -> str:
    """A table alone, without title and note; groups of rows each under their name."""
    parts = []
    for group, rows in groupby(table.rows, key=lambda row: row.group):
        parts += [f"**{escape(group)}**"] if group else []
        parts.append(_rows(table, list(rows)))
    return "\n\n".join(parts or [_rows(table, [])])


def markdown(*parts: Table | str, level: int = 3) -> str:
    """Tables and paragraphs below each other.

    Args:
        parts: Tables, and texts in Markdown.
        level: Of the tables' headings.
    """
    blocks = []
    for part in parts:
        if isinstance(part, str):
            blocks.append(part.strip("\n"))
            continue
        blocks += [f"{'#' * level} {escape(part.title)}"] if part.title else []
        blocks += [to_markdown(part), *([escape(part.note)] if part.note else [])]
    return "\n\n".join(filter(None, blocks)) + "\n"


def folded(summary: str, text: str) -> str:
    """A part that stands folded until it is opened, under a line of text.

    Args:
        summary: What is seen of it.
        text: In Markdown.
    """
    return f"<details><summary>{html.escape(_one_line(summary))}</summary>\n\n{text}\n\n</details>"


def heading_text(column: Column) -> str:
    """A column's heading in Markdown."""
    return escape(column.title)


def _rows(table: Table, rows: list[Row]) -> str:
    lines = [_line([heading_text(column) for column in table.columns])]
    lines.append("|" + "|".join("---" if one.is_text else "---:" for one in table.columns) + "|")
    lines += [_line(list(map(_cell, table.columns, row.cells))) for row in rows]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: Column, cell: Cell) -> str:
    if isinstance(cell, Code):
        return _code(cell.text)
    text = escape(column.write(cell))
    if isinstance(cell, Link):
        return f"[{text}]({cell.address})"
    return f"**{text}**" if isinstance(cell, Word) and cell.tone is not Tone.GOOD else text


def _code(text: str) -> str:
    """A text as code in a cell: there, alone of all marks, a bar is escaped."""
    line = _one_line(text)
    ticks = "`" * (1 + _longest_ticks(line))
    room = " " if "`" in line else ""
    return f"{ticks}{room}{line}{room}{ticks}".replace("|", "\\|")


def _one_line(text: str) -> str:
    plain = (" " if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") else one for one in text)
    return " ".join("".join(plain).split())


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
