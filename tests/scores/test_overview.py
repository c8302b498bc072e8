"""What a report shows, against the scores it is made beside."""

import polars as pl
import pytest
from support.tables import judgement, random_table, table

from casewise.scores import (
    Judgements,
    Overview,
    RunCondition,
    Scoring,
    Split,
    UnreadPolicy,
    make_overview,
    score_table,
    shortened,
)


def overview(rows: pl.DataFrame, scoring: Scoring | None = None) -> Overview:
    return make_overview(Judgements(rows, ()), scoring or Scoring())


@pytest.mark.parametrize("policy", UnreadPolicy)
def test_categories_are_those_of_the_scores(policy: UnreadPolicy) -> None:
    missing = pl.int_range(pl.len()) % 7 == 0
    rows = random_table(23, 1).with_columns(
        pl.when(missing).then(pl.lit("unparsed")).otherwise("status").alias("status"),
        pl.when(missing).then(None).otherwise("verdict").alias("verdict"),
        pl.when(missing).then(None).otherwise("p_safe").alias("p_safe"),
        pl.when(pl.col("category") == "c0").then(None).otherwise("category").alias("category"),
    )
    rows = pl.concat([rows, random_table(5, 2, ablation="sender", run_id="x")])
    scoring = Scoring(unparsed=policy)
    wanted = score_table(rows.filter(pl.col("ablation").is_null()), scoring, Split.CATEGORY)
    found = overview(rows, scoring).categories
    assert [one.category for one in found] == [one.group["category"] for one in wanted]
    for one, score in zip(found, wanted, strict=True):
        assert (one.n, one.coverage) == (score.n, score.coverage)
        for name in ("accuracy", "safe_recall", "unsafe_recall"):
            a, b = one.measures[name], score.measures[name]
            figures = [a.value, a.se, *a.interval]
            assert figures == pytest.approx([b.value, b.se, *b.interval], nan_ok=True)


def test_the_browser_counts_rights_and_quadrants() -> None:
    """One pair as intended, one always safe; people say 15 of 20 safe, and 5 of 20."""
    few = {"votes": (5, 15)}
    rows = table(
        judgement("a", "safe", 0.9),
        judgement("a", "unsafe", 0.1, **few),
        judgement("b", "safe", 0.9),
        judgement("b", "unsafe", 0.8, **few),
        judgement("c", "safe", None),
        judgement("c", "unsafe", 0.1, **few),
    )
    browser = overview(rows).browser
    assert browser.cases["rate"].to_list() == [0.75, 0.25] * 3
    shown = browser.judgements
    assert shown["right"].to_list() == [1, 1, 1, 0, None, 1]
    assert shown["quadrant"].to_list() == ["as_intended"] * 2 + ["always_safe"] * 2 + [None] * 2
    assert shown["said"].to_list() == ["safe", "unsafe", "safe", "safe", None, "unsafe"]


def test_usage_is_unknown_and_not_nothing() -> None:
    told = [judgement(f"q{n}", input_tokens=100, latency_s=float(n)) for n in range(3)]
    (known,) = overview(table(*told, judgement("q9"))).usages
    assert (known.n, known.input_tokens, known.latency_s) == (4, 300, 1.0)
    assert (known.output_tokens, known.cost_usd, known.known) == (None, None, 0)


def test_the_leader_is_plain_and_of_another_model() -> None:
    good = random_table(40, 1, skill=1, noise=0.02, model="a", run_id="1")
    better = random_table(40, 1, skill=1, noise=0.0, model="a", run_id="2", ablation="sender")
    same = random_table(40, 1, skill=0.9, noise=0.05, model="a", run_id="3", prompt_version="p")
    other = random_table(40, 1, skill=0, model="b", run_id="4")
    (leader,) = overview(pl.concat([good, better, same, other])).leaders
    assert leader.second is not None
    assert leader.lead is not None
    assert (leader.score.condition["model"], leader.second.condition["model"]) == ("a", "b")
    assert leader.score.condition["ablation"] is None
    assert leader.models == 2
    values = [one.measures["accuracy"].value for one in (leader.score, leader.second)]
    assert leader.lead.value == pytest.approx(values[0] - values[1])


@pytest.mark.parametrize(
    ("change", "plain"),
    [
        ({}, True),
        ({"ablation": "sender"}, False),
        ({"variant": "greedy;vary=urgency"}, False),
        ({"variant": "greedy;swap=type"}, False),
        ({"delivery": "none"}, False),
        ({"delivery": "system"}, True),
    ],
)
def test_plain_runs(change: dict[str, str], plain: bool) -> None:
    condition = {"delivery": "judge", "ablation": None, "variant": "greedy"}
    assert RunCondition.of_row(condition | change).plain is plain


def test_seeded_variations_of_a_length_are_curves_of_their_own() -> None:
    variants = ["vary=filler-200,seed=4", "vary=filler-400,seed=4", "vary=filler-200"]
    runs = [
        random_table(8, 1, skill=1, run_id=str(place), variant=f"greedy;{variant}")
        for place, variant in enumerate(variants)
    ]
    found = overview(pl.concat(runs)).retentions
    assert [[point.tokens for point in one.points] for one in found] == [[200, 400], [200]]
    assert [one.family for one in found] == ["filler,seed=4", "filler"]


def test_short_shares_round_on_as_the_exact_ones() -> None:
    exact = pl.Series("p", [0.12496, 0.1250, 0.0625, 0.99949, 0.10003, 0.6, None])
    # To .1250 the first would be .13 in two digits, the fourth 1.000 in three; a probability just
    # above .1 is in the second bin.
    assert shortened(exact, 4).to_list() == [0.1249, 0.125, 0.0625, 0.9994, 0.1001, 0.6, None]
