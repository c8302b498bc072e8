"""Charts of two axes: places by hand arithmetic, names that lie on nothing, every panel drawn."""

import pytest

from casewise.reporting.page._plots import (
    MOST_PANELS,
    Axis,
    Dot,
    Panel,
    Plots,
    Word,
    axis_of,
    count_axis,
    draw,
    share_axis,
)

SHARES = share_axis("share")


def words(dots: list[Dot], kind: str) -> list[Word]:
    (panel,) = draw(Plots(SHARES, SHARES, [Panel("", dots)])).panels
    return [one for one in panel.words if one.kind == kind]


def test_places_are_in_per_cent_from_the_upper_left() -> None:
    dot = Dot(0.2, 0.75, "words", (0.1, 0.4), (0.5, 1.1))
    (panel,) = draw(Plots(SHARES, SHARES, [Panel("title", [dot])])).panels
    assert (panel.dots[0].x, panel.dots[0].y) == (20, 25)
    across, up = (one for one in panel.strokes if one.kind == "span")
    assert (across.x1, across.y1, across.x2, across.y2) == (10, 25, 40, 25)
    # An interval that passes the end of the axis ends there.
    assert (up.x1, up.y1, up.x2, up.y2) == (20, 50, 20, 0)
    assert Axis("", [(-1, ""), (3, "")]).place(0) == 25


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0.1, [0, 2, 4, 6, 8, 10]),
        (0.2, [0, 5, 10, 15, 20]),
        (0.3, [0, 10, 20, 30]),
        (0.5, [0, 10, 20, 30, 40, 50]),
        (0.7, [0, 20, 40, 60, 80]),
        (1, [0, 20, 40, 60, 80, 100]),
    ],
)
def test_ticks_of_shares_are_whole_per_cents(most: float, ticks: list[int]) -> None:
    assert [name for _, name in share_axis("", most).ticks] == [f"{one} %" for one in ticks]


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(0, [0, 1]), (5, [0, 1, 2, 3, 4, 5]), (30, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30])],
)
def test_counts_stand_at_their_distances(most: int, ticks: list[int]) -> None:
    assert [int(name) for _, name in count_axis("turn", most).ticks] == ticks


def test_a_dot_without_an_interval_has_none() -> None:
    (panel,) = draw(Plots(SHARES, SHARES, [Panel("", [Dot(0.5, 0.5, "")])])).panels
    assert {one.kind for one in panel.strokes} == {"grid"}


@pytest.mark.parametrize("stepped", [False, True])
def test_a_line_joins_dots_in_their_order(stepped: bool) -> None:
    dots = [Dot(0, 1, ""), Dot(1, 0.5, "")]
    axis = axis_of("step", ["a", "b"])
    (panel,) = draw(Plots(axis, SHARES, [Panel("", dots, joined=True, stepped=stepped)])).panels
    lines = [(one.x1, one.y1, one.x2, one.y2) for one in panel.strokes if one.kind == "curve"]
    assert lines == ([(0, 0, 100, 0), (100, 0, 100, 50)] if stepped else [(0, 0, 100, 50)])


def test_names_stand_beside_their_dots_and_lie_on_nothing() -> None:
    """Two dots at one place, and one apart: to the right, to the left, to the right."""
    dots = [Dot(0.5, 0.5, "", label=name) for name in ("one", "two")]
    found = words([*dots, Dot(0.1, 0.1, "", label="three")], "wide")
    assert [(one.text, one.anchor, one.dy) for one in found] == [
        ("one", "start", -6),
        ("two", "end", -6),
        ("three", "start", -6),
    ]


def test_a_name_that_finds_no_room_is_left_to_the_table() -> None:
    crowd = [Dot(0.5, 0.5, "", label=f"a long name {n}") for n in range(9)]
    assert len(words(crowd, "wide")) == 4
    long = [Dot(0.5, 0.5, "", label="x" * 40)]
    # 40 letters of 7.2 pixels are 288: too many for 260, and for neither half of 560.
    assert words(long, "narrow") == []
    assert len(words([Dot(0.1, 0.5, "", label="x" * 40)], "wide")) == 1


def test_a_count_that_would_lie_on_its_neighbour_stands_higher() -> None:
    dots = [Dot(x, 0.5, "", above=str(n)) for x, n in ((0.1, 120), (0.15, 436), (0.5, 9))]
    heights = {one.text: one.dy for one in words(dots, "tick") if one.y == 0 and one.dy < 0}
    assert heights == {"120": -10, "436": -23, "9": -10}


def test_panels_beyond_the_limit_are_counted() -> None:
    drawing = draw(Plots(SHARES, SHARES, [Panel(str(n), []) for n in range(MOST_PANELS + 3)]))
    assert (len(drawing.panels), drawing.left_out) == (MOST_PANELS, 3)


def test_a_dot_leads_to_the_cases_of_its_row() -> None:
    dots = [Dot(0.5, 0.5, "", row={"run": 1}), Dot(0.5, 0.5, "")]
    plots = Plots(SHARES, SHARES, [Panel("", dots)])
    (panel,) = draw(plots, lambda row: f"#run={row['run']}").panels
    assert [dot.link for dot in panel.dots] == ["#run=1", ""]


def test_ticks_stand_under_their_lines_and_names_on_no_tick() -> None:
    (panel,) = draw(Plots(SHARES, SHARES, [Panel("", [Dot(0, 0, "", label="m")])])).panels
    ticks = [one for one in panel.words if one.kind == "tick" and one.dy == 16]
    assert {one.anchor for one in ticks} == {"middle"}
    # A name below the corner's dot would lie on the tick 0 %.
    assert {one.dy for one in panel.words if one.text == "m"} == {-6}
    days = Axis("", [(0, "2026-01-01"), (1, "2026-02-01")])
    (panel,) = draw(Plots(days, SHARES, [Panel("", [])])).panels
    assert [one.anchor for one in panel.words if one.dy == 16] == ["start", "end"]
