"""Tables as Markdown, HTML, CSV and JSON.

In Markdown, texts hold nothing that is markup. HTML is readable without scripts, and on paper.
"""

import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

import markupsafe
from rich.console import RenderableType

from casewise.files import csv_text
from casewise.sheets._table import (
    Cell,
    Code,
    Column,
    Kind,
    Link,
    Row,
    Table,
    Tone,
    Word,
    terminal,
)

_MARKS = re.compile(r"[\\`*\[\]>|~&$#]|<(?=[\w/!?])|!(?=\[)|(?<![^\W_])_|_(?![^\W_])")
"""Start of emphasis, code, a link, a cell, HTML or a formula; not an underscore within a word,
nor ``<`` before a space."""

_LIST = re.compile(r"^([+-]|\d+[.)])(?=\s)")
"""Mark of a list at the start of a line."""


def escape(text: object) -> str:
    """Text in Markdown on one line, with all markup escaped."""
    plain = _MARKS.sub(lambda found: f"\\{found[0]}", _one_line(str(text)))
    return _LIST.sub(lambda found: f"{found[1][:-1]}\\{found[1][-1]}", plain)


def code_block(text: str, language: str) -> str:
    """Block of code, in a fence that the text can't close."""
    fence = "`" * max(3, 1 + _longest_ticks(text))
    return f"{fence}{language}\n{text}\n{fence}"


def to_markdown(table: Table) -> str:
    """Markdown of a table without title and note; groups apart, or named in a first column."""
    if table.groups:
        columns = [Column(table.groups), *table.columns]
        return _rows(Table(columns, [Row([row.group, *row.cells]) for row in table.rows]))
    parts = []
    for group, rows in groupby(table.rows, key=lambda row: row.group):
        parts += [f"**{escape(group)}**"] if group else []
        parts.append(_rows(replace(table, rows=list(rows))))
    return "\n\n".join(parts or [_rows(table)])


def markdown(*parts: Table | str) -> str:
    """Tables, each under its title as a heading, and paragraphs of Markdown."""
    blocks = []
    for part in parts:
        if isinstance(part, str):
            blocks.append(part.strip("\n"))
            continue
        title, note = escape(part.title), escape(part.note)
        blocks += [title and f"### {title}", to_markdown(part), note]
    return "\n\n".join(filter(None, blocks)) + "\n"


def folded(summary: str, text: str) -> str:
    """Part of a page that is folded under a line of text until it is opened.

    Args:
        summary: The line of text.
        text: The part, in Markdown.
    """
    return f"<details><summary>{html.escape(_one_line(summary))}</summary>\n\n{text}\n\n</details>"


def _rows(table: Table) -> str:
    lines = [
        [escape(column.title) for column in table.columns],
        *(map(_markdown_cell, table.columns, row.cells) for row in table.rows),
    ]
    head, *body = (f"| {' | '.join(cells)} |" for cells in lines)
    rule = "|".join("---" if column.is_text else "---:" for column in table.columns)
    return "\n".join([head, f"|{rule}|", *body])


def _markdown_cell(column: Column, cell: Cell) -> str:
    if isinstance(cell, Code):
        return _code(cell.text)
    text = escape(column.write(cell))
    if isinstance(cell, Link):
        return f"[{text}]({cell.address})"
    return f"**{text}**" if isinstance(cell, Word) and cell.tone is not Tone.GOOD else text


def _code(text: str) -> str:
    """Code in a cell of Markdown, where only a bar is escaped."""
    line = _one_line(text)
    ticks = "`" * (1 + _longest_ticks(line))
    room = " " if "`" in line else ""
    return f"{ticks}{room}{line}{room}{ticks}".replace("|", "\\|")


def _one_line(text: str) -> str:
    plain = (" " if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") else one for one in text)
    return " ".join("".join(plain).split())


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def to_html(table: Table, id: str) -> markupsafe.Markup:
    """HTML of a table without title, note and style; every text is escaped.

    Args:
        table: The table.
        id: Id of the element; unique on the page.
    """

    def line(tag: str, texts: Iterable[str | markupsafe.Markup]) -> markupsafe.Markup:
        cells = map(partial(_html_cell, tag), table.columns, texts)
        return markupsafe.Markup("<tr>{}</tr>").format(markupsafe.Markup("").join(cells))

    head = line("th", [column.title for column in table.columns])
    rows = (line("td", map(_html_text, table.columns, row.cells)) for row in table.rows)
    return markupsafe.Markup(
        '<table id="{}" class="figures">\n<thead>\n{}\n</thead>\n<tbody>\n{}\n</tbody>\n</table>'
    ).format(id, head, markupsafe.Markup("\n").join(rows))


def _html_text(column: Column, cell: Cell) -> str | markupsafe.Markup:
    text = column.write(cell)
    if not isinstance(cell, Link):
        return text
    return markupsafe.Markup('<a href="{}">{}</a>').format(cell.address, text)


def _html_cell(tag: str, column: Column, text: str) -> markupsafe.Markup:
    name = "date" if column.kind is Kind.DATE else "number"
    kind = "" if column.is_text else f' class="{name}"'
    scope = ' scope="col"' if tag == "th" else ""
    return markupsafe.Markup(f"<{tag}{kind}{scope}>{{}}</{tag}>").format(text)


_FOLD = re.compile(r"<details><summary>[^<>]*</summary>|</details>")
"""HTML that ``folded`` writes, the only HTML that Markdown keeps."""


def markdown_to_html(text: str) -> str:
    """HTML of Markdown; HTML in it is shown as text, except folded parts."""
    from markdown_it import MarkdownIt

    def shown(_: Any, tokens: Any, place: int, *__: Any) -> str:
        part: str = tokens[place].content.strip()
        return part if _FOLD.fullmatch(part) else str(markupsafe.escape(part))

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.add_render_rule("html_block", shown)
    parser.add_render_rule(
        "html_inline", lambda *args: str(markupsafe.escape(args[1][args[2]].content))
    )
    made: str = parser.render(text)
    return made


def to_json(value: object) -> str:
    """Write a JSON document; what is undefined (NaN, infinite) is null."""
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A result as commands print it; each form is made when it is asked for."""

    terminal: Callable[[], RenderableType]
    markdown: Callable[[], str]
    record: Callable[[], object]
    """Values for JSON."""

    @property
    def json(self) -> str:
        """A JSON document; what is undefined is null."""
        return to_json(self.record())


def page(parts: Sequence[Table | Word | str], record: Callable[[], object]) -> Sheet:
    """Sheet of tables, lines of text and headings (words) below each other.

    Args:
        parts: The parts; a text is plain in every form, and a line end before it is a gap.
        record: Values for JSON.
    """

    def block(part: Table | Word | str) -> Table | str:
        if isinstance(part, Word):
            return f"**{escape(part.text)}**"
        return escape(part) if isinstance(part, str) else part

    return Sheet(lambda: terminal(*parts), lambda: markdown(*map(block, parts)), record)


def to_records(table: Table) -> list[dict[str, Any]]:
    """Rows of a table as records; an interval is two values."""
    return [
        {
            name: value
            for column, cell in zip(table.columns, row.cells, strict=True)
            for name, value in _fields(column, cell).items()
        }
        for row in table.rows
    ]


def to_csv(table: Table) -> str:
    """Write a table as CSV; what is undefined is empty, what has parts is JSON.

    Groups, title and note are left out; texts that a spreadsheet might run are guarded.
    """
    records = to_records(table)
    names = list(dict.fromkeys(name for one in records for name in one))
    return csv_text(names, ([_csv_cell(one.get(name)) for name in names] for one in records))


def _fields(column: Column, cell: Any) -> dict[str, Any]:
    name = column.key or column.title
    if isinstance(cell, Word | Code | Link):
        return {name: cell.text}
    if column.kind is Kind.INTERVAL and not isinstance(cell, str):
        low, high = cell or (None, None)
        return {f"{name}_low": _finite(low), f"{name}_high": _finite(high)}
    if column.kind is Kind.ESTIMATE and not isinstance(cell, str):
        value, (low, high) = (
            (cell.value, cell.interval) if cell is not None else (None, (None, None))
        )
        return {
            name: _finite(value),
            f"{name}_low": _finite(low),
            f"{name}_high": _finite(high),
        }
    return {name: _finite(cell)}


def _csv_cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _finite(value: Any) -> Any:
    """Value with None for every undefined number in it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def json_interval(ends: tuple[float, float]) -> list[float] | None:
    """Both ends, or None where one is undefined."""
    return list(ends) if all(map(math.isfinite, ends)) else None


def json_number(number: float) -> float | None:
    """A number, or None where it is undefined or infinite."""
    if number == 0:
        return abs(number)  # without the sign of -0
    return number if math.isfinite(number) else None


def json_fields(result: object, *names: str) -> dict[str, Any]:
    """Fields of a result as JSON values; undefined numbers and intervals are None."""
    return {name: _json_value(getattr(result, name)) for name in names}


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, tuple):
        ends = len(value) == 2 and all(isinstance(end, float) for end in value)
        return json_interval(value) if ends else list(value)
    return value
