"""The table behind a chart: readable without scripts, and on paper."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
from great_tables import GT, html
from markupsafe import Markup, escape

from casewise.reporting._scores import number
from casewise.reporting.page._section import Kind, Section

MOST_ROWS = 500
"""Of a table on the page; the download holds all."""

_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_INLINE = re.compile(r"\A<div id=\"[^\"]*\" style=\"[^\"]*\">")


def section_table(section: Section) -> Markup:
    """A section's rows as an HTML table; empty without columns or rows."""
    if not section.columns or not section.rows:
        return Markup("")
    rows = section.rows[:MOST_ROWS]
    cells = {
        f"c{place}": [_cell(row.get(column.key), column.kind) for row in rows]
        for place, column in enumerate(section.columns)
    }
    heads: dict[str, Any] = {
        f"c{place}": html(str(escape(column.head))) for place, column in enumerate(section.columns)
    }
    table = GT(pl.DataFrame(cells), id=f"table-{section.id}")
    table = table.cols_label(heads).cols_align("left")
    numbers = [f"c{n}" for n, column in enumerate(section.columns) if column.kind != "text"]
    return _bare(table.cols_align("right", numbers).as_raw_html())


def _bare(text: str) -> Markup:
    """The table without its own style: the page's serves light, dark and paper."""
    return Markup(_INLINE.sub("<div>", _STYLE.sub("", text).lstrip()))


_FORMATS: Mapping[Kind, Callable[[Any], str]] = {
    "text": str,
    "number": lambda value: number(float(value)),
    "share": lambda value: f"{number(100 * float(value), 1)} %".replace("– %", "–"),
    "count": lambda value: f"{value:z,.0f}",
}


def _cell(value: Any, kind: Kind) -> str:
    return "–" if value is None else _FORMATS[kind](value)
