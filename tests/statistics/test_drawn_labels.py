"""Rates corrected by labels as ``casewise graders sample`` draws them, simulated and real."""

import re
from types import ModuleType

import pytest
from conftest import ROOT
from support.scripts import load_script


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_script(ROOT / "benchmarks/drawn_labels.py")


@pytest.fixture(scope="module")
def rows(bench: ModuleType) -> list[dict[str, str]]:
    """The rows of the document's table."""
    page = (ROOT / "docs/method/statistics-appendix.md").read_text("utf-8")
    text = page.split(bench.BEGIN)[1].split(bench.END)[0]
    lines = [line.strip("|").split("|") for line in re.findall(r"^\|.*$", text, re.MULTILINE)]
    heads, _, *cells = [[cell.strip() for cell in line] for line in lines]
    return [dict(zip(heads, line, strict=True)) for line in cells]


def test_published_intervals_hold(rows: list[dict[str, str]], bench: ModuleType) -> None:
    assert {float(row["true rate"]) for row in rows[1:]} == {bench.SHOWN}
    assert {one.name for one in bench.GRADERS} < {row["replies, grader"] for row in rows}
    for row in rows:
        assert float(row["held"]) >= 0.93
        # No bias: within .002 of rare and .01 of common rates.
        room = 0.002 + 0.016 * min(float(row["true rate"]), 1 - float(row["true rate"]))
        assert float(row["corrected"]) == pytest.approx(float(row["true rate"]), abs=room)


def test_a_rare_rate_is_nearer_than_as_graded(rows: list[dict[str, str]]) -> None:
    first = rows[0]
    assert (first["replies, grader"], first["labels"], first["true rate"]) == (
        *("right in .99", "100", ".020"),
    )
    assert float(first["error corrected"]) <= float(first["error as graded"])
