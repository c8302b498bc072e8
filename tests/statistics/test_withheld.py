"""Rules by which an interval is withheld, each at its border."""

import math
import re
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest
from conftest import ROOT
from scipy.stats import t

from casewise.cases import Labels
from casewise.measures import Answers, measure, scored
from casewise.measures._counted import CHANGE_TAKES, LEAST_CORRELATED, LEAST_MISTAKEN
from casewise.scores._behaviour import LEAST_HELD
from casewise.scores._calibration import LEAST_MENDED, _of_enough
from casewise.scores._replay import LEAST_CORRECTED
from casewise.statistics import (
    BY_DESIGN,
    LEAST_EFFECTIVE,
    Clusters,
    Estimate,
    clustered_mean,
    clustered_ratio,
    moved_enough,
    paired_change,
)
from casewise.statistics._clustered import LEAST_MOVED, NEARLY_EQUAL, SHORT_TAIL

A = np.array


def judge(said: np.ndarray, safe: np.ndarray, p_safe: np.ndarray) -> Answers:
    """Verdicts on a case a query."""
    n = len(said)
    pairs = np.empty((0, 2), np.int64)
    return Answers(
        protocol="probability",
        truth=Labels(0.1 + 0.8 * safe, safe),
        verdict=said,
        partial=np.zeros(n, bool),
        tool_call=None,
        p_safe=p_safe,
        read=np.ones(n, bool),
        clusters=Clusters(np.arange(n), n),
        intended=np.full(n, ""),
        pairs=pairs,
        all_pairs=pairs,
        epoch=np.zeros(n, np.int64),
        votes_safe=np.full(n, math.nan),
        votes_unsafe=np.full(n, math.nan),
    )


@pytest.mark.parametrize(("mistakes", "is_given"), [(9, False), (10, True)])
def test_a_correlation_and_f1_take_ten_mistaken_queries(mistakes: int, is_given: bool) -> None:
    rng = np.random.default_rng(1)
    safe = np.arange(100) % 2 * 1.0
    said = np.where(np.arange(100) < mistakes, 1 - safe, safe)
    found = measure(judge(said, safe, 0.1 + 0.8 * said + 0.1 * rng.random(100)), ["f1_safe", "pcc"])
    for one in found.values():
        assert math.isfinite(one.interval[0]) == is_given
        assert math.isnan(one.p) != is_given
        assert (one.reason == "9 queries have a wrong answer; an interval takes 10") != is_given


@pytest.mark.parametrize(("rare", "is_given"), [(0, True), (9, False), (10, True)])
def test_f1_takes_ten_queries_with_the_rarer_verdict(rare: int, is_given: bool) -> None:
    """Of one verdict alone it is a figure of the labels, which the interval is about."""
    safe = np.arange(100) % 2 * 1.0
    said = np.where(np.arange(100) < rare, 0.0, 1.0)
    (found,) = measure(judge(said, safe, said), ["f1_safe"]).values()
    assert math.isfinite(found.interval[0]) == is_given


@pytest.mark.parametrize(("queries", "is_given"), [(39, False), (40, True)])
def test_a_change_of_what_is_no_share_takes_forty_queries(queries: int, is_given: bool) -> None:
    rng = np.random.default_rng(2)
    safe = np.arange(queries) % 2 * 1.0
    runs = [judge((p > 0.5) * 1.0, safe, p) for p in rng.random((2, queries))]
    for name in ("pcc", "brier", "f1_weighted"):
        found = paired_change(*(measure(one, [name])[name] for one in runs))
        assert math.isfinite(found.interval[0]) == is_given
        assert bool(found.reason) != is_given
    accuracy = paired_change(*(measure(one, ["accuracy"])["accuracy"] for one in runs))
    assert math.isfinite(accuracy.interval[0])


def precision(hits: list[float], called: list[float]) -> Estimate:
    clusters = Clusters(np.arange(len(hits)), len(hits))
    return clustered_ratio(A(hits), A(called), clusters, share=True)


def test_shares_of_other_cases_have_no_change_with_an_interval() -> None:
    """Two of four are flagged by either run, so the count is the same, and the cases aren't."""
    before = precision([1.0, 0.0, 0.0, 0.0] * 50, [1.0, 1.0, 0.0, 0.0] * 50)
    after = precision([0.0, 0.0, 1.0, 1.0] * 50, [0.0, 0.0, 1.0, 1.0] * 50)
    assert before.size == after.size == 100
    found = paired_change(before, after)
    assert found.value == 0.5
    assert found.reason == "shares of other cases in either run"
    assert np.isnan(found.interval).all()
    assert math.isnan(found.p)
    same = paired_change(before, precision([1.0, 1.0, 0.0, 0.0] * 50, [1.0, 1.0, 0.0, 0.0] * 50))
    assert same.is_share_change
    assert not same.reason


def share(hits: np.ndarray, sizes: np.ndarray) -> Estimate:
    """A share whose query ``i`` has ``sizes[i]`` cases, so many of which are hits."""
    return clustered_ratio(hits, sizes, Clusters(np.arange(len(sizes)), len(sizes)), share=True)


def test_a_heavy_query_could_have_moved() -> None:
    """60 queries of one case and 20 of four: 140² / 380 = 51.6 effective, below .8 of 80."""
    sizes = np.r_[np.ones(60), np.full(20, 4.0)]
    none, few = np.zeros(80), np.r_[np.ones(19), np.zeros(61)]
    enough = np.r_[np.ones(20), np.zeros(60)]
    base = share(none, sizes)
    assert base.effective == pytest.approx(140**2 / 380)
    for hits, moved in ((none, 0), (few, 19)):
        found = paired_change(base, share(hits, sizes))
        assert found.reason == f"{moved} of 80 queries moved; an interval takes 20"
        assert np.isnan(found.interval).all()
    assert not paired_change(base, share(enough, sizes)).reason
    # Where queries weigh alike Tango's interval allows for what didn't move.
    ones = np.ones(80)
    assert not paired_change(share(none, ones), share(few, ones)).reason


def test_effective_queries_are_at_least_half() -> None:
    """One of 9 cases among 30 of one: 39² / 111 = 13.7 of 31. One of 6: 36² / 66 = 19.6."""
    hits = np.arange(31) % 2 * 1.0
    nine, six = (share(hits, np.r_[heavy, np.ones(30)]) for heavy in (9.0, 6.0))
    assert nine.reason.startswith("13.7 effective queries, of 31")
    assert nine.reason.endswith("an interval takes 16")
    assert not six.reason


def test_degrees_of_freedom_by_the_weights() -> None:
    """Weights of 1 (30 times) and 4 (10 times): (30 + 160)² / (30 + 2560) less 1 = 12.94."""
    sizes = np.r_[np.ones(30), np.full(10, 4.0)]
    values = np.random.default_rng(4).random(40) * sizes
    found = clustered_ratio(values, sizes, Clusters(np.arange(40), 40))
    assert found.is_unequal
    assert found.weight_degrees == pytest.approx(190**2 / 2590 - 1)
    assert found.degrees <= found.weight_degrees
    rest = np.array([np.delete(values, i).sum() / np.delete(sizes, i).sum() for i in range(40)])
    error = math.sqrt(39 / 40 * ((rest - found.value) ** 2).sum())
    half = t.ppf(0.975, found.degrees) * error
    assert found.interval == pytest.approx((found.value - half, found.value + half))


def test_a_loss_of_few_queries_has_half_the_degrees() -> None:
    rng = np.random.default_rng(5)
    for queries, part in ((39, 0.5), (40, 1.0)):
        values = 0.2 + 0.1 * rng.random(queries)
        found = clustered_mean(values, Clusters(np.arange(queries), queries), scale="log")
        whole = replace(found, scale="plain").degrees
        assert found.degrees == pytest.approx(part * whole)


def test_a_sum_over_eight_runs_takes_twice_the_queries() -> None:
    """39 and 40 of 120 queries moved."""
    clusters = Clusters(np.arange(120), 120)
    for moved, is_given in ((39, False), (40, True)):
        step = np.where(np.arange(120) < moved, np.where(np.arange(120) % 3 == 0, -1.0, 1.0), 0.0)
        change = clustered_mean(step, clusters) - clustered_mean(np.zeros(120), clusters)
        assert bool(moved_enough(change, 8).reason) is not is_given
        assert not moved_enough(change).reason


def test_recalibrated_figures_of_few_queries() -> None:
    rng = np.random.default_rng(5)
    for queries, is_given in ((LEAST_MENDED - 1, False), (LEAST_MENDED, True)):
        safe = (rng.random(queries) < 0.5).astype(float)
        p = np.clip(0.5 + 0.2 * (safe - 0.5) + rng.normal(0, 0.2, queries), 0.01, 0.99)
        found = _of_enough(judge((p > 0.5).astype(float), safe, p))
        assert bool(found["brier"].reason) is not is_given
        assert found["ece"].reason


PAGE = (ROOT / "docs/method/statistics.md").read_text("utf-8")


def rows_under(head: str) -> list[list[str]]:
    """Cells of the table that begins with this line of headings."""
    lines = PAGE[PAGE.index(head) :].splitlines()[2:]
    return [line.strip("| ").split(" | ") for line in takewhile(lambda one: one[:1] == "|", lines)]


def test_the_page_has_each_kind_of_measure() -> None:
    kinds = " ".join(row[0] for row in rows_under("| kind | interval of a figure |"))
    for kind in {row.kind for row in scored()}:
        assert re.search(rf"\b{kind}\b", kinds), kind


@pytest.mark.parametrize(
    ("least", "told"),
    [
        (LEAST_EFFECTIVE, "than {} where queries weigh unequally"),
        (LEAST_MISTAKEN, "fewer than {} queries with a wrong answer"),
        (LEAST_MISTAKEN, "fewer than {} queries with the rarer verdict"),
        (LEAST_CORRELATED, "fewer than {} queries, or nearly all answers"),
        (LEAST_EFFECTIVE, "unequal numbers of pairs, and fewer than {} effective queries"),
        (NEARLY_EQUAL, "(effective queries below {} of them)"),
        (CHANGE_TAKES, "| fewer than {} queries | too few show by how much"),
        (LEAST_MOVED, "| fewer than {} effective queries moved"),
        (SHORT_TAIL, "of kappa and alpha fewer than {} queries"),
        (LEAST_CORRECTED, "`replay` of fewer than {} conversations"),
        (2 * LEAST_MOVED, "| fewer than {} effective queries moved, among the eight runs"),
        (LEAST_MENDED, "intervals after `isotonic` | fewer than {} queries"),
        (LEAST_HELD, "fewer than {} queries had complied by then"),
        (BY_DESIGN.removesuffix(" it"), "interval of a figure that {}, and of its change"),
    ],
)
def test_the_page_says_when_an_interval_is_withheld(least: float | str, told: str) -> None:
    """Each threshold of the code stands in the page; a new one is a row here and there."""
    number = least if isinstance(least, str) else f"{least:g}".removeprefix("0")
    assert told.format(number) in PAGE
