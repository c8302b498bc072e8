"""Frames and dictionaries in and out of the front door, and errors that name a row."""

from typing import Any

import polars as pl
import pytest

import casewise as cw
from casewise.errors import InputError

ROWS: list[dict[str, Any]] = [
    {"ask": "May I sing?", "fine": "yes", "who": {"role": "a guest"}, "n": 2, "share": None},
    {"ask": "May I shout?", "fine": "no", "who": {"role": "a host"}, "n": 3, "share": 0.25},
]
MAPPING = {
    "query": "ask",
    "id": "n",
    "intended": {"column": "fine", "safe": ["yes"], "unsafe": ["no"]},
    "context.recipient.role": "who.role",
    "published_safe_rate": "share",
    "source": {"constant": "us"},
    "licence": {"constant": "CC0-1.0"},
}
FORMS = ("dictionaries", "polars")


def made(form: str, rows: list[dict[str, Any]]) -> Any:
    return pl.DataFrame(rows) if form == "polars" else rows


@pytest.mark.parametrize("form", FORMS)
def test_every_frame_gives_the_same_cases(form: str) -> None:
    cases = cw.load_cases(made(form, ROWS), MAPPING)
    assert [case.id for case in cases] == ["2", "3"]
    assert [case.intended for case in cases] == ["safe", "unsafe"]
    assert [case.published_safe_rate for case in cases] == [None, 0.25]
    assert cases[0].context is not None
    assert cases[0].context.root == {"recipient": {"role": "a guest"}}
    assert cases.hash == cw.load_cases(ROWS, MAPPING).hash


@pytest.mark.parametrize("form", FORMS)
def test_cases_come_back_from_every_frame(form: str) -> None:
    starter = cw.load_cases("starter")
    flat = starter.to_polars().to_dicts()
    assert cw.load_cases(made(form, flat)).hash == starter.hash
    assert cw.load_cases(starter.to_dicts()).hash == starter.hash
    assert cw.load_cases(starter) is starter


@pytest.mark.parametrize("form", FORMS)
def test_a_bad_row_is_named(form: str) -> None:
    rows = [*ROWS, ROWS[1] | {"ask": "May I go?", "n": 4, "share": 7.5}]
    with pytest.raises(InputError) as caught:
        cw.load_cases(made(form, rows), MAPPING)
    assert "row 3, field 'published_safe_rate'" in str(caught.value)
    assert "column 'share' (found 7.5" in str(caught.value)
    with pytest.raises(
        InputError, match=r"row 1, field 'qery': unknown field .* did you mean 'query'"
    ):
        cw.load_cases(made(form, [{"qery": "Why?"}]))


def test_what_has_no_rows_is_named() -> None:
    with pytest.raises(InputError, match=r"expected dictionaries: frame.to_dict"):
        cw.load_cases({"a": 1}, MAPPING)
