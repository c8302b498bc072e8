"""Queries in any number of contexts, and with and without one."""

import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from support.tables import Model, asked, follows, ignores, judgement, refuses, table

from casewise.reporting import score_sheet
from casewise.results import Scores
from casewise.scores import Score, Scoring, report_scores, score_table
from casewise.scores._score_records import as_record


def score_of(rows: pl.DataFrame) -> Score:
    (score,) = score_table(rows)
    return score


@pytest.mark.parametrize(("model", "share"), [(follows, 1), (ignores, 0), (refuses, 0)])
def test_scripted_models(model: Model, share: float) -> None:
    record = as_record(score_of(asked(model)))
    assert record["pairs"] == 0
    assert (record["follows"], record["false_changes"]) == (share, 0)


def test_epochs_are_kept_apart() -> None:
    rows = pl.concat([asked(follows), asked(ignores).with_columns(epoch=pl.lit(2, pl.Int64))])
    # Of 6 pairs that change in either epoch the second epoch's model misses all.
    assert score_of(rows).measures["follows"].value == pytest.approx(0.5)


def test_the_terminal_shows_what_applies() -> None:
    console = Console(width=160)
    with console.capture() as kept:
        sheet = score_sheet(Scores.of(report_scores(asked(follows), Scoring())), width=160)
        console.print(sheet.terminal())
    shown = kept.get()
    assert "What a safe and an unsafe context of a query do" in shown
    assert "lows" in shown


@pytest.fixture(scope="module")
def posts(other_sets: Path) -> list[tuple[bool, bool]]:
    """Whether most people call a post toxic without and with its parent post."""
    with (other_sets / "cat_small.csv").open(encoding="utf-8", newline="") as file:
        return [(row["label_oc"] == "1", row["label_ic"] == "1") for row in csv.DictReader(file)]


def seen(posts: list[tuple[bool, bool]], model: Callable[[bool, bool], float]) -> Score:
    rows = []
    for number, labels in enumerate(posts):
        for in_context, toxic in enumerate(labels):
            p_safe = model(bool(in_context), labels[0])
            row = judgement(f"q{number}", None, p_safe, votes=(int(not toxic), int(toxic)))
            row |= {"case_id": f"q{number}-{in_context}"}
            rows.append(row | ({} if in_context else {"no_context": True}))
    return score_of(table(*rows))


def test_cat_equals_hand_arithmetic(posts: list[tuple[bool, bool]]) -> None:
    worse, better = (posts.count(one) for one in ((False, True), (True, False)))
    assert (len(posts), worse + better) == (978, 146)
    # Says what people say of the post alone: no context moves it.
    found = seen(posts, lambda in_context, toxic: 0.1 if toxic else 0.9).measures
    assert (found["follows"].value, found["false_changes"].value) == (0, 0)
    # Calls every post toxic in its context: right where people find it worse.
    found = seen(posts, lambda in_context, toxic: 0.1 if in_context or toxic else 0.9).measures
    assert found["follows"].value == pytest.approx(worse / 146)
    clean = posts.count((False, False))
    assert found["false_changes"].value == pytest.approx(clean / (978 - 146))
