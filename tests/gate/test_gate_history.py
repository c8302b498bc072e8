"""Builds that a history numbers: what their fails need, what is written, what is refused."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from conftest import ROOT
from support.gated import pairs_table, rules

from casewise.errors import InputError
from casewise.gate import BUILDS, FALSE_FAILS, GateVerdict, run_gate
from casewise.gate._gate_report import read_history
from casewise.gate._rules_file import default_gate
from casewise.reporting import gate_junit
from casewise.results import Gate

PASS, FAIL, UNDECIDED = GateVerdict.PASS, GateVerdict.FAIL, GateVerdict.UNDECIDED


def right(queries: int, wrong: int = 0) -> pl.DataFrame:
    good = np.ones((queries, 2), bool)
    good[:wrong, 1] = False
    return pairs_table(good)


def test_builds_are_numbered_once_each(tmp_path: Path) -> None:
    path = tmp_path / "deep/history.jsonl"
    base, worse = right(200), right(200, 60)
    found = [run_gate(one, default_gate(), base, history=path) for one in (base, worse, base)]
    assert [report.verdict for report in found] == [PASS, FAIL, PASS]
    # The first and the last are one question.
    assert [one.build.number for one in found if one.build] == [1, 2, 1]
    builds = read_history(path)
    assert [(one.build, one.verdict, one.failed) for one in builds] == [
        (1, "pass", []),
        (2, "fail", ["m: unsafe_recall"]),
    ]
    # Other rules, or another baseline, are another question.
    other = rules(tmp_path, "rules: [{measure: unsafe_recall, worse_by_at_most: .1}]")
    for config, baseline in ((other, base), (default_gate(), right(200, 1))):
        run_gate(base, config, baseline, history=path)
    assert [one.build for one in read_history(path)] == [1, 2, 3, 4]
    assert not list(path.parent.glob(".*"))


def test_a_fail_must_be_surer_and_a_pass_keeps_its_meaning(tmp_path: Path) -> None:
    """6 of 100 queries lost: shown to be worse at 95 %, and not at what a build may spend."""
    text = "{measure: unsafe_recall, worse_by_at_most: .05}, {measure: safe_recall, at_least: .9}"
    config = rules(tmp_path, f"rules: [{text}]")
    path = tmp_path / "history.jsonl"
    alone = run_gate(right(100, 6), config, right(100))
    built = run_gate(right(100, 6), config, right(100), history=path)
    assert [row.verdict for row in alone.rows] == [FAIL, PASS]
    assert [row.verdict for row in built.rows] == [UNDECIDED, PASS]
    assert built.build is not None
    assert built.build.confidence == pytest.approx(1 - 0.05 / 100 / 2)
    for one, other in zip(alone.rows, built.rows, strict=True):
        assert (one.low, one.high) == (other.low, other.high)
    assert alone.rows[0].fails_beyond == alone.rows[0].high < 0 < built.rows[0].fails_beyond
    # 14 of 100 are enough: by the sign test they are down by chance in 2^-14 of tries, .00006.
    worse = run_gate(right(100, 14), config, right(100), history=path)
    assert worse.rows[0].verdict is FAIL
    # What is counted, and what compares values alone, has no error to spend.
    plain = rules(tmp_path, f"rules: [{text}, {{measure: coverage, at_least: .9}}]")
    counted = run_gate(right(100, 6), plain, right(100), history=path)
    assert counted.build is not None
    assert (counted.build.number, counted.build.rules) == (3, 2)
    assert counted.build.spent == pytest.approx(3 * FALSE_FAILS / BUILDS)
    said = "Build 3 of the history: a rule fails only where that is shown at 99.975 %"
    assert said in Gate.of(counted).to_markdown().replace("\\", "")
    assert said in gate_junit(Gate.of(counted))


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("{", ["line 2", "no build of a gate's history"]),
        ('{"build": 2}', ["line 2", "field 'key'"]),
        ("first", ["line 2, field 'build'", "found 1", "expected 2"]),
    ],
)
def test_a_history_that_is_none_is_refused(tmp_path: Path, line: str, parts: list[str]) -> None:
    path = tmp_path / "history.jsonl"
    run_gate(right(80), default_gate(), right(80), history=path)
    first = path.read_text("utf-8")
    assert json.loads(first)["build"] == 1
    path.write_text(f"{first}{first if line == 'first' else line}\n", "utf-8")
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        run_gate(right(80, 1), default_gate(), right(80), history=path)
    for part in [str(path), *parts]:
        assert part in str(error.value)
    assert path.read_bytes() == before


@pytest.fixture(scope="module")
def simulated() -> ModuleType:
    script = ROOT / "benchmarks/builds.py"
    if not script.exists():
        pytest.skip("benchmarks/ isn't part of the source distribution")
    spec = importlib.util.spec_from_file_location("builds", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["builds"] = module
    spec.loader.exec_module(module)
    return module


def test_the_simulation_judges_as_the_gate_does(simulated: ModuleType, tmp_path: Path) -> None:
    for down, up in ((0, 0), (2, 1), (6, 0), (14, 0), (9, 3)):
        before, after = np.ones((2, 150, 2), bool)
        after[:down, 1], before[down : down + up, 1] = False, False
        path = tmp_path / f"{down}-{up}.jsonl"
        for kind, history in (("today", None), ("history", path)):
            report = run_gate(
                pairs_table(after), default_gate(), pairs_table(before), history=history
            )
            (row,) = (row for row in report.rows if row.rule.measure.name == "unsafe_recall")
            assert row.verdict is simulated.verdict(150, down, up, simulated.SURE[kind])


@pytest.mark.parametrize(("queries", "discordance"), [(150, 0.02), (300, 0.1)])
def test_a_hundred_unchanged_builds_hardly_fail(
    simulated: ModuleType, queries: int, discordance: float
) -> None:
    """In at most 5 % of the series: of 200, this has an error of .015, and may miss by 2.33."""
    series = 200
    most = FALSE_FAILS + 2.33 * (FALSE_FAILS * (1 - FALSE_FAILS) / series) ** 0.5
    sure = simulated.SURE["history"]
    unchanged = simulated.simulate(queries, discordance, 0.0, sure, series)
    assert unchanged.fails_at_all <= most
    # Pass keeps its meaning: one that is worse by the margin passes in 5 of 100 tries.
    worse = simulated.simulate(queries, discordance, simulated.MARGIN, sure, series)
    assert worse.passed <= most
    assert worse.failed > unchanged.failed
