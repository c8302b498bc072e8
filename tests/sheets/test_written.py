"""Tables as Markdown, HTML, CSV and JSON: no text of theirs is markup, or a formula."""

import csv
import io
import json
import math
from html.parser import HTMLParser

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from casewise.files import guard_cell, unguard_cell
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Table,
    markdown,
    to_csv,
    to_html,
    to_json,
    to_markdown,
)

NASTY = "m|x *b* `c` [d](e) ![f](g) <i>h</i> _j_ #1 \\| ~k~ &amp; $l$ \"'"
TEXTS = st.text(st.sampled_from("ab |\\`*_[]()<>~&$#!\"'\n\r\t-+1.=@"), max_size=20)


def cells_of(text: str) -> list[str]:
    """What a reader of Markdown sees in a table's cells."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "inline":
            kinds = {child.type for child in token.children or ()}
            assert kinds <= {"text", "text_special", "code_inline", "strong_open", "strong_close"}
            found.append("".join(child.content for child in token.children or ()))
    return found


class Seen(HTMLParser):
    """What a browser sees: tags and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def one_line(text: str) -> str:
    return " ".join(text.split())


@settings(max_examples=200)
@given(TEXTS, TEXTS)
@example(NASTY, NASTY)
@example("- a", "1. b")
def test_no_text_is_markdown(one: str, other: str) -> None:
    table = Table([Column("a"), Column("n", Kind.COUNT)], [Row([one, other]), Row(["end", 1])])
    assert cells_of(to_markdown(table)) == ["a", "n", one_line(one), one_line(other), "end", "1"]


def test_a_table_in_markdown() -> None:
    rows = [
        Row(["one", 1200, 0.5, 0.0001, (0.41, 0.58)]),
        Row(["two", None, math.nan, 0.2, None]),
    ]
    columns = [
        Column(""),
        Column("n", Kind.COUNT),
        Column("accu-\nracy", Kind.SHARE),
        Column("p", Kind.P_VALUE),
        Column("95 %", Kind.INTERVAL, 2),
    ]
    assert markdown(Table(columns, rows, "Scores | all", "Note_."), "Last.") == (
        "### Scores \\| all\n\n"
        "|  | n | accuracy | p | 95 % |\n"
        "|---|---:|---:|---:|---:|\n"
        "| one | 1,200 | .500 | < .001 | .41 to .58 |\n"
        "| two | – | – | .200 | – |\n\n"
        "Note\\_.\n\nLast.\n"
    )


@settings(max_examples=25, deadline=None)
@given(TEXTS)
@example("<script>alert(1)</script> & \"x\" 'y'")
def test_no_text_is_html(text: str) -> None:
    table = Table([Column(text), Column("n", Kind.SHARE)], [Row([text, 0.5])])
    parser = Seen()
    parser.feed(to_html(table, "t"))
    parser.close()
    assert parser.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert (
        "".join("".join(parser.texts).split()).count("".join(text.split())) >= 2 or not text.strip()
    )
    assert ".500" in parser.texts


@given(st.lists(TEXTS, min_size=1, max_size=5))
@example(["=1+1", "@a", "\t=2", "-1", "- x"])
def test_csv_guards_every_text_and_gives_it_back(texts: list[str]) -> None:
    table = Table([Column("a text"), Column("n", Kind.COUNT)], [Row([one, 1]) for one in texts])
    rows = list(csv.reader(io.StringIO(to_csv(table), newline="")))
    assert rows[0] == ["a text", "n"]
    assert [unguard_cell(row[0]) for row in rows[1:]] == texts
    assert [row[0] for row in rows[1:]] == [guard_cell(one) for one in texts]


def test_json_has_null_for_what_is_undefined() -> None:
    text = to_json({"a": math.nan, "b": [math.inf, 1.5], "c": ("é", True, None)})
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "c": ["é", True, None]}
    assert text.endswith("}\n")
    assert "é" in text
