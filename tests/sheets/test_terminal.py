"""Tables on a terminal: names and figures are whole at every width, and in a pipe."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from casewise.sheets import Column, Kind, Row, Table, Tone, Word, figures, terminal

NAMES = (
    "openai-api/local/my-model",
    "openai-api/local/my-cautious",
    "openai-api/local/my-model-large-instruct",
)
PIPE = 10_000
WORDS = st.text(st.sampled_from("ab/- 1\u5b57[]"), min_size=1, max_size=30).filter(str.strip)


def shown(*parts: Table | str, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(terminal(*parts))
    return capture.get().splitlines()


def colours(renderable: RenderableType) -> str:
    console = Console(width=80, force_terminal=True, color_system="standard")
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def squeezed(lines: list[str]) -> str:
    """All but spaces and rules."""
    return re.sub(r"[\s─]", "", "".join(lines))


def scores() -> Table:
    heads = ("accu-\nracy", "recall\nsafe", "PCC", "Brier")
    rows = [Row(["probability", 1200, 1.0, 0.757, -0.579, 10.543], group=name) for name in NAMES]
    columns = [Column(""), Column("n", Kind.COUNT), *figures(Kind.NUMBER, *heads)]
    return Table(columns, rows, "Scores")


def plan() -> Table:
    columns = [
        Column("model"),
        Column("condition"),
        *figures(Kind.COUNT, "requests", "input tokens"),
    ]
    rows = [Row([name, "binary, without recipient", 5600, 2529300]) for name in NAMES]
    return Table(columns, rows, keys=2)


def matrix() -> Table:
    columns = [Column("condition"), *map(Column, NAMES)]
    return Table(columns, [Row(["binary", "done", "failed, 3 of 56", "not begun"])])


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200, PIPE])
@pytest.mark.parametrize("make", [scores, plan, matrix])
def test_nothing_is_cut_and_nothing_sticks_out(make: Callable[[], Table], width: int) -> None:
    lines = shown(make(), width=width)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    text = squeezed(lines)
    for name in NAMES if make is scores else ():
        assert name in text
    for figure in {scores: ("-.579", "10.543"), plan: ("5,600", "2,529,300"), matrix: ("56",)}[
        make
    ]:
        assert figure in text


def names_in(lines: list[str]) -> list[str]:
    """The first column, its folded lines put together."""
    start = next(place for place, line in enumerate(lines) if line.startswith(" ─"))
    names: list[str] = []
    for line in lines[start + 1 :]:
        cell = re.split(r"\s{2,}", line[1:])[0] if line.startswith(" ") else ""
        if cell and names and names[-1].endswith("/"):
            names[-1] += cell
        elif cell:
            names.append(cell)
    return names


@pytest.mark.parametrize("width", [60, 80, 200, PIPE])
def test_names_with_a_long_common_beginning_stay_apart(width: int) -> None:
    """Two names are never shown alike: what doesn't fit goes on below."""
    assert names_in(shown(plan(), width=width))[:3] == list(NAMES)


def test_a_table_that_does_not_fit_is_folded_with_its_names() -> None:
    lines = shown(scores(), width=40)
    rows = [line.split() for line in lines if line.startswith("   probability")]
    assert rows[0] == ["probability", "1,200", "1.000", ".757"]
    assert rows[3] == ["probability", "-.579", "10.543"]
    assert len(rows) == 6
    assert [line.strip() for line in lines].count(NAMES[1]) == 2


def test_a_wide_one_has_a_line_a_row() -> None:
    assert "  openai-api/local/my-model  " in f"  {shown(plan(), width=200)[3]}"
    lines = shown(plan(), width=PIPE)
    assert len([line for line in lines if "binary, without recipient" in line]) == 3


def test_text_is_no_markup_and_steers_no_terminal() -> None:
    rows = [Row(["my-model[4bit]", "[/]"]), Row(["\x1b[31mred\x07", "[bold]x"], group="[link=a]")]
    table = Table([Column("[i]"), Column("n", Kind.COUNT)], rows, "[bold]", "[dim]\x9b2J")
    text = "\n".join(shown(table, "[blink] as it is", width=80))
    for part in (
        "[bold]\n",
        "[i]",
        "my-model[4bit]",
        "[/]",
        "[bold]x",
        "[link=a]",
        "[blink] as it is",
    ):
        assert part in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_tones_are_colours_and_groups_of_rows_are_indented() -> None:
    rows = [
        Row(["one", Word("fail", Tone.BAD)], group="run"),
        Row(["two", Word("pass", Tone.GOOD)], group="run", dim=True),
        Row(["all", ""], apart=True),
    ]
    table = Table([Column(""), Column("verdict")], rows)
    assert "\x1b[1;31mfail" in colours(terminal(table))
    assert shown(table, width=60)[3:] == [" run", "   one  fail", "   two  pass", "", " all", ""]


def test_a_note_stands_below() -> None:
    table = Table([Column("a")], [Row(["b"])], "Title", "What to know.")
    assert shown(table, "After.", width=60) == [
        *("Title", "", " a", " ─", " b", "", "What to know.", "", "After.")
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=3), st.integers(12, 90))
def test_every_character_is_there(rows: list[tuple[str, str, str]], width: int) -> None:
    table = Table([Column("")] * 3, list(map(Row, rows)))
    lines = shown(table, width=width)
    console = Console(width=width)
    assert all(console.measure(line).maximum <= width for line in lines if "[" not in line)
    # The first column stands once in each block, the others once.
    text = sorted(squeezed(lines))
    whole = sorted(squeezed([cell for row in rows for cell in row]))
    blocks = sum("─" in line for line in lines)
    again = sorted(squeezed([row[0] for row in rows]) * (blocks - 1))
    assert text == sorted([*whole, *again])
