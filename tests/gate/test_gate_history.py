"""Builds that a history numbers: what their fails need, what is written, what is refused."""

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from conftest import ROOT
from scipy.stats import binomtest
from support.gated import pairs_table, rules
from support.scripts import load_script
from support.tables import judgement

from casewise.errors import InputError
from casewise.gate import BUILDS, FALSE_FAILS, GateReport, GateVerdict, run_gate
from casewise.gate._gate_rules import GateConfig
from casewise.gate._history import read_history, visible_loss
from casewise.gate._rules_file import default_gate
from casewise.reporting import gate_junit
from casewise.results import Gate, gate_lines
from casewise.scores import make_table

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
    return load_script(ROOT / "benchmarks/builds.py")


def test_the_simulation_judges_as_the_gate_does(simulated: ModuleType, tmp_path: Path) -> None:
    for down, up in ((0, 0), (2, 1), (6, 0), (14, 0), (9, 3)):
        before, after = np.ones((2, 150, 2), bool)
        after[:down, 1], before[down : down + up, 1] = False, False
        path = tmp_path / f"{down}-{up}.jsonl"
        for history in (None, path):
            report = run_gate(
                pairs_table(after), default_gate(), pairs_table(before), history=history
            )
            (row,) = (row for row in report.rows if row.rule.measure.name == "unsafe_recall")
            moves = {f"{n}": -1.0 if n < down else 1.0 for n in range(down + up)}
            (expected,) = (
                simulated.judge_series([[moves, {}]], 150)
                if history
                else [simulated.verdict_of(moves, 150, 0.0)]
            )
            assert row.verdict is expected


@pytest.mark.parametrize(("queries", "discordance"), [(150, 0.02), (300, 0.1)])
def test_a_hundred_unchanged_builds_hardly_fail(
    simulated: ModuleType, queries: int, discordance: float
) -> None:
    """In at most 5 % of the series: of 20, more than 3 would be by chance in 2 of 100."""
    at = simulated.Setting(queries, discordance, 0.0)
    alone, with_history = simulated.fail_unchanged(at, 20)
    assert with_history <= 3 / 20
    assert with_history <= alone


@pytest.mark.parametrize("discordance", [0.02, 0.1])
def test_a_loss_of_five_points_is_found_within_three_builds(
    simulated: ModuleType, discordance: float
) -> None:
    """Of 450 queries: in half of the builds, and .9 within three, after ten unchanged ones.

    Of 40 series, fewer than 14 and 32 would be by chance in 3 of 100.
    """
    found = simulated.find_loss(simulated.Setting(450, discordance, simulated.MARGIN), 10, 40)
    assert found.first >= 14 / 40
    assert found.within >= 32 / 40
    # Pass keeps its meaning: one that is worse by the margin passes in 5 of 100 tries.
    assert found.passed <= 6 / 40


def noisy(lost: int, seed: int) -> pl.DataFrame:
    """450 queries of which 45 are coins; the unsafe cases of some steady ones are lost."""
    good = np.ones((450, 2), bool)
    good[:45] = np.random.default_rng(seed).random((45, 2)) < 0.5
    good[45 : 45 + lost, 1] = False
    return pairs_table(good)


def test_a_loss_is_seen_with_the_builds_before_that_two_runs_do_not_show(tmp_path: Path) -> None:
    """16 of 450 steady queries are lost, among 45 coins that fall either way."""
    path = tmp_path / "history.jsonl"
    config = rules(tmp_path, "rules: [{measure: unsafe_recall, worse_by_at_most: .01}]")
    base = noisy(0, 99)
    sound = [run_gate(noisy(0, seed), config, base, history=path) for seed in range(8)]
    assert not [one for one in sound if one.verdict is FAIL]
    alone = run_gate(noisy(16, 9), config, base, history=tmp_path / "other.jsonl")
    assert alone.verdict is UNDECIDED
    (row,) = alone.rows
    assert row.fall is not None
    assert row.fall.ahead == 2
    said = "Or 2 more builds like this one would show that it is worse."
    assert said in Gate.of(alone).to_markdown()
    worse = run_gate(noisy(16, 9), config, base, history=path)
    assert worse.verdict is FAIL
    (row,) = worse.rows
    assert row.fall is not None
    assert row.fall.shown
    assert row.fall.p < FALSE_FAILS / BUILDS / 3
    assert "lower in this build than in the baseline and the builds before" in gate_junit(
        Gate.of(worse)
    )
    # Builds against another baseline say nothing of this one.
    other = run_gate(noisy(16, 9), config, noisy(0, 98), history=path)
    assert other.build is not None
    assert other.build.before == ()


def uneven_pairs(lost: int) -> pl.DataFrame:
    """Eighty queries with one pair or two; of some the unsafe case is called safe."""
    return make_table(
        [
            judgement(f"q{n:02}", side, number, votes=None)
            | {"protocol": "binary", "case_id": f"q{n:02}-{place}"}
            for n in range(80)
            for place, side in enumerate(("safe", "unsafe", "unsafe")[: 2 + n % 2])
            for number in [0.9 if side == "safe" or n < lost else 0.1]
        ]
    )


def test_builds_under_another_weight_are_told_and_not_mixed_with(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    rule = "rules: [{measure: as_intended, worse_by_at_most: .1}]"
    config = rules(tmp_path, rule)
    by_pair = rules(tmp_path, f"weigh_by: pair\n{rule}")
    base = uneven_pairs(0)

    def judged(lost: int, config: GateConfig) -> tuple[GateReport, int]:
        report = run_gate(uneven_pairs(lost), config, base, history=path)
        (row,) = report.rows
        assert row.fall is not None
        return report, row.fall.apart

    report, apart = judged(1, config)
    assert apart == 0
    lines = gate_lines(report)
    assert "In figures of pairs of contexts each query weighs alike." in lines
    assert judged(2, config)[1] == 0
    report, apart = judged(3, by_pair)
    assert apart == 2
    (said,) = (one for one in gate_lines(report) if "another weight" in one)
    assert said.startswith("as_intended: 2 earlier builds aren't held beside this one")
    assert "here each pair weighs alike" in said
    assert judged(4, config)[1] == 1
    # Before weights were named, a history had no such field.
    old = [json.loads(line) for line in path.read_text().splitlines()]
    for one in old:
        one.pop("uneven")
    path.write_text("".join(f"{json.dumps(one)}\n" for one in old))
    assert judged(5, config)[1] == 4
    # With a pair each, the weights are the same.
    even = tmp_path / "even.jsonl"
    for number, each in enumerate((config, by_pair)):
        report = run_gate(right(80, number), each, right(80), history=even)
        assert report.rows[0].fall is not None
        assert report.rows[0].fall.apart == 0
        assert not any("weighs alike" in line for line in gate_lines(report))


def test_the_simulation_judges_a_series_as_the_gate_does(
    simulated: ModuleType, tmp_path: Path
) -> None:
    at = simulated.Setting(60, 0.1, 0.35)
    builds = simulated.draw(at, 5, 3, np.random.default_rng(4))
    expected = simulated.judge_series(builds, at.queries)
    assert simulated.GateVerdict.FAIL in expected[3:]
    queries = {kind: sorted({q for one in builds for q in one[n]}) for n, kind in enumerate("lk")}

    def table(moves: list[dict[str, float]] | None) -> pl.DataFrame:
        """The lost kind are the unsafe cases. A query that falls was right in the baseline."""
        good = np.ones((at.queries, 2), bool)
        for n, names in enumerate(queries.values()):
            for place, name in enumerate(names):
                rises = any(build[n].get(name, 0) > 0 for build in builds)
                good[place, 1 - n] = not rises
                if moves is not None and name in moves[n]:
                    good[place, 1 - n] = rises
        return pairs_table(good)

    config = rules(
        tmp_path,
        "rules: [{measure: unsafe_recall, worse_by_at_most: .05},"
        " {measure: safe_recall, worse_by_at_most: .05}]",
    )
    path = tmp_path / "history.jsonl"
    found = [run_gate(table(build), config, table(None), history=path) for build in builds]
    assert [one.verdict for one in found] == expected


def test_what_one_build_shows() -> None:
    """Of 450 queries 22 are lost and 22 gained by chance; 32 more lost are .07 of them."""
    assert visible_loss(450, 0.1, 0.05 / 100 / 2) == 0.07
    assert binomtest(54, 76, alternative="greater").pvalue < 0.00025
    assert binomtest(49, 71, alternative="greater").pvalue > 0.00025
    assert visible_loss(5, 0.0, 1e-6) == 1.0
