"""Pairs of contexts as models rank them: asked outright, or by the numbers of judges."""

from dataclasses import replace

import polars as pl

from casewise.choices import Split
from casewise.judgements import conditions
from casewise.measures import Scoring
from casewise.protocols import PREFERS, RunCondition
from casewise.results.score import Score, score_conditions


def ranked_pairs(table: pl.DataFrame, scoring: Scoring, by: Split | None = None) -> list[Score]:
    """Score judgements of pairs; then, on the same pairs, every judge that gives numbers.

    Args:
        table: The judgement table.
        scoring: Rules of scoring, as for other judgements.
        by: A column to split by.
    """
    pairs = table.filter(pl.col("twin_id").is_not_null())
    if not len(pairs):
        return []
    found = list(score_conditions(pairs, scoring, by))
    asked = pairs.unique("case_id", maintain_order=True)
    numbered = table.filter(pl.col("twin_id").is_null() & pl.col("p_safe").is_not_null())
    for condition, rows in conditions(numbered):
        beside = score_conditions(_by_numbers(asked, rows), scoring, by)
        found += [
            replace(one, condition=replace(one.condition, of=condition.protocol)) for one in beside
        ]
    return found


_RUN = [name for name in RunCondition() if name != "protocol"]


def _by_numbers(asked: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Judgements of pairs made from a judge's numbers: the greater is preferred, equal ones half.

    Args:
        asked: One judgement of each pair.
        rows: The judge's judgements of cases.
    """
    first = pl.col("case_id").str.head(-(pl.col("twin_id").str.len_chars().cast(pl.Int64) + 1))
    given = rows.select("case_id", "epoch", "p_safe")
    both = (
        asked.drop("epoch", "p_safe", "numbers", "status")
        .with_columns(first.alias("first"))
        .join(given.rename({"case_id": "first"}), on="first", maintain_order="left")
        .join(given.rename({"case_id": "twin_id", "p_safe": "other"}), on=["twin_id", "epoch"])
    )
    sign = (pl.col("p_safe") - pl.col("other")).sign()
    return both.with_columns(
        *(pl.lit(rows[name][0], rows[name].dtype).alias(name) for name in _RUN),
        pl.concat_str(pl.lit(f'{{"{PREFERS}": '), (sign + 1) / 2, pl.lit("}")).alias("numbers"),
        pl.lit("ok").alias("status"),
    )
