"""What runs took: tokens, time and money."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.analysis._score import conditions


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run took, as far as its rows say; None where none says."""

    condition: dict[str, Any]
    n: int
    """Judgements."""
    input_tokens: int | None
    """Of the judgements that say, summed; so are the next two."""
    output_tokens: int | None
    cost_usd: float | None
    """Of the model under test."""
    grader_cost_usd: float | None
    """Of the model that graded its replies, summed."""
    latency_s: float | None
    """The median judgement's working time in seconds."""
    latency_p95_s: float | None
    known: int
    """Judgements that say how many tokens they took."""


def usages(table: pl.DataFrame) -> list[Usage]:
    """What each run of a table took."""
    return [_usage(condition, rows) for condition, rows in conditions(table)]


def _usage(condition: dict[str, Any], rows: pl.DataFrame) -> Usage:
    def total(column: str) -> Any:
        return rows[column].sum() if rows[column].count() else None

    latency = rows["latency_s"].drop_nulls()
    return Usage(
        condition=condition,
        n=len(rows),
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        cost_usd=total("cost_usd"),
        grader_cost_usd=total("grader_cost_usd"),
        latency_s=latency.quantile(0.5, "linear"),
        latency_p95_s=latency.quantile(0.95, "linear"),
        known=rows["output_tokens"].count(),
    )
