"""The script that bounds accuracy against all people from votes, and the table that it writes."""

import re
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT
from support.scripts import load_script


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return load_script(ROOT / "benchmarks/vote_noise.py")


def at(bench: ModuleType, rate: float) -> int:
    """Place of the closest rate."""
    return int(np.argmin(np.abs(bench.RATES - rate)))


def test_bounds_of_one_vote_by_hand(bench: ModuleType) -> None:
    """One vote a case, all verdicts safe, .7 of votes safe: only the mean rate is known, .7.

    Right are the cases with a rate above 1/2: at least .4 of them (the others just below 1/2,
    these at 1), and at most all. At a mean of .3 it is none (all at .3) to .6 (these just above
    1/2, the others at 0).
    """
    for rate, ends in ((0.7, (0.4, 1.0)), (0.3, (0.0, 0.6))):
        mixture = np.zeros(2 * len(bench.RATES))
        mixture[len(bench.RATES) + at(bench, rate)] = 1
        found = bench.identified(mixture, 1)
        assert found == pytest.approx(ends, abs=0.02)


def test_likeliest_mixture(bench: ModuleType) -> None:
    """The shares of one vote a case are fitted exactly; two groups of rates 0 and 1 are found."""
    chances = bench.kernel(1)
    counts = np.array([10.0, 20.0, 30.0, 40.0])
    assert chances @ bench.likeliest(counts, chances) == pytest.approx(counts / 100, abs=1e-3)
    counts = np.zeros(42)
    counts[[0, 41]] = 30, 70  # unsafe without safe votes, safe with 20 of 20
    weights = bench.likeliest(counts, bench.kernel(20))
    assert bench.RIGHT @ weights == pytest.approx(1, abs=1e-6)
    assert weights[0] == pytest.approx(0.3, abs=1e-4)


def test_a_mixture_of_a_set_accuracy(bench: ModuleType) -> None:
    """The weights of verdicts that are right sum to what is asked, and it is less likely."""
    counts = np.random.default_rng(0).multinomial(900, bench.kernel(20).mean(axis=1))
    chances = bench.kernel(20)
    best = bench.likeliest(counts.astype(float), chances)
    held = bench.likeliest(counts.astype(float), chances, 0.2)
    assert bench.RIGHT @ held == pytest.approx(0.2)
    assert bench.log_likelihood(counts, chances @ held) < bench.log_likelihood(
        counts, chances @ best
    )


def test_bounds_hold_what_infinitely_many_cases_leave(bench: ModuleType) -> None:
    """The bounds of 900 cases, at their expected counts, go beyond those of infinitely many."""
    shares = bench.beta_shares(2, 2)
    one = bench.world(shares, bench.JUDGES["right in .9 of cases"], 20)
    assert one.accuracy == pytest.approx(0.9)
    low, high = bench.identified(one.mixture, 20)
    found = bench.bounds(np.round(900 * one.cells), 20)
    assert found.low < low < 0.9 < high < found.high
    assert found.high - found.low > 5 * bench.USEFUL


def test_a_judge_fitted_on_the_votes(bench: ModuleType) -> None:
    """Its verdicts turn at 10 of 20 votes, as those of no judge who knows the rates alone do."""
    shares = bench.beta_shares(2, 2)
    one = bench.world(shares, bench.JUDGES["fitted on the votes"], 20)
    assert one.mixture is None
    found = bench.bounds(np.round(900 * one.cells), 20)
    # Of studies of a mixture it is near 25, as the benchmark draws them.
    assert found.misfit > 40


def test_the_appendix_has_the_table(bench: ModuleType) -> None:
    """Bounds hold wherever judges err, are never of use, and fitted judges are always seen."""
    text = bench.DOCS.read_text("utf-8")
    written = text[text.index(bench.BEGIN) : text.index(bench.END)]
    rows = [line.strip("| ").split(" | ") for line in re.findall(r"^\| .*\.\d{3}.*", written, re.M)]
    assert {row[1] for row in rows} == set(bench.JUDGES)
    for _, judge, _, held, width, useful, seen, *ever in rows:
        if judge == "fitted on the votes":
            assert float(seen) >= 0.93
            assert ever == ["none fits", "none fits"]
        else:
            assert float(held) >= 0.93
            assert float(width) > bench.USEFUL
            assert float(useful) == 0
