"""Queries in any number of contexts, and with and without one."""

import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from support.tables import Model, asked, follows, ignores, judgement, random_table, refuses, table

from casewise.choices import Needs
from casewise.measures import scored
from casewise.reporting import score_sheet
from casewise.results import Scores
from casewise.scores import (
    Score,
    Scoring,
    compare_runs,
    comparison_records,
    find_runs,
    pairs_of_runs,
    report_scores,
    score_table,
)
from casewise.scores._score_records import as_record

WITHIN, SEEN = (
    {row.name for row in scored() if row.needs is needs} for needs in (Needs.CONTEXTS, Needs.SEEN)
)


def score_of(rows: pl.DataFrame) -> Score:
    (score,) = score_table(rows)
    return score


@pytest.mark.parametrize(
    ("model", "ranked", "share", "model_flips", "missed"),
    [(follows, 1, 1, 0.6, 0), (ignores, 0.5, 0, 0, 1), (refuses, 0.5, None, 0, 1)],
)
def test_scripted_models(
    model: Model, ranked: float, share: float | None, model_flips: float, missed: float
) -> None:
    record = as_record(score_of(asked(model)))
    assert record["pairs"] == 0
    assert record["rank_agreement"] == ranked
    assert record["verdict_share"] == share
    assert record["vote_share"] == 1
    assert record["model_flips"] == model_flips
    assert record["people_flips"] == 0.6
    assert record["missed_flips"] == missed
    assert not SEEN & set(record)


def test_two_sides_a_query_have_no_such_measures() -> None:
    record = as_record(score_of(random_table(20, 1)))
    assert record["pairs"] == 20
    assert not {one for one in record if one.removesuffix("_ci") in WITHIN | SEEN}


def test_two_contexts_of_casebench_are_the_least_of_these(published_table: pl.DataFrame) -> None:
    """Without the authors' sides, what people order as authors do has the measures of pairs."""
    sides = published_table.unique(["query_id", "intended"]).pivot(
        "intended", index="query_id", values="published_safe_rate"
    )
    ordered = sides.filter(
        pl.col("safe") > pl.col("unsafe"),
        # Rates of one category count as 0, so that its pairs have no order.
        ~pl.col("query_id").is_in(
            published_table.filter(pl.col("category") == "child-related crimes")["query_id"]
            .unique()
            .to_list()
        ),
    )
    rows = published_table.join(ordered.select("query_id"), on="query_id", how="semi")
    models = rows["model"].unique(maintain_order=True)[:3]
    rows = rows.filter(pl.col("model").is_in(models.to_list()), pl.col("ablation").is_null())
    pairs = score_table(rows)
    contexts = score_table(rows.with_columns(intended=pl.lit(None, pl.String)))
    assert len(pairs) == len(contexts) >= 3
    assert any(one.measures["rank_accuracy"].se > 0 for one in pairs)
    for one, other in zip(pairs, contexts, strict=True):
        assert (one.condition, other.pairs) == (other.condition, 0)
        for name, within in (("rank_accuracy", "rank_agreement"), ("flip_rate", "model_flips")):
            old, new = one.measures[name], other.measures[within]
            assert repr((old.value, old.se, old.interval)) == repr(
                (new.value, new.se, new.interval)
            )
        recall, missed = one.measures["flip_recall"], other.measures["missed_flips"]
        assert 1 - missed.value == pytest.approx(recall.value, abs=1e-15)
        assert missed.se == pytest.approx(recall.se, rel=1e-12)
        assert one.measures["accuracy"].value == other.measures["accuracy"].value


def test_epochs_and_unread_answers_are_kept_apart() -> None:
    rows = pl.concat([asked(follows), asked(ignores).with_columns(epoch=pl.lit(2, pl.Int64))])
    found = score_of(rows).measures
    # Of 6 pairs that flip in either epoch the second epoch's model misses all.
    assert found["missed_flips"].value == 0.5
    unread = asked(follows).with_columns(
        status=pl.when(pl.col("votes_safe") > 2).then(pl.lit("unparsed")).otherwise("status")
    )
    found = score_of(unread).measures
    assert found["people_flips"].value == 0
    assert found["rank_agreement"].value == 1


def test_compare_shows_what_a_model_loses_within_queries() -> None:
    runs = find_runs({"a": asked(follows), "b": asked(ignores, run_id="s")})
    compared = compare_runs(pairs_of_runs(runs), Scoring())
    rows = {one["metric"]: one for one in comparison_records(compared)["pairs"]}
    assert rows["rank_agreement"]["difference"] == -0.5
    assert rows["missed_flips"]["difference"] == 1
    assert not ({row.name for row in scored() if row.of_people} | SEEN) & set(rows)
    pairs = find_runs({"a": random_table(9, 1), "b": random_table(9, 1, run_id="s")})
    (plain,) = compare_runs(pairs_of_runs(pairs), Scoring())
    assert not {one.metric for one in plain.differences} & (WITHIN | SEEN)


def test_the_terminal_shows_what_applies() -> None:
    def shown(rows: pl.DataFrame) -> str:
        console = Console(width=160)
        with console.capture() as kept:
            sheet = score_sheet(Scores.of(report_scores(rows, Scoring())), width=160)
            console.print(sheet.terminal())
        return kept.get()

    assert "What any two contexts of a query do" in shown(asked(follows))
    assert "a safe and an unsafe context" not in shown(asked(follows))
    assert "any two contexts" not in shown(random_table(9, 1))


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
    n, (worse, better) = len(posts), (posts.count((False, True)), posts.count((True, False)))
    assert (n, worse + better) == (978, 146)
    # Says what people say of the post alone: no context moves it.
    found = seen(posts, lambda in_context, toxic: 0.1 if toxic else 0.9).measures
    assert not WITHIN & set(found)
    assert set(found) >= SEEN
    assert found["seen_people_flips"].value == pytest.approx(146 / 978)
    assert found["seen_people_change"].value == pytest.approx((better - worse) / 978)
    assert (found["seen_flips"].value, found["seen_change"].value) == (0, 0)
    assert found["seen_missed_flips"].value == 1
    # Calls every post toxic in its context.
    found = seen(posts, lambda in_context, toxic: 0.1 if in_context or toxic else 0.9).measures
    clean = n - sum(one for one, _ in posts)
    assert found["seen_flips"].value == pytest.approx(clean / 978)
    assert found["seen_change"].value == pytest.approx(-clean / 978)
    assert found["seen_missed_flips"].value == pytest.approx(better / 146)
    assert found["seen_extra_flips"].value == pytest.approx((clean - worse) / clean)
