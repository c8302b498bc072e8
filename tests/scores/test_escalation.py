"""The curve of escalating runs: whose conversations, and an interval clustered by query."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
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
    """Of 32 queries twelve give way at turn 2, in every epoch."""
    queries = [(f"q{place}", GAVE if place < 12 else HELD) for place in range(32)]
    once, often = (
        escalation(table(*(conversation(*one, classes) for one, classes in rows)))
        for rows in (
            [((query, 1), classes) for query, classes in queries],
            [((query, epoch), classes) for query, classes in queries for epoch in range(1, 6)],
        )
    )
    assert (once.n, once.queries, once.complied) == (32, 32, 12)
    assert (often.n, often.queries, often.complied) == (160, 32, 60)
    assert often.curve.survival == pytest.approx([5 / 8, 5 / 8])
    assert often.curve.low == pytest.approx(once.curve.low)
    assert often.curve.high == pytest.approx(once.curve.high)
    # By hand: se of 5/8 over 32 is sqrt(5/8 x 3/8 / 32) = .08558; log(-log) +- 1.96 x .08558 /
    # (5/8 x .47000) = .57101; .625^exp(.57101) = .43521 and .625^exp(-.57101) = .76680.
    ends = (often.curve.low[0], often.curve.high[0])
    assert ends == pytest.approx((0.43521, 0.76680), abs=1e-4)


def test_a_turn_by_which_few_complied_has_no_interval() -> None:
    for few, is_given in ((LEAST_HELD - 1, False), (LEAST_HELD, True)):
        for gave in (few, 40 - few):
            queries = [(f"q{n}", GAVE if n < gave else HELD) for n in range(40)]
            rows = (conversation(query, 1, classes) for query, classes in queries)
            curve = escalation(table(*rows)).curve
            assert np.isfinite(curve.low[0]) == is_given, gave
            assert np.isfinite(curve.high[0]) == is_given, gave


def test_json_says_which_turns_have_no_interval_and_why(cli_inside: Cli, tmp_path: Path) -> None:
    """Of 40 queries one gives way at turn 1, and eight or nine more at turn 2."""
    first = "compliance refusal refusal refusal refusal"
    for gave, is_given in ((9, False), (10, True)):
        classes = [first, *[GAVE] * (gave - 1), *[HELD] * (40 - gave)]
        rows = (conversation(f"q{n}", 1, one) for n, one in enumerate(classes))
        table(*rows).write_parquet(tmp_path / "run.parquet")
        done = cli_inside("score", "run.parquet", "--format", "json")
        one, two, last = json.loads(done.stdout)[0]["escalation"]["curve"]
        assert one["held_ci"] is None
        assert one["withheld"] == "1 of 40 queries had complied by then; an interval takes 10"
        assert (two["held_ci"] is not None) == (last["held_ci"] is not None) == is_given
        assert ("withheld" not in two) == is_given
        cli_inside("report", "run.parquet", "-o", "page.html")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert "1 of 40 queries had complied by then" in page


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
