"""Accuracy against what all people would say: by hand, by simulation, and where it is withheld."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, betabinom

from casewise.statistics import Clusters, Estimate, VotedVerdicts, corrected_accuracy, credits

A = np.array
DOCS = Path(__file__).resolve().parents[2] / "docs"


def corrected(
    said: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    safe: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    votes: int = 20,
    missed: "np.ndarray[tuple[int], np.dtype[np.bool_]] | None" = None,
) -> Estimate:
    n = len(said)
    unread = np.zeros(n, bool) if missed is None else missed
    verdicts = VotedVerdicts(said, safe, votes - safe, np.zeros(n, np.int64), unread)
    return corrected_accuracy(verdicts, Clusters(np.arange(n), n))


def test_many_cases_of_a_known_distribution() -> None:
    """Rates are Beta(4, 3) where the model says safe, and Beta(2, 5) where it says unsafe."""
    counts = np.arange(21)
    said, safe = [], []
    for verdict, (a, b) in ((1.0, (4, 3)), (0.0, (2, 5))):
        # As many cases of each count as the beta-binomial has of 20,000.
        many = np.round(20_000 * betabinom.pmf(counts, 20, a, b)).astype(int)
        safe += np.repeat(counts, many).tolist()
        said += [verdict] * int(many.sum())
    found = corrected(A(said), A(safe, np.float64))
    # P(rate > 1/2) = .65625 of Beta(4, 3), and P(rate < 1/2) = .890625 of Beta(2, 5).
    assert beta.sf(0.5, 4, 3) == pytest.approx(0.65625)
    assert beta.cdf(0.5, 2, 5) == pytest.approx(0.890625)
    assert found.value == pytest.approx((0.65625 + 0.890625) / 2, abs=5e-4)
    # Against the majority of twenty votes the same verdicts look worse.
    safe_label = np.where(A(safe) == 10, 0.5, A(safe) > 10)
    assert credits(safe_label, A(said)).mean() == pytest.approx(0.7476, abs=5e-4)


def test_votes_of_everybody_leave_nothing_to_correct() -> None:
    rng = np.random.default_rng(5)
    said = (rng.random(400) < 0.5).astype(float)
    rate = rng.beta(2 + 2 * said, 3)
    found = corrected(said, np.round(4000 * rate), votes=4000)
    assert found.value == pytest.approx(credits((rate > 0.5).astype(float), said).mean(), abs=0.003)


def test_the_error_is_that_of_refits() -> None:
    """The influence holds what the fit adds: leaving a case out and fitting anew gives the same."""
    rng = np.random.default_rng(2)
    said = (rng.random(80) < 0.6).astype(float)
    safe = rng.binomial(20, rng.beta(3 + 3 * said, 4)).astype(float)
    found = corrected(said, safe)
    kept = [np.arange(80) != out for out in range(80)]
    without = A([corrected(said[rows], safe[rows]).value for rows in kept])
    moved = found.value - without
    assert np.corrcoef(moved, found.influence)[0, 1] > 0.999
    assert np.sqrt((moved**2).sum()) == pytest.approx(found.se, rel=0.05)
    low, high = found.interval
    assert 0 < low < found.value < high < 1


def test_an_answer_that_was_not_read_earns_nothing() -> None:
    rng = np.random.default_rng(3)
    said = (rng.random(60) < 0.5).astype(float)
    safe = rng.binomial(20, rng.beta(3, 3, 60)).astype(float)
    missed = np.arange(60) < 15
    whole, some = corrected(said, safe), corrected(said, safe, missed=missed)
    assert some.value < whole.value
    none = corrected(said, safe, missed=np.ones(60, bool))
    assert none.value == 0


def test_where_it_is_withheld() -> None:
    few = corrected(A([1.0, 0.0, 1.0]), A([2.0, 1, 3]), votes=3)
    assert math.isnan(few.value)
    assert few.reason == "fewer than 5 votes a case"
    assert corrected(A([1.0]), A([20.0])).reason == "fewer than two cases"
    # A verdict of which there is one case, all of whose votes are alike, is no edge.
    lone = corrected(A([1.0] * 9 + [0.0]), A([15.0, 12, 9, 18, 14, 11, 16, 13, 10, 0]))
    assert 0 < lone.value < 1
    assert lone.se > 0


def right_in(share: float, a: float, b: float) -> list[Estimate]:
    """Corrected accuracies of a judge who is right in ``share`` of the cases: ten studies.

    450 pairs with 20 votes a case; rates are Beta(a, b) in the safe context, mirrored in the other.
    """
    arm = np.tile([0, 1], 450)
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rate = rng.beta(a, b, 900)
        rate = np.where(arm == 0, rate, 1 - rate)
        safe = rng.binomial(20, rate).astype(float)
        said = np.where(rng.random(900) < share, rate > 0.5, rate <= 0.5).astype(float)
        verdicts = VotedVerdicts(said, safe, 20 - safe, arm, np.zeros(900, bool))
        found.append(corrected_accuracy(verdicts, Clusters(np.repeat(np.arange(450), 2), 450)))
    return found


def test_the_page_says_why_it_is_experimental() -> None:
    """Verdicts that follow the side of the rate split the distribution that is assumed of it."""
    rows = []
    for share in (1.0, 0.9):
        for a, b in ((4, 1), (2, 2)):
            ten = right_in(share, a, b)
            value = np.mean([one.value for one in ten])
            low, high = np.mean([one.interval for one in ten], axis=0)
            held = sum(one.interval[0] <= share <= one.interval[1] for one in ten)
            cells = f"{value:.3f} | {low:.3f} to {high:.3f} | {held} of 10".replace("0.", ".")
            rows.append(f"| {'every case' if share == 1 else '.90'} | Beta({a}, {b}) | {cells} |")
    page = (DOCS / "method" / "statistics-appendix.md").read_text("utf-8")
    assert "\n".join(rows) in page, "\n".join(rows)
