"""Which model is ahead, by how much, and whether that is more than noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.analysis._answers import label_fields
from casewise.analysis._paired import differences, score_together
from casewise.analysis._score import Score, Scoring, conditions
from casewise.cases import default_rule
from casewise.protocols import Delivery
from casewise.statistics import Estimate

_CHANGED = ("vary=", "swap=")


@dataclass(frozen=True, slots=True)
class Leader:
    """The best plain run of a kind, judging or acting, beside the next model's."""

    score: Score
    metric: str
    """``accuracy`` of judges, ``appropriate`` of models that act."""
    models: int
    """How many models were in the running."""
    second: Score | None
    """The best run of another model; None where there is none."""
    lead: Estimate | None
    """Leader minus second over the cases that both answered, paired; None if there are none."""


def is_plain(condition: Mapping[str, Any]) -> bool:
    """Whether a run has whole contexts in their usual place, and nothing varied."""
    changed = any(mark in str(condition["variant"] or "") for mark in _CHANGED)
    usual = condition["delivery"] in (Delivery.JUDGE, Delivery.SYSTEM, None)
    return usual and not changed and not condition["ablation"]


def leaders(table: pl.DataFrame, scores: Sequence[Score], scoring: Scoring) -> list[Leader]:
    """The leader among judges and the leader among models that act, where there are any.

    Args:
        table: The judgement table.
        scores: Of its every condition.
        scoring: As they were scored.
    """
    found = []
    for acts in (False, True):
        plain = [one for one in scores if one.acts is acts and is_plain(one.condition)]
        metric = "appropriate" if acts else "accuracy"
        ranked = sorted(
            (one for one in plain if one.measures[metric].value == one.measures[metric].value),
            key=lambda score: -score.measures[metric].value,
        )
        if ranked:
            found.append(_leader(ranked, metric, table, scoring))
    return found


def _leader(ranked: Sequence[Score], metric: str, table: pl.DataFrame, scoring: Scoring) -> Leader:
    best = ranked[0]
    model = best.condition["model"]
    second = next((one for one in ranked if one.condition["model"] != model), None)
    lead = _lead(best, second, metric, table, scoring) if second is not None else None
    return Leader(best, metric, len({one.condition["model"] for one in ranked}), second, lead)


def _lead(
    best: Score, second: Score, metric: str, table: pl.DataFrame, scoring: Scoring
) -> Estimate | None:
    parts = [
        next((condition, rows) for condition, rows in conditions(table) if condition == wanted)
        for wanted in (second.condition, best.condition)
    ]
    rule = scoring.labels or default_rule(label_fields(parts[1][1]))
    first, other = score_together(parts, rule, scoring)
    return differences(first, other)[metric].settled() if first.n else None
