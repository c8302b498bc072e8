"""The simulation of corrected rates on real confusions, and the tables that it writes."""

import importlib.util
import re
import sys
from types import ModuleType

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "rates_bench", ROOT / "benchmarks/grader_rates.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables(bench: ModuleType) -> list[list[dict[str, str]]]:
    """The rows of both tables of the document, by heading; the second ``held`` is of the change."""
    page = (ROOT / "docs/method/statistics-appendix.md").read_text("utf-8")
    text = page.split(bench.BEGIN)[1].split(bench.END)[0]
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines()]
        heads = [f"{head} {lines[0][:n].count(head)}" for n, head in enumerate(lines[0])]
        found.append([dict(zip(heads, line, strict=True)) for line in lines[2:]])
    return found


def test_published_coverage_is_within_93_to_97(
    tables: list[list[dict[str, str]]], bench: ModuleType
) -> None:
    elsewhere, part = tables
    rates = {(row["grader 0"], row["labels 0"], float(row["true rate 0"])) for row in elsewhere}
    graders = ("rules", "GPT-4")
    assert rates == {(grader, "100", rate) for grader in graders for rate in bench.SHOWN_RATES}
    for row in elsewhere:
        assert 0.93 <= float(row["held 0"]) <= 0.97
        assert 0.93 <= float(row["held 1"]) <= 0.97
    assert len(part) == 3 * len(bench.RATE_NAMES)
    for row in part:
        assert float(row["held 0"]) >= 0.93
        assert float(row["held anew 0"]) >= 0.93
        # Rates of so few replies in 200 have no bound to speak of: 44 of them are labelled.
        if "under" not in row["rate 0"]:
            assert float(row["width 0"]) <= 1.14 * float(row["bound 0"])
            assert float(row["width 0"]) <= 1.01 * float(row["labels alone 0"])
