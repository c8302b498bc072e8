"""Tables in HTML: readable without scripts, and on paper."""

import re
from typing import Any

from markupsafe import Markup, escape

from casewise.sheets._table import Table

_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_INLINE = re.compile(r"\A<div id=\"[^\"]*\" style=\"[^\"]*\">")


def to_html(table: Table, id: str) -> Markup:
    """A table without title and note, every text escaped; its style is left to the page.

    Args:
        table: The table.
        id: Of the element; unique on the page.
    """
    # Imported late: they take longer to load than most commands take to run.
    import polars as pl
    from great_tables import GT, html

    names = [f"c{place}" for place in range(len(table.columns))]
    cells = {
        name: [column.write(row.cells[place]) for row in table.rows]
        for place, (name, column) in enumerate(zip(names, table.columns, strict=True))
    }
    heads: dict[str, Any] = {
        name: html(str(escape(column.title)))
        for name, column in zip(names, table.columns, strict=True)
    }
    numbers = [
        name for name, column in zip(names, table.columns, strict=True) if not column.is_text
    ]
    made = GT(pl.DataFrame(cells), id=id).cols_label(heads).cols_align("left")
    text = made.cols_align("right", numbers).as_raw_html()
    # The page's own style serves light, dark and paper.
    return Markup(_INLINE.sub("<div>", _STYLE.sub("", text).lstrip()))


_FOLD = re.compile(r"<details><summary>[^<>]*</summary>|</details>")
"""The only HTML in Markdown that is taken as such: what ``folded`` writes."""


def markdown_to_html(text: str) -> str:
    """Markdown as HTML; what is HTML in it is shown as text, but for parts that are folded."""
    from markdown_it import MarkdownIt

    def shown(_: Any, tokens: Any, place: int, *__: Any) -> str:
        part: str = tokens[place].content.strip()
        return part if _FOLD.fullmatch(part) else str(escape(part))

    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    parser.add_render_rule("html_block", shown)
    parser.add_render_rule("html_inline", lambda *args: str(escape(args[1][args[2]].content)))
    made: str = parser.render(text)
    return made
