"""The simulation of coverage, and the table that it writes."""

import importlib.util
import re
import sys
from collections import Counter
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT

from casewise.choices import Family
from casewise.measures import compared, measures, outcomes, scored


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_bench", ROOT / "benchmarks/coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def published() -> set[str]:
    """Every measure with an interval that ``score`` and ``compare`` print, but those of pairs."""
    of_pairs = {row.name for row in measures() if Family.PAIRS in row.of}
    pairs = [set(outcomes(family)) for family in Family]
    both = (pairs[0] & pairs[1]) | {"follows", "false_changes"}
    shared = {f"{name} (replies)" for name in both}
    scores = {*(row.name for row in scored()), *shared} - of_pairs
    changes = {*compared(), *pairs[0], *pairs[1], *shared} - of_pairs
    gains = {f"context_gain.{side}" for side in ("all", "safe", "unsafe")} | {"spoofing_gap"}
    curves = {"escalation", "shapley"}
    return scores | {f"change of {name}" for name in changes} | gains | curves


def test_the_table_counts_every_published_measure_and_none_fails(coverage: ModuleType) -> None:
    text = coverage.DOCS.read_text("utf-8")
    table = text[text.index(coverage.BEGIN) : text.index(coverage.END)]
    rows = re.findall(r"^\| ([a-z][^|]+) \| (\d+) \| (.+) \|$", table, re.M)
    assert {kind: int(n) for kind, n, _ in rows} == Counter(map(coverage.kind_of, published()))
    found = re.search(r"populations, (\d+) studies each", table)
    assert found is not None
    draws = int(found[1])
    for _, _, row in rows:
        cells = row.split(" | ")
        assert len(cells) == len(coverage.SIZES)
        for cell in cells:
            if cell == "withheld":
                continue
            number, name = cell.split(" `")
            held, *more = number.split(" ")
            assert float(held) >= coverage.LEAST, name
            # What comes near the bound rests on more studies; nothing else may.
            assert more in ([], [f"({coverage.MORE * draws})"]), name
            assert more or float(held) >= coverage.NEAR, name


def test_a_study_gives_every_figure(coverage: ModuleType) -> None:
    found = coverage.intervals(coverage.POPULATIONS[0], 40, np.random.default_rng(1))
    assert {re.sub(r", turn \d", "", name) for name in found} == published()
    for name, (value, low, high) in found.items():
        if low == low:
            assert low <= value <= high, name
