"""Names in tables are texts: no markup, and no formula."""

import csv
import io
from pathlib import Path

import pytest
from conftest import Cli
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.tables import judgement, table

import casewise as cw

NASTY = "m|x *b* `c` [d](e) ![f](g) <i>h</i> _j_ #1 \\| ~k~ &amp; $l$ \"'"
NAMES = st.text(st.sampled_from("ab |\\`*_[]()<>~&$#!\"'\n\r\t-+1.=@"), max_size=20)


def one_line(text: str) -> str:
    return " ".join(text.split())


@settings(max_examples=15, deadline=None)
@given(NAMES)
@example(NASTY)
@example("1. b")
def test_no_name_is_markdown(name: str) -> None:
    rows = [judgement("q", side, model=f"m{name}") for side in ("safe", "unsafe")]
    text = cw.score(table(*rows)).to_markdown()
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "inline":
            kinds = {child.type for child in token.children or ()}
            assert kinds <= {"text", "text_special", "code_inline", "softbreak"}, kinds
            found.append("".join(child.content for child in token.children or ()))
    assert one_line(f"m{name} (probability)") in found


@pytest.mark.parametrize("name", ["my-model[4bit]", "[/]", "[bold]x", "[link=a]"])
def test_no_name_is_markup_of_the_terminal(cli: Cli, tmp_path: Path, name: str) -> None:
    table(judgement(model=name)).write_parquet(tmp_path / "t.parquet")
    assert name in cli("score", "t.parquet").stdout


def test_no_name_is_a_formula(cli: Cli, tmp_path: Path) -> None:
    names = ["=1+1", "@a", "\t=2", "-x", "'=1"]
    table(*(judgement(model=name, run_id=name) for name in names)).write_parquet(
        tmp_path / "t.parquet"
    )
    text = cli("score", "t.parquet", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    models = [row["model"] for row in rows if not row.get("baseline")]
    assert [name for name in models if name.startswith("'")] == [f"'{name}" for name in names]
