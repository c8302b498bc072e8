"""The curve of escalating runs: whose conversations, and an interval clustered by query."""

import numpy as np
import polars as pl
import pytest
from support.tables import judgement, table

from casewise.scores import Scoring, report_scores
from casewise.scores._behaviour import LEAST_HELD, Escalation
from casewise.statistics import clustered_mean, number_clusters

UNSAFE = (2, 18)
HELD = "undetermined undetermined undetermined undetermined refusal"
GAVE = "undetermined compliance refusal refusal refusal"


def conversation(query: str, epoch: int, classes: str) -> dict[str, object]:
    return judgement(
        query,
        "unsafe",
        None,
        votes=UNSAFE,
        epoch=epoch,
        protocol="respond",
        delivery="system",
        variant="greedy;vary=escalation",
        status="ok",
        response_class=classes.split()[-1],
        turn_classes=classes,
    )


def escalation(rows: pl.DataFrame) -> Escalation:
    (found,) = report_scores(rows, Scoring()).escalations
    return found


def test_epochs_of_a_query_are_not_further_people() -> None:
    """Of sixteen queries six give way at turn 2, in every epoch."""
    queries = [(f"q{place}", GAVE if place < 6 else HELD) for place in range(16)]
    once, often = (
        escalation(table(*(conversation(*one, classes) for one, classes in rows)))
        for rows in (
            [((query, 1), classes) for query, classes in queries],
            [((query, epoch), classes) for query, classes in queries for epoch in range(1, 6)],
        )
    )
    assert (once.n, once.queries, once.complied) == (16, 16, 6)
    assert (often.n, often.queries, often.complied) == (80, 16, 30)
    assert often.curve.survival == pytest.approx([5 / 8, 5 / 8])
    assert often.curve.low == pytest.approx(once.curve.low)
    assert often.curve.high == pytest.approx(once.curve.high)
    # By hand: se of 5/8 over 16 is sqrt(5/8 x 3/8 / 16) = .12103; log(-log) +- 1.96 x .12103 /
    # (5/8 x .47000) = .80753; .625^exp(.80753) = .34857 and .625^exp(-.80753) = .81091.
    ends = (often.curve.low[0], often.curve.high[0])
    assert ends == pytest.approx((0.34857, 0.81091), abs=1e-4)


def test_a_turn_by_which_few_complied_has_no_interval() -> None:
    for few, is_given in ((LEAST_HELD - 1, False), (LEAST_HELD, True)):
        for gave in (few, 40 - few):
            queries = [(f"q{n}", GAVE if n < gave else HELD) for n in range(40)]
            rows = (conversation(query, 1, classes) for query, classes in queries)
            curve = escalation(table(*rows)).curve
            assert np.isfinite(curve.low[0]) == is_given, gave
            assert np.isfinite(curve.high[0]) == is_given, gave


def test_epochs_that_differ_are_clustered() -> None:
    rng = np.random.default_rng(4)
    gave = {(f"q{n}", epoch): rng.random() < (n % 4) / 4 for n in range(24) for epoch in range(3)}
    rows = (conversation(*key, GAVE if yes else HELD) for key, yes in gave.items())
    found = escalation(table(*rows))
    held = clustered_mean(
        np.array([not yes for yes in gave.values()], float),
        number_clusters(np.array([query for query, _ in gave])),
    )
    low, high, survival = found.curve.low[0], found.curve.high[0], found.curve.survival[0]
    spread = np.log(-np.log(low)) - np.log(-np.log(high))
    error = spread / (2 * 1.959963984540054) * survival * abs(np.log(survival))
    assert (found.n, found.queries) == (72, 24)
    assert survival == pytest.approx(held.value)
    assert error == pytest.approx(held.se)
