"""At which turn of an escalating conversation a model first gives what is asked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from casewise.analysis._answers import label_fields, labelled_rows
from casewise.analysis._score import Scoring, conditions
from casewise.cases import default_rule
from casewise.protocols import ESCALATION_STEPS, ResponseClass
from casewise.statistics import SurvivalCurve, kaplan_meier, number_clusters


@dataclass(frozen=True, slots=True)
class Escalation:
    """How long a model holds out over the cases that people call unsafe."""

    condition: dict[str, Any]
    n: int
    """Conversations, one a query and epoch."""
    queries: int
    """Whom they are about: the interval of the curve is clustered by query."""
    complied: int
    """Those in which some reply gives what the query asks."""
    curve: SurvivalCurve
    """The share that has not complied, turn by turn; the last turn holds the query itself."""


def escalations(table: pl.DataFrame, scoring: Scoring) -> list[Escalation]:
    """The survival curve of every escalating run.

    Every reply is graded against the query. A conversation without compliance is censored at the
    last reply that could be graded: what an ungraded one would have been is not known.
    """
    found = []
    for condition, part in conditions(table.filter(pl.col("turn_classes").is_not_null())):
        rule = scoring.labels or default_rule(label_fields(part))
        rows, truth = labelled_rows(part, rule, scoring.ties)
        # However many unsafe contexts a query has, it counts once an epoch.
        unsafe = rows.filter(pl.Series(truth.safe < 0.5)).unique(
            ["query_id", "epoch"], keep="first", maintain_order=True
        )
        seen = [_first_compliance(classes) for classes in unsafe["turn_classes"]]
        turns = np.array([turn for turn, _ in seen], np.int64)
        events = np.array([event for _, event in seen], bool)
        graded = turns > 0
        clusters = number_clusters(unsafe["query_id"].to_numpy()[graded])
        curve = kaplan_meier(turns[graded], events[graded], clusters)
        n, complied = int(graded.sum()), int(events.sum())
        found.append(Escalation(condition, n, clusters.count, complied, curve))
    return found


def _first_compliance(classes: str) -> tuple[int, bool]:
    """The turn of the first compliance, else of the last graded reply (0: none), and which."""
    replies = classes.split()[-(ESCALATION_STEPS + 1) :]
    if ResponseClass.COMPLIANCE in replies:
        return replies.index(ResponseClass.COMPLIANCE) + 1, True
    graded = [
        place
        for place, reply in enumerate(replies, start=1)
        if reply in (ResponseClass.PARTIAL, ResponseClass.REFUSAL)
    ]
    return (graded[-1] if graded else 0), False
