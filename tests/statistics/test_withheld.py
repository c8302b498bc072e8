"""Rules by which an interval is withheld, each at its border."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import t
from support.scores import analysed
from support.tables import judgement, table

import casewise as cw
from casewise.statistics import (
    Clusters,
    Estimate,
    clustered_mean,
    clustered_ratio,
    moved_enough,
    paired_change,
)

A = np.array


def judged(safe: np.ndarray, p_safe: np.ndarray, run: str = "r") -> pl.DataFrame:
    """Judgements of a case a query, which 18 of 20 people call safe, or 2."""
    rows = (
        judgement(f"q{n:03}", None, p, votes=(18, 2) if is_safe else (2, 18), run_id=run)
        for n, (is_safe, p) in enumerate(zip(safe, p_safe.tolist(), strict=True))
    )
    return table(*rows)


@pytest.mark.parametrize(("mistakes", "is_given"), [(9, False), (10, True)])
def test_a_correlation_and_f1_take_ten_mistaken_queries(mistakes: int, is_given: bool) -> None:
    safe = np.arange(100) % 2 * 1.0
    said = np.where(np.arange(100) < mistakes, 1 - safe, safe)
    noise = 0.1 * np.random.default_rng(1).random(100)
    (record,) = cw.score(judged(safe, 0.1 + 0.7 * said + noise)).records()[:1]
    for name in ("f1_safe", "pcc"):
        assert (record[f"{name}_ci"] is not None) == is_given
        reason = record["withheld"].get(name)
        assert reason == (
            None if is_given else "9 queries have a wrong answer; an interval takes 10"
        )


@pytest.mark.parametrize(("rare", "is_given"), [(0, True), (9, False), (10, True)])
def test_f1_takes_ten_queries_with_the_rarer_verdict(rare: int, is_given: bool) -> None:
    """Of one verdict alone it is a figure of the labels, which the interval is about."""
    safe = np.arange(100) % 2 * 1.0
    said = np.where(np.arange(100) < rare, 0.1, 0.9)
    record = cw.score(judged(safe, said)).records()[0]
    assert (record["f1_safe_ci"] is not None) == is_given


@pytest.mark.parametrize(("queries", "is_given"), [(39, False), (40, True)])
def test_a_change_of_what_is_no_share_takes_forty_queries(queries: int, is_given: bool) -> None:
    safe = np.arange(queries) % 2 * 1.0
    before, after = np.random.default_rng(2).random((2, queries))
    rows = cw.compare(judged(safe, before, "a"), judged(safe, after, "b")).records()
    given = {row["metric"]: row["ci"] is not None for row in rows}
    assert given["accuracy"]
    for name in ("pcc", "brier", "f1_weighted"):
        assert given[name] == is_given


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


@pytest.mark.parametrize(("queries", "is_given"), [(449, False), (450, True)])
def test_a_recalibrated_loss_takes_450_queries(queries: int, is_given: bool) -> None:
    safe = np.arange(queries) % 2 * 1.0
    p_safe = 0.4 * safe + 0.6 * np.random.default_rng(5).random(queries)
    record = cw.score(judged(safe, p_safe), calibrate=True).records()[0]
    (figures,) = analysed([record], "calibration")
    assert (figures["isotonic", "brier"]["ci"] is not None) == is_given
