"""Tables, how each kind of number in them is written, and what they are rendered to."""

from casewise.sheets._data import json_interval, json_number, to_csv, to_json, to_records
from casewise.sheets._html import markdown_to_html, to_html
from casewise.sheets._markdown import (
    code_block,
    escape,
    folded,
    heading_text,
    markdown,
    to_markdown,
)
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
    setting,
    signed,
)
from casewise.sheets._table import Cell, Code, Column, Kind, Link, Row, Table, Tone, Word, figures
from casewise.sheets._terminal import terminal

__all__ = [
    "UNDEFINED",
    "Cell",
    "Code",
    "Column",
    "Kind",
    "Link",
    "Measured",
    "Row",
    "Table",
    "Tone",
    "Word",
    "code_block",
    "count",
    "escape",
    "estimate",
    "figures",
    "folded",
    "heading_text",
    "interval",
    "json_interval",
    "json_number",
    "margin",
    "markdown",
    "markdown_to_html",
    "money",
    "number",
    "p_value",
    "percent",
    "seconds",
    "setting",
    "signed",
    "terminal",
    "to_csv",
    "to_html",
    "to_json",
    "to_markdown",
    "to_records",
]
