"""Tables as Markdown, CSV and JSON.

In Markdown, texts hold nothing that is markup.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rich.console import RenderableType

from casewise.files import csv_text
from casewise.sheets.tables import Table, Tone, Word, terminal

_MARKS = re.compile(r"[\\`*\[\]>|~&$#]|<(?=[\w/!?])|!(?=\[)|(?<![^\W_])_|_(?![^\W_])")
"""Start of emphasis, code, a link, a cell, HTML or a formula; not an underscore within a word,
nor ``<`` before a space."""

_LIST = re.compile(r"^([+-]|\d+[.)])(?=\s)")
"""Mark of a list at the start of a line."""


def escape(text: object) -> str:
    """Text in Markdown on one line, with all markup escaped."""
    plain = _MARKS.sub(lambda match: f"\\{match[0]}", _one_line(str(text)))
    return _LIST.sub(lambda match: f"{match[1][:-1]}\\{match[1][-1]}", plain)


def code_block(text: str, language: str) -> str:
    """Block of code, in a fence that the text can't close."""
    fence = "`" * max([3, *(1 + len(run) for run in re.findall("`+", text))])
    return f"{fence}{language}\n{text}\n{fence}"


def to_markdown(table: Table) -> str:
    """Markdown of a table without title and note."""
    rows = [
        [
            f"**{escape(text)}**"
            if isinstance(cell, Word) and cell.tone is not Tone.GOOD
            else escape(text)
            for cell, text in zip(row.cells, texts, strict=True)
        ]
        for row, texts in zip(table.rows, table.texts, strict=True)
    ]
    head = [escape(column.heading) for column in table.columns]
    rule = "|".join("---" if column.is_text else "---:" for column in table.columns)
    first, *body = (f"| {' | '.join(cells)} |" for cells in (head, *rows))
    return "\n".join([first, f"|{rule}|", *body])


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


def _one_line(text: str) -> str:
    plain = (
        " " if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char for char in text
    )
    return " ".join("".join(plain).split())


def markdown_to_html(text: str) -> str:
    """HTML of Markdown; HTML in it is shown as text."""
    from markdown_it import MarkdownIt

    html: str = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return html


def plain(value: Any) -> Any:
    """Value for JSON: an undefined number (NaN, infinite), or an interval with one, is None."""
    if isinstance(value, float):
        return (value or 0.0) if math.isfinite(value) else None  # without the sign of -0
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        items = [plain(inner) for inner in value]
        is_interval = isinstance(value, tuple) and all(isinstance(item, float) for item in value)
        return None if is_interval and None in items else items
    return value


def to_json(value: object) -> str:
    """Write a JSON document; what is undefined (NaN, infinite) is null."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def json_interval(ends: tuple[float, float]) -> list[float] | None:
    """Both ends, or None where one is undefined."""
    ends_or_none: list[float] | None = plain(ends)
    return ends_or_none


def json_number(number: float) -> float | None:
    """A number, or None where it is undefined or infinite."""
    known: float | None = plain(number)
    return known


def json_fields(result: object, *names: str) -> dict[str, Any]:
    """Fields of a result as JSON values."""
    return {name: plain(getattr(result, name)) for name in names}


def to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Write records as CSV; what is undefined is empty, what has parts is JSON.

    Texts that a spreadsheet might run are guarded.
    """
    names = list(dict.fromkeys(name for record in records for name in record))

    def cell(value: object) -> object:
        return json.dumps(value) if isinstance(value, dict | list) else value

    return csv_text(
        names, ([cell(plain(record.get(name))) for name in names] for record in records)
    )


@dataclass(frozen=True, slots=True)
class Sheet:
    """A result as commands print it; each form is made when it is asked for."""

    terminal: Callable[[], RenderableType]
    markdown: Callable[[], str]
    record: Callable[[], Any]
    """Values for JSON."""

    @property
    def json(self) -> str:
        """A JSON document; what is undefined is null."""
        return to_json(self.record())


Part = Table | Word | str
"""A table, a heading (a word) or a line of text."""


def page(parts: Iterable[Part], record: Callable[[], object]) -> Sheet:
    """Sheet of tables, lines of text and headings below each other.

    Args:
        parts: The parts; a text is plain in every form, and a line end before it is a gap.
        record: Values for JSON.
    """

    @cache
    def shown() -> list[Part]:
        return list(parts)

    def block(part: Part) -> Table | str:
        if isinstance(part, Word):
            return f"**{escape(part.text)}**"
        return escape(part) if isinstance(part, str) else part

    return Sheet(lambda: terminal(*shown()), lambda: markdown(*map(block, shown())), record)
