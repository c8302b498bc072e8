"""How each kind of number is written: ``.500``, ``< .001``, ``.41 to .58``.

What is unknown or undefined (None, NaN) is a dash, whatever its kind.
"""

import math
from typing import Protocol

UNDEFINED = "–"
"""How an unknown or undefined value is written."""

SMALLEST_P = 0.001
"""Below it a p-value is written as a bound."""

CENT = 0.01
"""Amounts of money below it are written with four digits, so that they don't look like nothing."""


class Measured(Protocol):
    """An estimate and its 95 % interval."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def interval(self) -> tuple[float, float]:
        """Its lower and upper end; NaN where unknown."""


def number(value: float | None, digits: int = 3) -> str:
    """Write a number, or a share in 0..1, as the field prints it: ``.500``, ``-1.250``.

    Per cent and seconds keep the zero before the point.
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return _without_zero(f"{value:z,.{digits}f}")


def _without_zero(text: str) -> str:
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def setting(value: float) -> str:
    """Write a number that a person chose, in as few digits as it has: ``.05``, ``-.5``, ``6``."""
    return _without_zero(f"{value:zg}")


def signed(value: float | None, digits: int = 3) -> str:
    """Write a change with its sign, unless it rounds to 0: ``+.041``."""
    text = number(value, digits)
    return f"+{text}" if value is not None and value > 0 and text.strip(".0") else text


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share in 0..1 as per cent: ``81.2 %``."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{100 * value:z,.{digits}f} %"


def p_value(p: float | None) -> str:
    """Write a p-value with three digits, small ones as a bound: ``.049``, ``< .001``."""
    if p is None or math.isnan(p):
        return UNDEFINED
    return f"< {number(SMALLEST_P)}" if p < SMALLEST_P else number(p)


def interval(ends: tuple[float, float] | None, digits: int = 3, *, with_signs: bool = False) -> str:
    """Write an interval: ``.41 to .58``; a dash where an end is undefined."""
    if ends is None or any(map(math.isnan, ends)):
        return UNDEFINED
    write = signed if with_signs else number
    return " to ".join(write(end, digits) for end in ends)


def estimate(found: Measured | None, digits: int = 3, *, with_signs: bool = False) -> str:
    """Write an estimate and its interval: ``.812 (.771 to .853)``; alone where it has none."""
    if found is None:
        return UNDEFINED
    text = (signed if with_signs else number)(found.value, digits)
    ends = interval(found.interval, digits, with_signs=with_signs)
    return text if UNDEFINED in (text, ends) else f"{text} ({ends})"


def margin(found: Measured | None, digits: int = 3) -> str:
    """Write an estimate and half the width of its interval: ``.812 ±.041``."""
    if found is None:
        return UNDEFINED
    text = number(found.value, digits)
    low, high = found.interval
    half = number((high - low) / 2, digits)
    return text if UNDEFINED in (text, half) else f"{text} ±{half}"


def count(n: float | None) -> str:
    """Write a whole number, its thousands apart: ``18,900``."""
    return number(n, 0)


def money(amount: float | None, currency: str = "") -> str:
    """Write an amount with two digits, below a cent with four: ``$3.20``, ``12.50 EUR``."""
    if amount is None or math.isnan(amount):
        return UNDEFINED
    digits = 4 if 0 < abs(amount) < CENT else 2
    text = f"{abs(amount):,.{digits}f}"
    sign = "-" if amount < 0 and text.strip("0.,") else ""
    if currency in ("", "$"):
        return f"{sign}{currency}{text}"
    return f"{sign}{text} {currency}"


def seconds(value: float | None, digits: int = 0) -> str:
    """Write a time in seconds: ``12 s``."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{value:z,.{digits}f} s"
