"""Tables on a terminal: names and figures are whole at every width."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from casewise.reporting import PlainTable, plain_table

NAMES = (
    "openai-api/local/my-model",
    "openai-api/local/my-cautious",
    "openai-api/local/my-model-large-instruct",
)
WORDS = st.text(st.sampled_from("ab/- 1\u5b57[]"), min_size=1, max_size=30).filter(str.strip)


def shown(table: PlainTable, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


def squeezed(lines: list[str]) -> str:
    """All but spaces and rules."""
    return re.sub(r"[\s─]", "", "".join(lines))


def scores() -> PlainTable:
    table = plain_table("Scores", ["", "n", "accu-\nracy", "recall\nsafe", "PCC", "Brier"])
    for name in NAMES:
        table.add_row(name)
        table.add_row("  probability", "1200", "1.000", ".757", "-.579", "10.543")
    return table


def plan() -> PlainTable:
    table = PlainTable("", keys=2)
    for head in ("model", "condition"):
        table.add_column(head)
    for head in ("requests", "input tokens"):
        table.add_column(head, right=True)
    for name in NAMES:
        table.add_row(name, "binary, without recipient", "5,600", "~2,529,300")
    return table


def matrix() -> PlainTable:
    table = PlainTable("")
    for place, head in enumerate(("condition", *NAMES)):
        table.add_column(head, right=place > 0)
    table.add_row("binary", "done", "failed, 3 of 56", "not begun")
    return table


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("make", [scores, plan, matrix])
def test_nothing_is_cut_and_nothing_sticks_out(make: Callable[[], PlainTable], width: int) -> None:
    lines = shown(make(), width)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    text = squeezed(lines)
    for name in NAMES if make is scores else ():
        assert name in text
    for figure in {scores: ("-.579", "10.543"), plan: ("5,600", "~2,529,300"), matrix: ("56",)}[
        make
    ]:
        assert figure in text


@pytest.mark.parametrize("width", [60, 80, 200])
def test_headings_of_rows_are_on_one_line(width: int) -> None:
    lines = [line.strip() for line in shown(scores(), width)]
    for name in NAMES:
        assert name in lines


def test_names_are_folded_after_slashes_and_columns_of_figures_are_not() -> None:
    lines = shown(plan(), 70)
    assert lines[3].split() == ["openai-api/local/", "binary,", "without", "5,600", "~2,529,300"]
    assert lines[4].split() == ["my-model", "recipient"]
    assert [line.split()[:1] for line in shown(matrix(), 60) if "done" in line] == [["binary"]]


def test_a_table_that_does_not_fit_is_folded_with_its_names() -> None:
    lines = shown(scores(), 40)
    rows = [line.split() for line in lines if line.startswith("   probability")]
    assert rows[0] == ["probability", "1200", "1.000", ".757"]
    assert rows[3] == ["probability", "-.579", "10.543"]
    assert len(rows) == 6
    assert [line.strip() for line in lines].count(NAMES[1]) == 2


def test_a_wide_one_has_a_line_a_row() -> None:
    assert "  openai-api/local/my-model  " in f"  {shown(plan(), 200)[3]}"
    assert len([line for line in shown(plan(), 10_000) if "binary, without recipient" in line]) == 3


def test_text_is_no_markup() -> None:
    table = plain_table("[bold]", ["", "n"])
    table.add_row("my-model[4bit]", "[/]")
    text = "".join(shown(table, 80))
    assert "[bold]" in text
    assert "my-model[4bit]  [/]" in text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=3), st.integers(12, 90))
def test_every_character_is_there(rows: list[tuple[str, str, str]], width: int) -> None:
    table = PlainTable("")
    for _ in range(3):
        table.add_column("")
    for row in rows:
        table.add_row(*row)
    lines = shown(table, width)
    console = Console(width=width)
    assert all(console.measure(line).maximum <= width for line in lines if "[" not in line)
    # The first column stands once in each block, the others once.
    text = sorted(squeezed(lines))
    whole = sorted(squeezed([cell for row in rows for cell in row]))
    blocks = sum("─" in line for line in lines)
    again = sorted(squeezed([row[0] for row in rows]) * (blocks - 1))
    assert text == sorted([*whole, *again])
