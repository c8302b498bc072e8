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
from support.planned import a_plan, a_study, pairs

from casewise.statistics import Boundary, IntArray, Savings, draw_designs, posterior, replay
from casewise_study.study.schema import Study

RULE = Boundary()


def test_the_posterior_by_hand() -> None:
    # No vote: one toss shows at most no head in half of the cases.
    assert posterior(0, 0) == 0.5
    # One vote: the mean of 2p over (1/2, 1) is 3/4.
    assert posterior(1, 0) == 0.75
    # Unanimous: 1 - (1/2)^(n + 1).
    assert posterior(4, 0) == 31 / 32
    # 5 to 1: of 7 tosses at most 5 heads, 1 - (7 + 1)/128.
    assert posterior(5, 1) == 120 / 128
    # As the integral of Beta(12, 6) above 1/2.
    assert posterior(11, 5) == pytest.approx(beta.sf(0.5, 12, 6))


def test_the_smallest_majority_that_decides() -> None:
    # 5:0 (63/64), 6:0; 6:1 (.965) but not 5:1 (.9375); 7:1; 8:2 (.967); of 4 and fewer none.
    assert RULE.majorities(10)[4:].tolist() == [5, 5, 6, 6, 7, 8, 8]
    assert Boundary(least=1).majorities(5).tolist() == [1, 2, 3, 4, 4, 5]


def test_where_cells_stop() -> None:
    # Cell 0 is unanimous and gets a vote more; cell 1 has 4:1, then 5:1, then 6:1; cell 2 has 2:2.
    said = [(0, 1)] * 5 + [(1, 0)] * 4 + [(2, 1), (2, 0), (1, 1), (2, 0), (2, 1)]
    said += [(1, 0), (0, 0), (1, 0), (1, 1)]
    cell, safe = zip(*said, strict=True)
    assert RULE.stops(cell, safe, 4).tolist() == [5, 7, 0, 0]
    assert RULE.stops([], [], 2).tolist() == [0, 0]


def test_savings_by_hand() -> None:
    # 7 votes each: all safe (stops at 5); 5 unsafe, then safe ones (stops at 5, same label,
    # 2/7 off); a split that never stops. 17 of 21 votes.
    full = np.array([[1] * 7, [0] * 5 + [1] * 2, [1, 0, 1, 0, 1, 0, 1]])
    found = replay(RULE, full)
    assert replace(found, share_error=0) == Savings(3, 17, 21, 3, 0, 1, 0)
    assert found.share_error == pytest.approx(2 / 7 / 3)
    assert found.saved == 1 - 17 / 21
    # Eleven votes of which the last six turn the label; a tie at ten has no label to change.
    turned = replay(RULE, np.array([[1] * 5 + [0] * 6]))
    assert (turned.labels, turned.changed) == (1, 1)
    assert turned.share_error == pytest.approx(6 / 11)
    tie = replay(RULE, np.array([[1, 0] * 5]))
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
    stops = rule.stops([cell for cell, _ in said], [safe for _, safe in said], 5)
    for cell in range(5):
        own = [safe for place, safe in said if place == cell]
        counts = ((n, sum(own[:n])) for n in range(least, len(own) + 1))
        reached = [
            n for n, yes in counts if posterior(max(yes, n - yes), min(yes, n - yes)) >= threshold
        ]
        assert stops[cell] == (reached[0] if reached else 0)
        # Votes that come later don't reopen it.
        later = rule.stops([*(c for c, _ in said), cell], [*(s for _, s in said), True], 5)
        assert not stops[cell] or later[cell] == stops[cell]


def orders(votes: IntArray, draws: int) -> list[Savings]:
    return [
        replay(RULE, np.random.default_rng(seed).permuted(votes, axis=1)) for seed in range(draws)
    ]


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
    assert replay(RULE, votes).saved == pytest.approx(0.369, abs=0.001)


def test_expected_savings_know_their_seed_and_the_people() -> None:
    sure, split = (draw_designs(RULE, [p] * 50, 21, seed=3, draws=4).savings for p in (1.0, 0.5))
    assert {one.votes for one in sure} == {250}
    assert all(one.saved < 0.5 and one.undecided > 10 for one in split)
    again, other = (
        draw_designs(RULE, [0.5] * 50, 21, seed=seed, draws=4).savings for seed in (3, 4)
    )
    assert split == again
    assert split != other


def test_errors_of_designs_by_hand() -> None:
    """Of one mind: 5 votes in place of 21, and nothing is wrong. Of two: every second label."""
    drawn = draw_designs(RULE, [1.0] * 4, 21, seed=1, draws=3)
    fixed, early = drawn.fixed, drawn.sequential
    assert (fixed.votes, early.votes) == (21, 5)
    assert (fixed.labels, fixed.share, early.labels, early.share) == (0, 0, 0, 0)
    drawn = draw_designs(RULE, [0.8] * 200, 21, seed=1, draws=20)
    fixed, early = drawn.fixed, drawn.sequential
    assert fixed.share == pytest.approx((0.8 * 0.2 / 21) ** 0.5, rel=0.05)
    assert early.votes < fixed.votes
    assert early.share > fixed.share
    # Means over cells lose less: they have no bias.
    assert early.mean == pytest.approx(early.share / 200**0.5, rel=0.5)
    assert fixed.labels <= early.labels < 0.05


def test_the_study_files_setting() -> None:
    fields = a_study(pairs(3, 2), a_plan(votes=2, tasks=3)).model_dump(mode="json")
    assert fields["collection"]["rule"] == "fixed"
    for wrong in ({"posterior": 0.5}, {"posterior": 1}, {"least": 0}, {"rule": "never"}):
        with pytest.raises(ValueError, match=f"collection.{next(iter(wrong))}"):
            Study.model_validate(fields | {"collection": wrong})
    with pytest.raises(ValueError, match="too many"):
        Study.model_validate(fields | {"collection": {"rule": "sequential", "least": 3}})
    # What is fixed has no least.
    Study.model_validate(fields | {"collection": {"least": 3}})
