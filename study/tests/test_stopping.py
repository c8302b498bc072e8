"""The stopping rule by hand, its properties, and what it does to CASE-Bench's votes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from casewise.statistics import Boundary, IntArray
from casewise_study.statistics.savings import Savings, draw_designs, stopped
from casewise_study.statistics.stopping import chances_first, decided_at

RULE = Boundary()


def test_chances_of_votes_to_be_first_sum_to_the_share() -> None:
    """Cell 0: 4:1 and a late vote; cell 1: 1:1; cell 2: none."""
    cell = np.array([0, 0, 1, 0, 0, 0, 1, 0])
    safe = np.array([1.0, 0, 0, 1, 1, 1, 1, 0])
    rule = Boundary(0.89, 3)
    assert decided_at(rule, cell, safe, 3).tolist() == [5, 0, 0]
    chance, found = chances_first(cell, safe, 3, rule)
    assert chance == pytest.approx([1 / 6, 1 / 3, 0.5, 1 / 6, 1 / 6, 1 / 6, 0.5, 0])
    assert found.safe[:2] == pytest.approx([2 / 3, 1 / 2])
    assert np.isnan(found.safe[2])


def test_savings_by_hand() -> None:
    # 7 votes each: all safe (stops at 5); 5 unsafe, then safe ones (stops at 5, same label,
    # 2/7 off); a split that never stops. 17 of 21 votes.
    full = np.array([[1] * 7, [0] * 5 + [1] * 2, [1, 0, 1, 0, 1, 0, 1]])
    found = replay(full)
    assert replace(found, share_error=0) == Savings(3, 17, 21, 3, 0, 1, 0)
    assert found.share_error == pytest.approx(2 / 7 / 3)
    assert found.saved == 1 - 17 / 21
    # Eleven votes of which the last six turn the label; a tie at ten has no label to change.
    turned = replay(np.array([[1] * 5 + [0] * 6]))
    assert (turned.labels, turned.changed) == (1, 1)
    assert turned.share_error == pytest.approx(6 / 11)
    tie = replay(np.array([[1, 0] * 5]))
    assert (tie.labels, tie.changed, tie.undecided, tie.votes) == (0, 0, 1, 10)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=80),
    st.sampled_from([0.8, 0.95, 0.99]),
    st.integers(1, 8),
)
def test_a_cell_stops_at_its_first_vote_that_decides(
    said: list[tuple[int, bool]], threshold: float, least: int
) -> None:
    rule = Boundary(threshold, least)
    stops = decided_at(rule, [cell for cell, _ in said], [safe for _, safe in said], 5)
    for cell in range(5):
        own = [safe for place, safe in said if place == cell]
        counts = ((n, sum(own[:n])) for n in range(least, len(own) + 1))
        # The share of people on the majority's side is Beta(majority + 1, minority + 1).
        reached = [
            n
            for n, yes in counts
            if beta.cdf(0.5, *sorted((yes + 1, n - yes + 1))[::-1]) <= 1 - threshold
        ]
        assert stops[cell] == (reached[0] if reached else 0)
        # Votes that come later don't reopen it.
        later = decided_at(rule, [*(c for c, _ in said), cell], [*(s for _, s in said), True], 5)
        assert not stops[cell] or later[cell] == stops[cell]


def replay(full: IntArray) -> Savings:
    counts, safe, undecided = stopped(RULE, full)
    return Savings.of(counts, safe, full, undecided)


def orders(votes: IntArray, draws: int) -> list[Savings]:
    return [replay(np.random.default_rng(seed).permuted(votes, axis=1)) for seed in range(draws)]


def test_on_the_votes_of_case_bench(casebench: Path) -> None:
    """In random orders of each case's 20 votes; 808 of 900 cases have a majority."""
    records = json.loads((casebench / "CASEBench_data.json").read_text("utf-8"))
    votes = np.array([[vote == 1 for vote in record["scores"]] for record in records], np.int64)
    found = orders(votes, 20)
    assert {(one.cells, one.fixed, one.labels) for one in found} == {(900, 18000, 808)}
    saved, changed, error = (
        [getattr(one, name) for one in found] for name in ("saved", "changed", "share_error")
    )
    page = " ".join((ROOT / "study/docs/annotation-study.md").read_text("utf-8").split())
    assert f"this saves {np.mean(saved):.0%} of 18,000 votes".replace("%", " %") in page
    assert f"{min(changed)} to {max(changed)} of 808 labels, {np.mean(changed):g} on" in page
    assert f"off by {np.mean(error):.2f} in the mean".replace("0.", ".") in page
    # In the order in which the file has them, too.
    assert replay(votes).saved == pytest.approx(0.369, abs=0.001)


def test_errors_of_designs_by_hand() -> None:
    """Of one mind: 5 votes in place of 21, and nothing is wrong. Of two: every second label."""
    drawn = draw_designs(RULE, [1.0] * 4, 21, seed=1, draws=3)
    fixed, early = drawn.fixed, drawn.sequential
    assert (fixed.votes, early.votes) == (21, 5)
    assert (fixed.labels, fixed.share, early.labels, early.share) == (0, 0, 0, 0)
    assert {one.votes for one in drawn.savings} == {20}
    drawn = draw_designs(RULE, [0.8] * 200, 21, seed=1, draws=20)
    fixed, early = drawn.fixed, drawn.sequential
    assert fixed.share == pytest.approx((0.8 * 0.2 / 21) ** 0.5, rel=0.05)
    assert early.votes < fixed.votes
    assert early.share > fixed.share
    # Means over cells lose less: they have no bias.
    assert early.mean == pytest.approx(early.share / 200**0.5, rel=0.5)
    assert fixed.labels <= early.labels < 0.05
