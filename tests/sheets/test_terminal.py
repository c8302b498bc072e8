"""Tables on a terminal: names and figures are whole at every width, and in a pipe."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from casewise.sheets import Column, Kind, Row, Table, figures, terminal

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


def squeezed(lines: list[str]) -> str:
    """All but spaces and rules."""
    return re.sub(r"[\s─]", "", "".join(lines))


def plan() -> Table:
    columns = [
        Column("model"),
        Column("condition"),
        *figures(Kind.COUNT, "requests", "input tokens"),
    ]
    rows = [Row([name, "binary, without recipient", 5600, 2529300]) for name in NAMES]
    return Table(columns, rows, keys=2)


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
