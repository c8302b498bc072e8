"""How each kind of number is written; what is undefined is a dash whatever its kind."""

import math
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.sheets import (
    Cell,
    Column,
    Kind,
    count,
    estimate,
    interval,
    money,
    number,
    p_value,
    percent,
    rounded,
    seconds,
    signed,
)

FINITE = st.floats(-1e9, 1e9)
SHARES = st.floats(0, 1)
NAN = math.nan


@dataclass(frozen=True)
class Found:
    value: float
    interval: tuple[float, float]


def read(text: str) -> float:
    return float(re.sub(r"[^0-9.eE-]", "", text))


@given(FINITE, st.integers(0, 6))
def test_a_number_is_within_half_a_unit_of_what_is_written(value: float, digits: int) -> None:
    for write in (number, signed):
        text = write(value, digits)
        assert abs(read(text) - value) <= 0.5000001 * 10**-digits + 1e-6
        assert not re.match(r"[+-]?0\.", text)
        assert text.strip("-+") == text.lstrip("-+")
        assert text not in ("-0", "-.0", "-.000")


@pytest.mark.parametrize(
    ("value", "digits", "found"),
    [
        # Binary fractions, whose halves are exact: 1/8, 3/8, 1/16, 5/2.
        (0.125, 2, 0.13),
        (2.5, 0, 3),
        (-2.5, 0, -3),
        # Halves of ten, which floats miss: 1.005 is stored as 1.00499..., 1 - .975 as .02500...02.
        (1.005, 2, 1.01),
        (1 - 0.975, 2, 0.03),
        # No half.
        (0.1249, 2, 0.12),
        (-0.4, 0, 0),
    ],
)
def test_halves_go_away_from_zero(value: float, digits: int, found: float) -> None:
    assert rounded(value, digits) == found
    assert read(number(value, digits)) == found


@given(SHARES)
def test_p_values_are_bounded_by_what_is_written(p: float) -> None:
    text = p_value(p)
    if text.startswith("< "):
        assert p < read(text)
    else:
        assert abs(read(text) - p) <= 0.0005000001
        assert read(text) > 0


@given(FINITE, FINITE)
def test_intervals_hold_both_ends(low: float, high: float) -> None:
    first, second = interval((low, high), 2).split(" to ")
    assert abs(read(first) - low) <= 0.0051
    assert abs(read(second) - high) <= 0.0051


@given(st.floats(0, 1e9))
def test_money_that_is_spent_is_never_nothing(amount: float) -> None:
    text = money(amount, "$")
    assert abs(read(text) - amount) <= 0.0051
    assert amount < 0.00005 or read(text) > 0


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (number(1), "1.000"),
        (number(-0.5), "-.500"),
        (number(-1e-9), ".000"),
        (number(math.inf), "∞"),
        (number(1234.5, 1), "1,234.5"),
        (signed(-0.041), "-.041"),
        (percent(0.8125), "81.3 %"),
        (p_value(0.0009), "< .001"),
        (interval((0.41, 0.58), 2), ".41 to .58"),
        (interval((-0.41, 0.58), with_signs=True), "-.410 to +.580"),
        (estimate(Found(0.812, (0.771, 0.853))), ".812 (.771 to .853)"),
        (estimate(Found(0.812, (NAN, NAN))), ".812"),
        (count(18900), "18,900"),
        (money(3.2, "$"), "$3.20"),
        (money(0.0012, "$"), "$0.0012"),
        (money(1234.5, "GBP"), "1,234.50 GBP"),
        (seconds(12.4), "12 s"),
    ],
)
def test_one_way_for_each(text: str, written: str) -> None:
    assert text == written


@pytest.mark.parametrize("kind", Kind)
def test_unknown_is_a_dash_in_every_kind(kind: Kind) -> None:
    assert Column("", kind).write(None) == "–"
    undefined: Cell = NAN
    if kind is Kind.INTERVAL:
        undefined = (NAN, NAN)
    elif kind is Kind.ESTIMATE:
        undefined = Found(NAN, (NAN, NAN))
    if kind not in (Kind.TEXT, Kind.DATE):  # Both are written as they are.
        assert Column("", kind).write(undefined) == "–"
    assert Column("", kind).write("12 of 20") == "12 of 20"
