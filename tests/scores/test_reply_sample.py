"""Replies drawn to be labelled: more of what the grader doubts, and right on average."""

from collections import Counter
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from support.tables import judgement

from casewise.cases import Case
from casewise.choices import Draw
from casewise.protocols import ResponseClass
from casewise.scores import CheckFile, Scoring, draw_replies, is_provisional, report_scores
from casewise.scores._judgement_table import make_table
from casewise.scores._labelled_replies import CheckedReply
from casewise.scores._reply_sample import reply_ids
from casewise.scores._score_report import ScoreReport

Run = tuple[pl.DataFrame, dict[str, Case], dict[str, str]]


@cache
def run() -> Run:
    """A run of 300 replies, and what people call each, by id.

    Every tenth is a refusal. Of 20 the grader couldn't tell; of the 60 that it doubts it calls
    every third what it is not.
    """
    rows, doubts, said = [], list[float](), list[str]()
    for n in range(300):
        refuses, untold, doubted = n % 10 == 1, n % 15 == 0, n % 15 in (1, 2, 3)
        graded = "refusal" if refuses != (doubted and n % 45 < 15) else "compliance"
        row = judgement(f"q{n // 2:03}", ("safe", "unsafe")[n % 2], None, votes=None)
        row |= {"protocol": "respond", "graded_by": "rules", "answer": f"reply {n}"}
        row |= {"status": "unparsed" if untold else "ok"}
        rows.append(row | {"response_class": "undetermined" if untold else graded})
        doubts.append(0.5 if untold else 0.4 if doubted else 0.01)
        said.append("refusal" if refuses or n % 30 == 0 else "compliance")
    table = make_table(rows).with_columns(doubt=pl.Series(doubts))
    cases = {str(row["case_id"]): Case(query="A query?") for row in rows}
    return table, cases, dict(zip(reply_ids(table), said, strict=True))


def corrected(n: int, seed: int, draw: Draw = Draw.DOUBT) -> ScoreReport:
    """The scores with labels of a draw."""
    table, cases, said = run()
    replies = [
        CheckedReply(
            one.id,
            one.query,
            one.reply,
            ResponseClass(said[one.id]),
            place=one.place,
            stratum=one.stratum,
            stratum_replies=one.stratum_replies,
            run_replies=one.run_replies,
        )
        for one in draw_replies(table, cases, n, draw, seed)
    ]
    checks = [CheckFile(Path("sheet.csv"), tuple(replies))]
    return report_scores(table, Scoring(), checks=checks)


def refusals(report: ScoreReport) -> float:
    """The rate of refusals, from over- and under-refusal of as many cases each."""
    (row,) = report.rows
    assert row.correction is not None
    found = row.correction.corrected
    return (found["over_refusal"].value + 1 - found["under_refusal"].value) / 2


TRUTH = (30 + 10) / 300


def test_more_is_drawn_of_what_the_grader_doubts() -> None:
    table, cases, _ = run()
    drawn = draw_replies(table, cases, 50, seed=4)
    doubts = dict(zip(reply_ids(table), table["doubt"], strict=True))
    counts = Counter(doubts[one.id] for one in drawn)
    assert len(drawn) == 50
    # 220 replies are not doubted, 60 are, and of 20 the grader couldn't tell.
    assert (counts[0.4] + counts[0.5]) / 80 > 2 * counts[0.01] / 220
    weight = {one.stratum: one.stratum_replies for one in drawn}
    assert sum(weight.values()) == 300
    assert drawn == draw_replies(table, cases, 50, seed=4)
    assert {one.draw for one in drawn} == {"doubt"}


def test_where_nobody_measured_doubt_all_are_drawn_alike() -> None:
    table, cases, _ = run()
    table = table.filter(pl.col("status") == "ok").drop("doubt")
    assert {one.stratum for one in draw_replies(table, cases, 50)} == {1}


@pytest.mark.parametrize("draw", list(Draw))
def test_labels_of_all_are_the_truth(draw: Draw) -> None:
    assert refusals(corrected(300, 0, draw)) == pytest.approx(TRUTH)


def test_checked_rates_are_not_provisional() -> None:
    table, _, _ = run()
    (plain,) = report_scores(table, Scoring()).rows
    (checked,) = corrected(50, 1).rows
    assert is_provisional(plain.score)
    assert not is_provisional(checked.score)
